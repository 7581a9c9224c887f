"""A signal ends a start where it stands, waits where it must, and counts once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from mapi.serve.stopping import Stopping, stop_at_eof

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = [signal.SIGTERM, signal.SIGINT]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_start_ends_where_the_signal_meets_it_and_the_handlers_come_back(number: int) -> None:
    before = [signal.getsignal(one) for one in NUMBERS]
    stopping, undone = Stopping(), []
    with stopping.heard():
        try:
            signal.raise_signal(number)
            undone.append("the start went on")
        finally:
            signal.raise_signal(number)  # while what was begun is undone
            undone.append("all of it")
    assert stopping.is_told
    assert undone == ["all of it"]
    assert [signal.getsignal(one) for one in NUMBERS] == before


def test_a_signal_waits_for_what_may_not_be_left_in_its_midst() -> None:
    stopping, done = Stopping(), []
    with stopping.heard():
        with stopping.held():
            signal.raise_signal(signal.SIGTERM)
            done.append("made")
        done.append("went on")
    assert done == ["made"]


def test_in_a_loop_a_signal_calls_what_ends_it_then_and_raises_nothing() -> None:
    stopping, called = Stopping(), []

    async def work() -> None:
        with stopping.ended_by(lambda: called.append("outer")):
            with stopping.ended_by(lambda: called.append("inner")):
                signal.raise_signal(signal.SIGTERM)
                signal.raise_signal(signal.SIGTERM)
                await asyncio.sleep(0)
            with stopping.ended_by(lambda: called.append("late")):
                await asyncio.sleep(0)

    with stopping.heard(), stopping.in_loop():
        asyncio.run(work())
    assert called == ["inner", "late"]


def test_a_signal_before_the_loop_runs_ends_it_as_soon_as_it_does() -> None:
    stopping, called = Stopping(), []

    async def work() -> None:
        with stopping.ended_by(lambda: called.append("end")):
            pass

    with stopping.heard(), stopping.in_loop():
        signal.raise_signal(signal.SIGINT)
        asyncio.run(work())
    assert called == ["end"]


def test_an_input_closed_before_the_start_has_ended_and_what_has_its_number_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_text("of somebody else")
    kept = os.dup(0)
    with other.open("rb", buffering=0) as file:
        os.dup2(file.fileno(), 0)
        try:
            monkeypatch.setattr(sys, "stdin", None)
            stopping = Stopping()
            with stopping.heard(), stopping.held():
                stop_at_eof()
            # The place in a file is shared by all its numbers.
            assert (stopping.is_told, file.tell()) == (True, 0)
        finally:
            os.dup2(kept, 0)
            os.close(kept)
