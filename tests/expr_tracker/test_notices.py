"""Faults: counted, said once, and never the caller's."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from expr_tracker.notices import OTHERS, Notices, logger

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Let threads take turns every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_nothing_is_logged_before_emit(caplog: pytest.LogCaptureFixture) -> None:
    notices = Notices()
    notices.say("one")
    notices.say("two", level=logging.INFO)
    assert caplog.messages == []
    assert notices.has_queued
    with caplog.at_level(logging.INFO, logger="expr_tracker"):
        notices.emit()
    assert caplog.record_tuples == [
        ("expr_tracker", logging.WARNING, "one"),
        ("expr_tracker", logging.INFO, "two"),
    ]
    assert not notices.has_queued


def test_a_kind_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    notices = Notices()
    for number in range(3):
        notices.once("kind", f"text {number}")
        notices.once(("kind", number), f"other {number}")
    notices.emit()
    assert caplog.messages == ["text 0", "other 0", "other 1", "other 2"]


def test_the_kinds_that_are_remembered_are_limited(caplog: pytest.LogCaptureFixture) -> None:
    notices = Notices()
    for number in range(20_000):
        notices.once(number, "text")
        notices.emit()
    assert len(caplog.messages) == 10_000


def test_the_texts_that_wait_are_limited_and_the_newest_stay(
    caplog: pytest.LogCaptureFixture,
) -> None:
    notices = Notices()
    for number in range(3_000):
        notices.once(number, f"text {number}")
    notices.emit()
    assert caplog.messages == [f"text {number}" for number in range(2_000, 3_000)]


def test_counts_are_kept_by_fate_and_kind() -> None:
    notices = Notices()
    notices.count("dropped", "spans")
    notices.count("dropped", "spans", 4)
    notices.count("refused", "rows")
    assert notices.counts("dropped") == {"spans": 5}
    assert notices.counts("refused") == {"rows": 1}
    assert notices.counts("degraded") == {}


def test_the_kinds_that_are_counted_by_name_are_limited_and_no_count_is_lost() -> None:
    notices = Notices()
    for number in range(5_000):
        notices.count("dropped", f"values of {number}")
        notices.count("refused", "rows", subject="spans")
    counts = notices.counts("dropped")
    assert len(counts) == 1_000
    assert sum(counts.values()) == 5_000
    assert counts[OTHERS] == 5_000 - 999
    assert notices.counts("refused") == {"rows": 5_000}


def test_counts_add_up_by_what_was_counted() -> None:
    notices = Notices()
    notices.count("dropped", "values of makespan", 2)
    notices.count("refused", "rows", 4)
    notices.count("dropped", "late", 8, subject="spans")
    notices.count("dropped", "late", 16, subject="other")
    notices.count("degraded", "values", 32)
    assert notices.total("rows", "dropped", "refused") == 6
    assert notices.total("rows", "dropped") == 2
    assert notices.total("spans", "dropped", "refused") == 8
    assert notices.counts("dropped") == {"values of makespan": 2, "late": 24}


@pytest.mark.usefixtures("quick_switches")
def test_counts_of_many_threads_add_up() -> None:
    notices = Notices()

    def count() -> None:
        for _ in range(3_000):
            notices.count("dropped", "spans")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert notices.counts("dropped") == {"spans": 12_000}


class _Broken(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError("the disk of the log is full")


class _Talkative(logging.Handler):
    """Says something itself for everything it hears, once."""

    def __init__(self, notices: Notices) -> None:
        super().__init__()
        self.notices = notices
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())
        if len(self.heard) == 1:
            self.notices.say("from inside")
            self.notices.emit()


@pytest.fixture
def handlers() -> Iterator[list[logging.Handler]]:
    """Collect handlers that are taken away again."""
    added: list[logging.Handler] = []
    yield added
    for handler in added:
        logger.removeHandler(handler)


def test_a_broken_log_handler_is_counted_and_stops_nothing(
    handlers: list[logging.Handler],
) -> None:
    notices = Notices()
    handlers.append(_Broken())
    logger.addHandler(handlers[0])
    notices.say("one")
    notices.say("two")
    notices.emit()
    assert notices.counts("dropped") == {"log messages": 2}


def test_a_handler_that_says_something_itself_is_heard(handlers: list[logging.Handler]) -> None:
    notices = Notices()
    handler = _Talkative(notices)
    handlers.append(handler)
    logger.addHandler(handler)
    notices.say("outer")
    notices.emit()
    assert handler.heard == ["outer", "from inside"]


def test_a_text_with_percent_signs_is_no_format(caplog: pytest.LogCaptureFixture) -> None:
    notices = Notices()
    notices.say("100 %s done %d")
    notices.emit()
    assert caplog.messages == ["100 %s done %d"]
