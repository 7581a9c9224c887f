"""A signal ends a start where it stands, waits where it must, and counts once."""

from __future__ import annotations

import asyncio
import signal

import pytest

from mapi.serve.stopping import Stopping

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
