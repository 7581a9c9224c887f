"""When a row opens, what joins it and when it is committed."""

from __future__ import annotations

import math
import threading
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from expr_tracker.errors import ForkedObjectError, StepError, StepOrderError
from expr_tracker.row import STEP_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.expr_tracker.record.conftest import Desk


# -- rows and steps, under every policy ---------------------------------------------------------------


def test_a_log_without_a_step_commits_a_row_at_the_next_step(desk: Desk) -> None:
    for number in range(4):
        assert desk.recorder.step == number
        assert desk.log({"a": number}) is None
        assert len(desk.rows) == number + 1
    assert desk.rows == [(number, {"a": number}) for number in range(4)]


def test_a_log_with_a_step_opens_a_row_that_is_committed_by_the_next_step(desk: Desk) -> None:
    desk.log({"a": 1}, step=5)
    assert desk.rows == []
    assert desk.recorder.step == 5
    desk.log({"b": 2}, step=5)
    assert desk.rows == []
    desk.log({"a": 3}, step=9)
    assert desk.rows == [(5, {"a": 1, "b": 2})]
    desk.recorder.commit_open()
    assert desk.rows[-1] == (9, {"a": 3})
    assert desk.recorder.step == 10


@pytest.mark.parametrize(
    ("step", "commit", "commits"),
    [
        (None, None, True),
        (None, True, True),
        (None, False, False),
        (3, None, False),
        (3, True, True),
        (3, False, False),
    ],
)
def test_an_explicit_commit_wins_over_the_default(
    desk: Desk, step: int | None, commit: bool | None, commits: bool
) -> None:
    desk.log({"a": 1}, step, commit)
    assert bool(desk.rows) is commits
    assert (desk.recorder.open_row() is None) is commits


def test_an_open_step_is_joined_by_later_calls_without_one(desk: Desk) -> None:
    desk.log({"a": 1}, step=100)
    desk.log({"b": 2})
    assert desk.rows == [(100, {"a": 1, "b": 2})]
    assert desk.recorder.step == 101


def test_an_open_row_of_its_own_step_is_committed_before_a_higher_one_opens(desk: Desk) -> None:
    desk.log({"a": 1}, commit=False)
    desk.log({"b": 2}, step=3)
    assert desk.rows == [(0, {"a": 1})]
    assert desk.recorder.step == 3


def test_the_last_committed_step_takes_a_patch_line(desk: Desk) -> None:
    desk.log({"a": 1}, step=5, commit=True)
    desk.log({"b": 2}, step=5, commit=True)
    assert desk.rows == [(5, {"a": 1}), (5, {"b": 2})]
    assert desk.recorder.step == 6


@pytest.mark.parametrize("first", [-7, 0, 61_010, -(2**63)])
def test_the_first_row_may_be_at_any_step(desk: Desk, first: int) -> None:
    desk.log({"a": 1}, step=first)
    desk.log({"b": 2})
    desk.log({"c": 3})
    assert desk.steps == [first, first + 1]


def test_empty_data_commits_or_opens_an_empty_row(desk: Desk) -> None:
    desk.log({})
    desk.log(None)
    desk.log({}, step=9)
    assert desk.rows == [(0, {}), (1, {})]
    assert desk.recorder.step == 9
    desk.recorder.commit_open()
    assert desk.rows[-1] == (9, {})


def test_commit_without_an_open_row_does_nothing(desk: Desk) -> None:
    desk.recorder.commit_open()
    assert desk.rows == []


def test_a_value_is_the_last_one_logged_in_its_row_with_one_warning_a_key(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    for step in range(3):
        desk.log({"a": 1, "b": 1}, step=step)
        desk.log({"a": 2}, step=step)
        desk.log({"a": 3, "b": 4}, step=step, commit=True)
    assert desk.rows == [(step, {"a": 3, "b": 4}) for step in range(3)]
    assert sum("'a' was logged more than once" in text for text in caplog.messages) == 1
    assert sum("'b' was logged more than once" in text for text in caplog.messages) == 1


def test_the_time_of_a_row_is_when_it_was_opened(desk: Desk) -> None:
    desk.log({"a": 1}, step=1)
    desk.clock.advance(5)
    desk.log({"b": 1}, step=1)
    desk.clock.advance(5)
    desk.log({"c": 1})
    desk.clock.advance(5)
    desk.log({"d": 1})
    assert [row["_time"] for row in desk.memory.rows] == [100.0, 115.0]


def test_time_alone_commits_nothing(desk: Desk) -> None:
    desk.log({"a": 1}, step=1)
    desk.clock.advance(1e9)
    assert desk.rows == []


def test_a_bad_step_raises_before_the_data_is_touched(desk: Desk) -> None:
    desk.log({"a": 1}, step=1)

    was_read: list[int] = []

    def values() -> Iterator[int]:
        was_read.append(1)
        yield 0

    for step in ("2", 2.5, math.nan, Decimal(2), 2**63, [2]):
        with pytest.raises(StepError):
            desk.log({"b": values()}, step=step)
    assert was_read == []
    desk.log({"c": 2}, step=np.int64(1))
    desk.recorder.commit_open()
    assert desk.rows == [(1, {"a": 1, "c": 2})]
    assert type(desk.memory.rows[0]["_step"]) is int


def test_the_highest_step_has_no_next_one_and_that_is_said(desk: Desk) -> None:
    desk.log({"a": 1}, step=STEP_MAX, commit=True)
    for data in ({"a": 2}, {"a": np.float32(2)}):
        with pytest.raises(StepError, match="The next step"):
            desk.log(data)
    assert desk.recorder.add_span("p", 1.0, None) == STEP_MAX, "a span never raises"
    desk.log({"b": 1}, step=STEP_MAX, commit=True)
    assert desk.steps == [STEP_MAX, STEP_MAX]


# -- steps below the newest one, by policy ------------------------------------------------------------


def test_allow_stores_a_lower_step_and_goes_on_behind_the_highest(new_desk: type[Desk]) -> None:
    desk = new_desk(step_policy="allow")
    for step in (5, 2, 9, 2):
        desk.log({"a": step}, step=step)
    desk.log({"b": 1})
    assert desk.steps == [5, 2, 9, 2, 10]


def test_a_call_without_a_step_does_not_join_an_open_row_below_the_highest(
    new_desk: type[Desk],
) -> None:
    desk = new_desk(step_policy="allow")
    desk.log({"a": 1}, step=10, commit=True)
    desk.log({"late": 1}, step=3)
    desk.log({"a": 2})
    assert desk.rows == [(10, {"a": 1}), (3, {"late": 1}), (11, {"a": 2})]
    desk.log({"late": 2}, step=10)
    desk.log({"a": 3})
    assert desk.rows[3:] == [(10, {"late": 2}), (12, {"a": 3})]
    desk.log({"early": 1}, step=13)
    desk.log({"a": 4})
    assert desk.rows[5:] == [(13, {"early": 1, "a": 4})]


def test_implicit_and_explicit_steps_in_one_loop_keep_every_value(new_desk: type[Desk]) -> None:
    desk = new_desk(step_policy="allow")
    for i in range(5):
        desk.log({"train/loss": float(i)})
        desk.log({"eval/acc": i / 10}, step=i)
    desk.recorder.commit_open()
    merged: dict[str, dict[int, float]] = {"train/loss": {}, "eval/acc": {}}
    for step, values in desk.rows:
        for name, value in values.items():
            merged[name][step] = value
    assert merged["eval/acc"] == {0: 0.0, 1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4}
    assert merged["train/loss"] == {i: float(i) for i in range(5)}


def test_monotonic_drops_the_whole_call_counts_it_by_metric_and_warns_once(
    new_desk: type[Desk],
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = new_desk(step_policy="monotonic")
    heard: list[dict[str, Any]] = []
    desk.recorder.add_sink(heard.append)
    for i in range(5):
        desk.log({"train/loss": float(i)})
        desk.log({"eval/acc": i / 10}, step=i)
    desk.recorder.commit_open()
    assert desk.notices.counts("dropped") == {}, "the last committed step takes patches"
    for i in range(3):
        desk.log({"eval/acc": 0.5, "eval/f1": 0.6}, step=i)
    assert desk.notices.counts("dropped") == {
        "values of eval/acc below the newest step": 3,
        "values of eval/f1 below the newest step": 3,
    }
    assert sum("'eval/acc' at step 0 was dropped" in text for text in caplog.messages) == 1
    assert len([text for text in caplog.messages if "dropped" in text]) == 2
    assert all("eval/f1" not in row for row in heard)
    assert all("eval/f1" not in values for _, values in desk.rows)


def test_monotonic_judges_by_the_open_step_first(new_desk: type[Desk]) -> None:
    desk = new_desk(step_policy="monotonic")
    desk.log({"a": 1}, step=10)
    desk.log({"a": 2}, step=9)
    desk.log({"a": 3}, step=10)
    desk.recorder.commit_open()
    assert desk.rows == [(10, {"a": 3})]
    assert sum(desk.notices.counts("dropped").values()) == 1


def test_an_empty_call_below_the_newest_step_is_counted_too(new_desk: type[Desk]) -> None:
    desk = new_desk(step_policy="monotonic")
    desk.log({"a": 1}, step=10, commit=True)
    desk.log({}, step=3)
    assert desk.notices.counts("dropped") == {"values of (empty rows) below the newest step": 1}


def test_strict_raises_at_the_first_lower_step_and_keeps_the_open_row(
    new_desk: type[Desk],
) -> None:
    desk = new_desk(step_policy="strict")
    desk.log({"a": 1}, step=10)
    with pytest.raises(StepOrderError, match=r"step=9 .* 10 .*strict"):
        desk.log({"b": 2}, step=9)
    desk.log({"c": 3})
    assert desk.rows == [(10, {"a": 1, "c": 3})]
    with pytest.raises(StepOrderError):
        desk.log({"b": 2}, step=9)
    desk.log({"b": 2}, step=10, commit=True)
    desk.log({"d": 4})
    assert desk.steps == [10, 10, 11]
    assert desk.notices.counts("dropped") == {}


# -- spans --------------------------------------------------------------------------------------------


def test_a_span_joins_the_open_row_or_opens_the_next_one_and_never_commits(
    new_desk: type[Desk],
) -> None:
    desk = new_desk()
    assert desk.recorder.add_span("a", 1.5, None) == 0
    assert desk.rows == []
    assert desk.recorder.step == 0
    desk.log({"x": 1})
    assert desk.recorder.add_span("a", 1.0, None) == 1
    desk.log({"y": 1}, step=7)
    assert desk.recorder.add_span("b", 2.0, {"cpu_time_ms": 1.0}) == 7
    assert desk.recorder.add_span("b", 3.0, {"cpu_time_ms": 4.0}) == 7
    desk.recorder.commit_open()
    assert desk.rows == [
        (0, {"time_ms/a": 1.5, "x": 1}),
        (7, {"time_ms/a": 1.0, "y": 1, "time_ms/b": 5.0, "cpu_time_ms/b": 5.0}),
    ]


def test_spans_that_ended_before_a_log_belong_to_its_step_whichever_it_is(
    new_desk: type[Desk],
) -> None:
    desk = new_desk()
    for step in (10, 20, 5):
        desk.recorder.add_span("a", 1.0, None)
        desk.log({"loss": step}, step=step, commit=True)
    assert desk.rows == [(step, {"time_ms/a": 1.0, "loss": step}) for step in (10, 20, 5)]


def test_spans_before_a_dropped_call_wait_for_the_next_one(new_desk: type[Desk]) -> None:
    desk = new_desk(step_policy="monotonic")
    desk.log({"loss": 1}, step=10, commit=True)
    desk.recorder.add_span("a", 1.0, None)
    desk.log({"loss": 2}, step=5, commit=True)
    desk.log({"loss": 3}, step=12, commit=True)
    assert desk.rows[1:] == [(12, {"time_ms/a": 1.0, "loss": 3})]


def test_spans_are_counted_on_request_and_kept_out_on_request(new_desk: type[Desk]) -> None:
    counted = new_desk(span_count=True)
    counted.recorder.add_span("a", 1.0, None)
    counted.recorder.add_span("a", 1.0, None)
    counted.log({})
    assert counted.rows == [(0, {"time_ms/a": 2.0, "count/a": 2})]
    silent = new_desk(span_metrics=False)
    assert silent.recorder.add_span("a", 1.0, {"m": 1}) == 0
    silent.log({"x": 1}, step=4)
    assert silent.recorder.add_span("a", 1.0, None) == 4
    silent.recorder.commit_open()
    assert silent.rows == [(4, {"x": 1})]


def test_a_row_has_a_limit_of_span_paths_and_keeps_its_other_values(new_desk: type[Desk]) -> None:
    desk = new_desk()
    for number in range(1_100):
        desk.recorder.add_span(f"p{number}", 1.0, None)
    desk.log({"x": 1})
    values = desk.rows[0][1]
    assert len(values) == 1_002
    assert values["time_ms/(other)"] == 100.0
    assert desk.notices.counts("degraded") == {"spans counted as (other)": 100}


def test_a_span_beyond_the_paths_of_a_row_is_warned_about_once(
    new_desk: type[Desk], caplog: pytest.LogCaptureFixture
) -> None:
    desk = new_desk()
    for number in range(1_000):
        desk.recorder.add_span(f"p{number}", 1.0, None)
    desk.log({})
    assert caplog.messages == []
    for number in range(2_003):
        desk.recorder.add_span("x" * 1_000 + str(number), 1.0, None)
    desk.log({})
    (said,) = caplog.messages
    assert said.startswith(f"The span '{'x' * 80}...' is beyond the 1000 span paths of one row")
    assert "time_ms/(other)" in said
    assert len(said) < 500


# -- attempts, resuming, the end ----------------------------------------------------------------------


def test_it_continues_behind_what_was_there(new_desk: type[Desk]) -> None:
    desk = new_desk(step_policy="monotonic")
    desk.recorder.continue_from(highest=41, newest=41, rows=10)
    desk.log({"a": 1}, step=40, commit=True)
    desk.log({"a": 2})
    assert desk.steps == [42]
    assert desk.recorder.rows == 11


def test_a_new_attempt_commits_the_open_row_marks_and_goes_on_at_its_step(desk: Desk) -> None:
    marked: list[int] = []
    for _ in range(5):
        desk.log({"a": 1})
    desk.log({"open": 1}, step=5)
    desk.recorder.begin_attempt(2, lambda: marked.append(len(desk.rows)))
    assert marked == [6]
    desk.log({"a": 2})
    desk.log({"a": 2}, step=3, commit=True)
    assert desk.steps == [0, 1, 2, 3, 4, 5, 2, 3]
    assert desk.recorder.highest == 3


def test_nothing_is_taken_after_the_end_and_that_is_counted(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.log({"a": 1}, step=3)
    desk.recorder.end("finished")
    desk.log({"a": 1})
    desk.log({"a": 1}, step=5)
    desk.recorder.add_span("p", 1.0, None)
    assert desk.rows == []
    assert desk.notices.counts("dropped")["log calls after finish"] == 2
    assert len([text for text in caplog.messages if "after the run had finished" in text]) == 1


def test_the_parents_recorder_refuses_in_a_forked_child_before_any_lock_is_touched(
    desk: Desk,
) -> None:
    with desk.recorder._lock:
        desk.recorder.end("forked")
        errors: list[BaseException] = []

        def use() -> None:
            try:
                desk.log({"a": 1})
            except ForkedObjectError as error:
                errors.append(error)

        thread = threading.Thread(target=use, daemon=True)
        thread.start()
        thread.join(30)
        assert len(errors) == 1


class ToldLock:
    """A re-entrant lock that tells when another thread asks for it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.is_asked = threading.Event()

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            self.is_asked.set()
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


@pytest.mark.parametrize("data", [{"a": 1.0}, {"a": "text"}], ids=["fast way", "slow way"])
def test_a_call_that_waits_for_the_lock_while_the_run_ends_is_counted(
    new_desk: type[Desk],
    data: dict[str, Any],
) -> None:
    lock = ToldLock()
    desk = new_desk(lock=lock)
    desk.log({"a": 0.0})
    thread = threading.Thread(target=desk.log, args=(data,))
    with lock:
        thread.start()
        assert lock.is_asked.wait(30)
        desk.recorder.end("finished")
    thread.join()
    assert desk.steps == [0]
    assert desk.notices.counts("dropped") == {"log calls after finish": 1}


def test_rows_that_race_with_the_end_are_stored_or_counted(new_desk: type[Desk]) -> None:
    desk = new_desk()
    go, calls = threading.Barrier(4), 400

    def work() -> None:
        go.wait(30)
        for number in range(calls):
            desk.log({"a": number} if number % 2 else {"a": str(number)})

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    go.wait(30)
    while len(desk.memory.rows) < 20:
        pass
    with desk.recorder._lock:
        desk.recorder.end("finished")
        stored = len(desk.memory.rows)
    for thread in threads:
        thread.join()
    assert len(desk.memory.rows) == stored
    assert stored + desk.notices.counts("dropped").get("log calls after finish", 0) == 3 * calls
