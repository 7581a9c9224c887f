"""The keeper: rounds that go on whatever a task does, and end when they are told to."""

from __future__ import annotations

import threading

import pytest

from expr_tracker.notices import Notices
from expr_tracker.record import keeper as keeper_module
from expr_tracker.record.keeper import Keeper


@pytest.fixture(autouse=True)
def _quick_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "ROUND_SECONDS", 0.001)


def test_a_task_that_fails_is_counted_said_once_and_stops_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[str] = []

    def fail() -> None:
        calls.append("fail")
        raise RuntimeError("broken")

    notices = Notices()
    keeper = Keeper((fail, lambda: calls.append("next")), notices, name="keeper")
    keeper.round()
    keeper.round()
    assert calls == ["fail", "next", "fail", "next"]
    assert notices.counts("degraded") == {"background tasks that failed": 2}
    assert len(caplog.messages) == 1
    assert "broken" in caplog.messages[0]


def test_the_thread_goes_round_until_it_is_stopped() -> None:
    rounds = threading.Semaphore(0)
    keeper = Keeper((rounds.release,), Notices(), name="keeper-of-the-test")
    assert keeper.start()
    for _ in range(3):
        assert rounds.acquire(timeout=30)
    thread = next(t for t in threading.enumerate() if t.name == keeper.name)
    assert thread.daemon
    assert keeper.stop(30.0)
    assert not thread.is_alive()
    assert keeper.stop(30.0)


def test_a_keeper_that_never_started_is_stopped_at_once() -> None:
    assert Keeper((), Notices(), name="keeper").stop(0.0)


def test_a_keeper_whose_thread_cannot_start_says_so_and_is_stopped_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    notices = Notices()
    keeper = Keeper((), notices, name="keeper")
    assert not keeper.start()
    assert notices.counts("degraded") == {"runs without a thread of their own": 1}
    assert keeper.stop(0.0)


def test_a_stuck_task_is_not_waited_for_longer_than_was_said() -> None:
    is_in, may_go = threading.Event(), threading.Event()

    def hang() -> None:
        is_in.set()
        may_go.wait(30)

    keeper = Keeper((hang,), Notices(), name="keeper")
    keeper.start()
    assert is_in.wait(30)
    assert not keeper.stop(0.01)
    may_go.set()
    assert keeper.stop(30.0)


def test_a_task_may_stop_its_own_keeper() -> None:
    stopped = threading.Event()
    keeper: Keeper

    def stop() -> None:
        keeper.stop(30.0)
        stopped.set()

    keeper = Keeper((stop,), Notices(), name="keeper")
    keeper.start()
    assert stopped.wait(30)
    assert keeper.stop(30.0)
