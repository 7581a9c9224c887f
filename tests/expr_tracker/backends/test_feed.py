"""One backend's thread, with backends that do whatever they like."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import until

from expr_tracker.backends.backend import BackendDownError, BackendRefusedError
from expr_tracker.backends.feed import Feed
from expr_tracker.notices import Notices
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable

#: An end that waited for so long would not come before the end of the test.
LONG = 600.0


class Mirror:
    """A backend that does as it is told, and notes what it was asked.

    Args:
        does: called by each call with the call's name; what it raises is raised.
    """

    name = "mirror"
    where = "http://there"
    later = "et push here"

    def __init__(self, does: Callable[[str], object] = lambda _: None) -> None:
        self._does = does
        self.asked: list[str] = []
        self.waits = 7
        self.remarked: list[str] = []

    def _ask(self, call: str) -> None:
        self.asked.append(call)
        self._does(call)

    def open(self) -> str | None:
        self._ask("open")
        return "http://there/runs/1"

    def deliver(self, told: Callable[[], object]) -> None:
        self._ask("deliver")
        self.waits = 0
        told()

    def beat(self) -> float:
        self._ask("beat")
        return 0.1

    def end(self) -> None:
        self._ask("end")

    def close(self) -> None:
        self._ask("close")

    def rows_waiting(self) -> int:
        return self.waits

    def losses(self) -> dict[str, int]:
        return {"default: value rounded": 2, "data: point left out": 1}

    def remarks(self) -> list[str]:
        return self.remarked


class Fed:
    """A feed that has begun, and what it is given.

    Args:
        mirror: the backend.
        monotonic: the clock of its patience.
    """

    def __init__(self, mirror: Mirror, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._notices = Notices()
        self._feed = Feed(mirror, rows=lambda: 10, notices=self._notices, monotonic=monotonic)
        self._feed.start()

    def figures(self) -> dict[str, Any]:
        return self._feed.figures()

    def finish(self, *, seconds: float = LONG, patience_seconds: float = LONG) -> None:
        """Finish, and say what was said."""
        self._feed.finish(seconds, patience_seconds=patience_seconds)
        self._notices.emit()


def threads() -> list[threading.Thread]:
    """Return those of feeds that have not ended."""
    return [one for one in threading.enumerate() if one.name == "expr-tracker-mirror"]


def test_a_run_of_a_moment_is_opened_delivered_ended_and_closed_in_this_order(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mirror = Mirror()
    feed = Fed(mirror)
    feed.finish()
    calls = [call for call in mirror.asked if call != "beat"]
    assert calls[0] == "open"
    assert calls[-3:] == ["deliver", "end", "close"]
    assert calls.count("end") == 1
    assert feed.figures() == {
        "delivered": 10,
        "waiting": 0,
        "dropped": 3,
        "last_error": None,
        "url": "http://there/runs/1",
    }
    assert caplog.messages == []
    assert threads() == []


def test_signs_of_life_are_given_as_often_as_they_are_due() -> None:
    mirror = Mirror()
    feed = Fed(mirror)
    until(lambda: mirror.asked.count("beat") > 5)
    feed.finish()


@pytest.mark.parametrize(
    "error",
    [
        BackendDownError("it is gone"),
        ValueError("it is gone"),
        KeyboardInterrupt("it is gone"),
        SystemExit("it is gone"),
        MemoryError("it is gone"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_backend_raises_is_one_warning_and_tried_again(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def does(call: str) -> None:
        if call == "open":
            raise error

    mirror = Mirror(does)
    feed = Fed(mirror)
    until(lambda: mirror.asked.count("open") > 3)
    (warning,) = caplog.messages
    assert "it is gone" in warning
    assert "et push here" in warning
    feed.finish(patience_seconds=0.2)
    assert "7 rows and the end of the run wait" in caplog.messages[1]
    assert len(caplog.messages) == 2
    assert feed.figures()["last_error"] is not None


def test_an_outage_is_asked_for_by_the_cheapest_call_before_anything_is_packed() -> None:
    down = threading.Event()

    def does(call: str) -> None:
        if down.is_set() and call != "close":
            raise BackendDownError("it is gone")

    mirror = Mirror(does)
    feed = Fed(mirror)
    until(lambda: "deliver" in mirror.asked)
    down.set()
    until(lambda: feed.figures()["last_error"])
    begun = len(mirror.asked)
    until(lambda: len(mirror.asked) > begun + 3)
    assert set(mirror.asked[begun:]) == {"beat"}
    down.clear()
    feed.finish()
    assert mirror.asked[-2:] == ["end", "close"]


def test_a_refusal_is_said_at_once_and_an_end_does_not_wait_for_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def does(call: str) -> None:
        if call == "open":
            raise BackendRefusedError("The token is none. Get one.")

    mirror = Mirror(does)
    feed = Fed(mirror)
    until(lambda: caplog.messages)
    assert "The token is none. Get one. The run goes on" in caplog.messages[0]
    feed.finish()
    assert mirror.asked.count("open") == 2
    assert len(caplog.messages) == 2


def test_a_run_is_opened_anew_behind_a_refusal() -> None:
    answers = iter([None, BackendRefusedError("There is no such run.")])

    def does(call: str) -> None:
        error = next(answers, None) if call == "deliver" else None
        if error is not None:
            raise error

    mirror = Mirror(does)
    feed = Fed(mirror)
    until(lambda: "deliver" in mirror.asked)
    until(lambda: feed.figures()["last_error"])
    feed.finish()
    assert mirror.asked.count("open") == 2
    assert mirror.asked[-2:] == ["end", "close"]


def test_an_end_does_not_wait_for_a_call_that_hangs_which_then_sends_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    goes_on = threading.Event()

    def does(call: str) -> None:
        if call == "deliver":
            goes_on.wait(LONG)

    mirror = Mirror(does)
    feed = Fed(mirror)
    until(lambda: "deliver" in mirror.asked)
    feed.finish(seconds=0.3)
    (left,) = threads()
    assert left.daemon
    assert "7 rows and the end of the run wait" in caplog.messages[0]
    goes_on.set()
    until(lambda: threads() == [])
    assert "end" not in mirror.asked
    assert mirror.asked[-1] == "close"


def test_an_end_is_patient_as_long_as_something_gets_through() -> None:
    clock = ManualClock()

    class Slow(Mirror):
        def deliver(self, told: Callable[[], object]) -> None:
            for _ in range(8):
                clock.advance(3.0)
                told()
            super().deliver(told)

    mirror = Slow()
    Fed(mirror, monotonic=clock.monotonic).finish(patience_seconds=4.0)
    assert mirror.asked[-2:] == ["end", "close"]


def test_an_end_waits_no_longer_than_its_patience_for_what_does_not_get_through(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, goes_on = ManualClock(), threading.Event()

    def does(call: str) -> None:
        if call == "end":
            clock.advance(5.0)
            goes_on.wait(LONG)

    Fed(Mirror(does), monotonic=clock.monotonic).finish(patience_seconds=4.0)
    assert "the end of the run waits" in caplog.messages[0]
    goes_on.set()
    until(lambda: threads() == [])


def test_an_end_is_short_where_nothing_was_taken_for_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()

    def does(call: str) -> None:
        if call == "open":
            clock.advance(1.0)
            raise BackendDownError("it is gone")

    mirror = Mirror(does)
    feed = Fed(mirror, monotonic=clock.monotonic)
    until(lambda: caplog.messages)
    feed.finish()
    assert len(caplog.messages) == 2
    assert "the end of the run wait" in caplog.messages[1]


def test_a_second_end_says_nothing_again(caplog: pytest.LogCaptureFixture) -> None:
    def does(call: str) -> None:
        if call == "open":
            raise BackendDownError("it is gone")

    feed = Fed(Mirror(does))
    feed.finish(patience_seconds=0.1)
    said = len(caplog.messages)
    feed.finish(patience_seconds=0.1)
    assert len(caplog.messages) == said


def test_what_an_error_says_is_told_without_secrets_on_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def does(call: str) -> None:
        if call == "open":
            raise ValueError("http://me:hunter22@there/\nAuthorization: Bearer mapi_ab_cdefghijk")

    feed = Fed(Mirror(does))
    until(lambda: caplog.messages)
    feed.finish(patience_seconds=0.1)
    told = caplog.text + str(feed.figures())
    assert "hunter22" not in told
    assert all("\n" not in text for text in caplog.messages)


def test_remarks_are_told_at_the_end_and_not_without_bound(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mirror = Mirror()
    mirror.remarked = [f"remark {number}" for number in range(30)]
    Fed(mirror).finish()
    assert "remark 0" in caplog.messages[0]
    assert len(caplog.messages) == 11
    assert "20 more remarks" in caplog.messages[-1]


def test_a_process_without_threads_is_told_how_the_rows_get_there(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    mirror = Mirror()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        feed = Fed(mirror)
    caplog.set_level(logging.INFO)
    feed.finish()
    assert mirror.asked == []
    assert "can't start new thread" in caplog.messages[0]
    assert "7 rows and the end of the run wait" in caplog.messages[1]


def test_an_address_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    Fed(Mirror()).finish()
    assert caplog.messages == ["mirror: the run is at http://there/runs/1."]


def test_rows_that_cannot_be_counted_are_not_told_as_delivered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Blind(Mirror):
        def rows_waiting(self) -> int:
            raise FileNotFoundError(2, "No such file or directory", "metrics.jsonl")

    def refuse(call: str) -> None:
        if call == "deliver":
            raise BackendRefusedError("no")

    feed = Fed(Blind(refuse))
    until(lambda: feed.figures()["last_error"] == "no")
    assert feed.figures()["delivered"] is None
    assert feed.figures()["waiting"] is None
    feed.finish()
    assert "the end of the run waits" in caplog.text

    worked = Fed(Blind())
    worked.finish()
    figures = worked.figures()
    assert figures["delivered"] is None
    assert "metrics.jsonl" in str(figures["last_error"])
