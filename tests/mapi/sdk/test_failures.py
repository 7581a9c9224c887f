"""What nobody has foreseen ends no thread in the background, and is told once."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

from mapi.sdk.pacing import AsyncUpkeep, Upkeep
from mapi.sdk.pulse import Pulse
from mapi.wire.enums import RunStatus
from mapi.wire.runs import Heartbeat

if TYPE_CHECKING:
    import pytest

TIMES = 4


class Work:
    """Fails twice in one way and once in another, and then does what it should."""

    def __init__(self) -> None:
        self.times = 0
        self.done = threading.Event()

    def __call__(self, *args: object) -> None:
        del args
        self.times += 1
        if self.times < TIMES - 1:
            raise KeyError("one")
        if self.times < TIMES:
            raise ValueError("other")
        self.done.set()


def check_told(caplog: pytest.LogCaptureFixture, what: str) -> None:
    told = [one.getMessage() for one in caplog.records if one.name == "mapi.sdk"]
    assert told == [
        f"{what} failed, and goes on: KeyError: 'one'",
        f"{what} failed, and goes on: ValueError: other",
    ]
    assert all(one.exc_info is not None for one in caplog.records)


def test_a_thread_that_sends_points_survives_any_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    work = Work()
    upkeep = Upkeep(work, every_seconds=0.01)
    upkeep.start()
    assert work.done.wait(30)
    upkeep.stop()
    check_told(caplog, "what sends points")


def test_a_task_that_sends_points_survives_any_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    work = Work()
    done = asyncio.Event()

    async def act(*args: object) -> None:
        work(*args)
        done.set()

    async def main() -> None:
        upkeep = AsyncUpkeep(act, every_seconds=0.01)
        upkeep.start()
        await asyncio.wait_for(done.wait(), 30)
        await upkeep.stop()

    asyncio.run(main())
    check_told(caplog, "what sends points")


def test_a_thread_that_sends_signs_of_life_survives_any_error(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr("mapi.sdk.pulse.HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr("mapi.sdk.pulse.FIRST_BEAT_SECONDS", 0.01)
    work, closed = Work(), threading.Event()

    def beat() -> Heartbeat:
        work()
        return Heartbeat(status=RunStatus.RUNNING, due_seconds=15.0)

    pulse = Pulse("run_1", beat, close=closed.set)
    pulse.start()
    assert work.done.wait(30)
    pulse.stop()
    assert closed.wait(30)
    check_told(caplog, "what sends signs of life")
