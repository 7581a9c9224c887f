"""Who hears of a row, and calls from sinks, finalisers and threads."""

from __future__ import annotations

import gc
import logging
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.notices import logger
from expr_tracker.record import deferral as deferral_module
from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.record.conftest import Desk, FileDesk


# -- who hears of a row -------------------------------------------------------------------------------


def test_sinks_hear_every_row_in_commit_order_one_sink_after_the_other(
    new_desk: type[Desk],
) -> None:
    desk = new_desk()
    heard: list[tuple[str, int]] = []
    desk.recorder.add_sink(lambda row: heard.append(("first", row["_step"])))
    desk.recorder.add_sink(lambda row: heard.append(("second", row["_step"])))
    desk.log({"a": 1})
    desk.log({"a": 1}, step=5)
    assert heard == [("first", 0), ("second", 0)]
    desk.log({"a": 1}, step=6, commit=True)
    assert heard[2:] == [("first", 5), ("second", 5), ("first", 6), ("second", 6)]


def test_a_sink_that_fails_is_counted_said_once_and_stops_nothing(
    new_desk: type[Desk],
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = new_desk()
    heard: list[int] = []

    def fail(row: dict[str, Any]) -> None:
        raise RuntimeError("printer on fire")

    desk.recorder.add_sink(fail)
    desk.recorder.add_sink(lambda row: heard.append(row["_step"]))
    for _ in range(3):
        desk.log({"a": 1})
    assert heard == [0, 1, 2]
    assert desk.notices.counts("degraded") == {"rows that a sink failed on": 3}
    assert sum("printer on fire" in text for text in caplog.messages) == 1


def test_a_sink_sees_the_context_of_the_committing_call(new_desk: type[Desk]) -> None:
    desk = new_desk()
    request: ContextVar[str] = ContextVar("request", default="none")
    seen: list[str] = []
    desk.recorder.add_sink(lambda row: seen.append(request.get()))
    token = request.set("mine")
    desk.log({"a": 1})
    request.reset(token)
    desk.log({"a": 1})
    assert seen == ["mine", "none"]


def test_a_sink_may_log_and_its_rows_come_behind(new_desk: type[Desk]) -> None:
    desk = new_desk()
    heard: list[int] = []

    def echo(row: dict[str, Any]) -> None:
        heard.append(row["_step"])
        if row["_step"] < 3:
            desk.log({"echo": row["_step"]})
            desk.log({"explicit": 1}, step=desk.recorder.step, commit=True)

    desk.recorder.add_sink(echo)
    desk.log({"a": 1})
    assert desk.steps == list(range(7))
    assert heard == list(range(7))


def test_the_committing_call_returns_behind_its_own_rows_delivery_also_among_threads(
    new_desk: type[Desk],
) -> None:
    desk = new_desk()
    heard: set[float] = set()
    desk.recorder.add_sink(lambda row: heard.add(row["a"]))
    missing: list[float] = []

    def work(first: int) -> None:
        for number in range(first, first + 200):
            desk.log({"a": number})
            if number not in heard:
                missing.append(number)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert missing == []
    assert len(heard) == 600


def test_sinks_run_outside_of_the_lock(new_desk: type[Desk]) -> None:
    desk = new_desk()
    is_logged = threading.Event()

    def span() -> None:
        desk.recorder.add_span("p", 1.0, None)
        is_logged.set()

    def sink(row: dict[str, Any]) -> None:
        if row.get("outer"):
            # The row is taken while this sink still runs; only its delivery has to wait.
            thread = threading.Thread(target=span)
            thread.start()
            assert is_logged.wait(30)
            thread.join()

    desk.recorder.add_sink(sink)
    desk.log({"outer": 1})
    assert is_logged.is_set()
    assert desk.notices.counts("degraded") == {}


def test_an_action_waits_until_its_own_thread_has_left_the_critical_section(
    new_desk: type[Desk],
) -> None:
    desk = new_desk()
    seen: list[tuple[str, bool, int]] = []

    def interrupt(row: dict[str, Any]) -> None:
        desk.recorder.when_free(
            lambda is_free: seen.append(("inside", is_free, len(desk.rows))), 1.0
        )
        assert seen == []

    desk.memory.before = interrupt
    desk.log({"a": 1})
    desk.memory.before = lambda row: None
    desk.recorder.when_free(lambda is_free: seen.append(("outside", is_free, len(desk.rows))), 1.0)
    assert seen == [("inside", True, 1), ("outside", True, 1)]


def test_an_action_does_not_wait_for_another_thread_for_ever(new_desk: type[Desk]) -> None:
    desk = new_desk()
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with desk.recorder._lock:
            is_held.set()
            may_go.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(30)
    seen: list[bool] = []
    desk.recorder.when_free(seen.append, 0.01)
    may_go.set()
    thread.join()
    assert seen == [False]


def test_a_finish_from_a_sink_can_be_told(new_desk: type[Desk]) -> None:
    desk = new_desk()
    seen: list[bool] = []
    desk.recorder.add_sink(lambda row: seen.append(desk.recorder.is_delivering_here))
    desk.log({"a": 1})
    assert seen == [True]
    assert not desk.recorder.is_delivering_here


# -- logging from inside ------------------------------------------------------------------------------


class Chatty:
    """Logs when it is collected."""

    def __init__(self, desk: Desk | FileDesk, number: int) -> None:
        self.desk, self.number, self.me = desk, number, self

    def __del__(self) -> None:
        self.desk.log({"from_del": self.number})


def test_a_finaliser_that_logs_while_a_row_is_written_is_carried_out_behind_it(
    new_desk: type[Desk],
) -> None:
    desk = new_desk()
    gc.disable()
    try:
        for number in range(20):
            Chatty(desk, number)
        desk.memory.collect_garbage_once()
        desk.log({"a": 1})
        desk.log({"a": 2}, step=desk.recorder.step, commit=True)
    finally:
        gc.enable()
    found = [values["from_del"] for _, values in desk.rows if "from_del" in values]
    assert sorted(found) == list(range(20))
    assert desk.rows[0] == (0, {"a": 1})
    assert desk.steps == list(range(22))


def test_more_finalisers_than_can_wait_are_counted(new_desk: type[Desk]) -> None:
    desk = new_desk()
    limit = deferral_module._DEFERRED_MAX
    gc.disable()
    try:
        for number in range(limit + 7):
            Chatty(desk, number)
        desk.memory.collect_garbage_once()
        desk.log({"a": 1})
    finally:
        gc.enable()
    assert len(desk.rows) == limit + 1
    assert desk.notices.counts("dropped") == {"log calls from within a log call": 7}


def test_a_finaliser_whose_step_is_refused_does_not_fail_the_call_it_interrupted(
    new_desk: type[Desk],
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = new_desk(step_policy="strict")
    desk.log({"a": 1}, step=10, commit=True)

    class Late:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            desk.log({"late": 1}, step=3)

    gc.disable()
    try:
        Late()
        desk.memory.collect_garbage_once()
        desk.log({"a": 2})
    finally:
        gc.enable()
    assert desk.steps == [10, 11]
    assert desk.notices.counts("refused") == {"log calls from within a log call": 1}
    assert "step=3 is below" in caplog.text


def test_a_repr_that_logs_is_recorded_too(new_desk: type[Desk]) -> None:
    desk = new_desk()

    class Confused:
        def __repr__(self) -> str:
            desk.log({"inner": 1})
            return "confused"

        __slots__ = ()

    desk.log({"outer": Confused()})
    assert desk.rows == [(0, {"inner": 1}), (1, {"outer": "confused"})]


def test_a_log_handler_that_logs_a_metric_is_recorded(new_desk: type[Desk]) -> None:
    desk = new_desk()

    class Metric(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            desk.log({"warnings": 1.0})

    handler = Metric()
    logger.addHandler(handler)
    try:
        desk.log({"_step": 1, "a": 1.0})
    finally:
        logger.removeHandler(handler)
    assert desk.rows == [(0, {"a": 1.0}), (1, {"warnings": 1.0})]


def test_a_span_that_ends_in_a_finaliser_is_added_behind_the_row_that_is_written(
    new_desk: type[Desk],
) -> None:
    desk = new_desk()

    class Timed:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            desk.recorder.add_span("late", 2.5, None)

    gc.disable()
    try:
        Timed()
        desk.memory.collect_garbage_once()
        desk.log({"a": 1})
    finally:
        gc.enable()
    desk.log({"b": 1})
    assert desk.rows[-1][1] == {"time_ms/late": 2.5, "b": 1}


# -- threads, with real files -------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["process", "buffered"])
def test_n_threads_of_m_calls_give_n_times_m_rows(
    new_file_desk: type[FileDesk], tmp_path: Path, durability: str
) -> None:
    desk = new_file_desk(tmp_path, durability=durability)

    def work(thread: int) -> None:
        for number in range(500):
            desk.log(
                {"thread": thread, "number": number} if number % 3 else {"thread": str(thread)}
            )

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    desk.writer.close({})
    rows = list(whole_rows(desk.path))
    assert [row["_step"] for row in rows] == list(range(2_000))
    for number_of_thread in range(4):
        own = [row["number"] for row in rows if row["thread"] == number_of_thread]
        assert own == [number for number in range(500) if number % 3]


def test_threads_of_their_own_steps_lose_no_value(
    new_file_desk: type[FileDesk], tmp_path: Path
) -> None:
    desk = new_file_desk(tmp_path)

    def work(thread: int) -> None:
        for step in range(300):
            desk.log({f"m{thread}": step}, step=step)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    desk.recorder.commit_open()
    merged: dict[int, dict[str, Any]] = {}
    for row in whole_rows(desk.path):
        merged.setdefault(row["_step"], {}).update(row)
    assert len(merged) == 300
    for step, values in merged.items():
        assert [values[f"m{thread}"] for thread in range(4)] == [step] * 4


def test_a_writer_failure_raises_nowhere_and_blocks_nothing(
    new_file_desk: type[FileDesk], tmp_path: Path
) -> None:
    desk = new_file_desk(tmp_path)
    desk.log({"a": 1})
    tmp_path.joinpath("metrics.jsonl").unlink()
    desk.writer.abandon_in_child()  # a descriptor that is gone: every write fails
    desk.log({"a": 2})
    desk.log({"a": [3]})
    assert desk.recorder.step == 3
