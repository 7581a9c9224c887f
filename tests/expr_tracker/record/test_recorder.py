"""When a row opens, what joins it, when it is committed and who hears of it."""

from __future__ import annotations

import gc
import logging
import math
import sys
import threading
from contextvars import ContextVar
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from expr_tracker.errors import ForkedObjectError, StepError, StepOrderError
from expr_tracker.notices import Notices, logger
from expr_tracker.options import make_options
from expr_tracker.record import recorder as recorder_module
from expr_tracker.record.recorder import Recorder
from expr_tracker.row import STEP_MAX, RowEncoder
from expr_tracker.store.reader import whole_rows
from expr_tracker.store.writer import LineWriter
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

POLICIES = ["allow", "monotonic", "strict"]


class Memory:
    """A writer that keeps rows in a list.

    Attributes:
        before: called with every row before it is taken.
        refuses: whether rows are refused.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.refuses = False
        self.before: Callable[[dict[str, Any]], object] = lambda row: None

    def collect_garbage_once(self) -> None:
        """Let finalisers run while the next row is written."""

        def collect(row: dict[str, Any]) -> None:
            self.before = lambda row: None
            gc.collect()

        self.before = collect

    def append_row(self, row: dict[str, Any], step: int, is_finite: bool) -> bool:
        assert row["_step"] == step
        assert list(row)[:2] == ["_step", "_time"]
        if is_finite:
            assert all(math.isfinite(v) for v in row.values() if isinstance(v, float))
        self.before(row)
        if self.refuses:
            return False
        self.rows.append(row.copy())
        return True

    def has_taken(self, row: dict[str, Any]) -> bool:
        return bool(self.rows) and self.rows[-1] == row


class Desk:
    """A recorder over memory, and what it said."""

    def __init__(self, *, lock: Any = None, **options: Any) -> None:
        self.memory = Memory()
        self.clock = ManualClock(100.0)
        self.notices = Notices()
        self.recorder = Recorder(
            self.memory,
            make_options(options),
            lock=threading.RLock() if lock is None else lock,
            clock=self.clock,
            notices=self.notices,
            encoder=RowEncoder(self._warn),
        )
        self.log = self.recorder.log

    def _warn(self, key: str, text: str) -> None:
        self.notices.once(("value", key), f"{key} is {text}")

    @property
    def rows(self) -> list[tuple[int, dict[str, Any]]]:
        """Step and values of every committed row, in commit order."""
        return [
            (row["_step"], {key: row[key] for key in row if key not in {"_step", "_time"}})
            for row in self.memory.rows
        ]

    @property
    def steps(self) -> list[int]:
        return [row["_step"] for row in self.memory.rows]


@pytest.fixture(params=POLICIES)
def desk(request: pytest.FixtureRequest) -> Desk:
    """Return a desk for each policy."""
    return Desk(step_policy=request.param)


# -- rows and steps, under every policy ------------------------------------------------------------------


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


# -- steps below the newest one, by policy ------------------------------------------------------------------


def test_allow_stores_a_lower_step_and_goes_on_behind_the_highest() -> None:
    desk = Desk(step_policy="allow")
    for step in (5, 2, 9, 2):
        desk.log({"a": step}, step=step)
    desk.log({"b": 1})
    assert desk.steps == [5, 2, 9, 2, 10]


def test_a_call_without_a_step_does_not_join_an_open_row_below_the_highest() -> None:
    desk = Desk(step_policy="allow")
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


def test_implicit_and_explicit_steps_in_one_loop_keep_every_value() -> None:
    desk = Desk(step_policy="allow")
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
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = Desk(step_policy="monotonic")
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


def test_monotonic_judges_by_the_open_step_first() -> None:
    desk = Desk(step_policy="monotonic")
    desk.log({"a": 1}, step=10)
    desk.log({"a": 2}, step=9)
    desk.log({"a": 3}, step=10)
    desk.recorder.commit_open()
    assert desk.rows == [(10, {"a": 3})]
    assert sum(desk.notices.counts("dropped").values()) == 1


def test_an_empty_call_below_the_newest_step_is_counted_too() -> None:
    desk = Desk(step_policy="monotonic")
    desk.log({"a": 1}, step=10, commit=True)
    desk.log({}, step=3)
    assert desk.notices.counts("dropped") == {"values of (empty rows) below the newest step": 1}


def test_strict_raises_at_the_first_lower_step_and_keeps_the_open_row() -> None:
    desk = Desk(step_policy="strict")
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


# -- values ------------------------------------------------------------------------------------------------


class Sized(IntEnum):
    SMALL = 2


class Half(float):
    pass


class Unaddable:
    """A value whose addition fails with an error of its own."""

    __slots__ = ()

    def __radd__(self, other: object) -> float:
        raise LookupError("no sums here")

    def __repr__(self) -> str:
        return "<unaddable>"


class Summing:
    """An object that adds up like a number and is none."""

    __slots__ = ()

    def __radd__(self, other: object) -> float:
        return 1.0

    def __repr__(self) -> str:
        return "<summing>"


VALUES: dict[str, tuple[object, object]] = {
    "int": (1, 1),
    "bool": (True, True),
    "float": (0.5, 0.5),
    "long int": (2**70, 2**70),
    "float64": (np.float64(0.25), 0.25),
    "float32": (np.float32(0.5), 0.5),
    "int64": (np.int64(3), 3),
    "enum": (Sized.SMALL, 2),
    "kind of float": (Half(0.5), 0.5),
    "decimal": (Decimal("2.5"), 2.5),
    "fraction": (Fraction(1, 2), "Fraction(1, 2)"),
    "text": ("text", "text"),
    "none": (None, None),
    "list": ([1, 2], [1, 2]),
    "dict": ({"x": 1}, {"x": 1}),
    "array": (np.array([1.5]), [1.5]),
    "adds up": (Summing(), "<summing>"),
    "does not add up": (Unaddable(), "<unaddable>"),
    "infinity": (math.inf, math.inf),
    "complex": (1 + 2j, "(1+2j)"),
    "endless int": (10**5000, "an int of 16610 bits"),
    "endless negative int": (-(10**5000), "an int of 16610 bits"),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("how", ["known name", "new name", "with a step", "beside numbers"])
def test_a_value_is_stored_alike_on_every_way_through_the_recorder(
    tmp_path: Path, kind: str, how: str
) -> None:
    value, stored = VALUES[kind]
    desk = FileDesk(tmp_path)
    if how != "new name":
        desk.log({"x": 1.0, "y": 2.0})
    data = {"x": value, "y": 1.5} if how == "beside numbers" else {"x": value}
    if how == "with a step":
        desk.log(data, step=1, commit=True)
    else:
        desk.log(data)
    desk.log({"x": 3.0})
    rows = list(whole_rows(desk.path))
    assert rows[-2]["x"] == stored
    assert type(rows[-2]["x"]) is type(stored)
    assert rows[-1]["x"] == 3.0
    assert [row["_step"] for row in rows] == list(range(len(rows)))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_numbers_never_take_the_way_of_finite_ones(
    tmp_path: Path, value: float
) -> None:
    desk = FileDesk(tmp_path)
    for _ in range(2):
        desk.log({"a": value, "b": -value, "c": 1.0})
        desk.log({"a": value}, step=desk.recorder.step, commit=True)
    for row in whole_rows(desk.path):
        assert repr(row["a"]) == repr(value)
    text = desk.path.read_text()
    assert '"a":null' in text
    assert text.count("_nonfinite") == 4


def test_a_list_that_the_user_changes_later_does_not_change_the_row() -> None:
    desk = Desk()
    values = [1, 2]
    data = {"a": values}
    desk.log(data, step=1)
    values.append(3)
    data["b"] = [4]
    desk.recorder.commit_open()
    assert desk.rows == [(1, {"a": [1, 2]})]


def test_a_dict_of_numbers_that_the_user_changes_later_does_not_change_the_row() -> None:
    desk = Desk()
    data = {"a": 1.0}
    desk.log(data)
    desk.log(data, step=1)
    data["a"] = 9.0
    assert desk.recorder.open_row() == {"_step": 1, "_time": 100.0, "a": 1.0}


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (5, {"value": 5}),
        ([1], {"value": [1]}),
        ("t", {"value": "t"}),
        (None, {}),
        (np.float32(2), {"value": 2.0}),
    ],
    ids=repr,
)
def test_data_that_is_no_dict_is_stored_under_value(data: object, values: dict[str, Any]) -> None:
    desk = Desk()
    desk.log(data)
    assert desk.rows == [(0, values)]


@pytest.mark.parametrize(
    "name",
    [
        "_step",
        "_time",
        "_nonfinite",
        "_attempt",
        "_attempt_end",
        "_from_step",
        "_status",
        "_stream",
        "_rank",
        "_pid",
    ],
)
def test_a_reserved_name_is_ignored_counted_and_said_once(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()
    for _ in range(3):
        desk.log({name: 99, "a": 1})
    assert desk.rows == [(0, {"a": 1}), (1, {"a": 1}), (2, {"a": 1})]
    assert desk.notices.counts("refused") == {f"values named {name}": 3}
    assert len(caplog.messages) == 1


def test_a_dict_that_another_thread_adds_to_meanwhile_raises_nowhere() -> None:
    desk = Desk()
    data: dict[str, Any] = {f"m{number}": float(number) for number in range(50)}
    is_done = threading.Event()

    def change() -> None:
        number = 0
        while not is_done.is_set():
            number += 1
            data[f"x{number % 1000}"] = "text" if number % 2 else 1.0
            data.pop(f"x{(number - 20) % 1000}", None)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(600):
            desk.log(data)
    finally:
        is_done.set()
        thread.join()
        sys.setswitchinterval(before)
    assert desk.steps == list(range(600))


def test_other_names_with_an_underscore_are_stored() -> None:
    desk = Desk()
    desk.log({"_x": 1.0, "_sa_state": 2.0, "": 3.0, " ": 4.0, "a\nb": 5.0, "x" * 10_000: 6.0})
    assert desk.rows[0][1] == {
        "_x": 1.0,
        "_sa_state": 2.0,
        "": 3.0,
        " ": 4.0,
        "a\nb": 5.0,
        "x" * 10_000: 6.0,
    }


def test_names_beyond_the_limit_are_stored_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "_KNOWN_NAMES_MAX", 5)
    desk = Desk()
    for number in range(10):
        desk.log({f"m{number}": number})
        desk.log({f"m{number}": number})
    assert desk.rows == [(i, {f"m{i // 2}": i // 2}) for i in range(20)]


def test_a_refused_row_reaches_no_sink_and_spares_the_next_one() -> None:
    desk = Desk()
    heard: list[int] = []
    desk.recorder.add_sink(lambda row: heard.append(row["_step"]))
    desk.log({"a": 1.0})
    desk.memory.refuses = True
    desk.log({"a": 2.0})
    desk.log({"a": 2.5}, step=7, commit=True)
    desk.memory.refuses = False
    desk.log({"a": 3.0})
    assert desk.rows == [(0, {"a": 1.0}), (8, {"a": 3.0})]
    assert heard == [0, 8]
    assert desk.recorder.latest["a"] == 3.0
    assert desk.recorder.open_row() is None


# -- who hears of a row --------------------------------------------------------------------------------------


def test_sinks_hear_every_row_in_commit_order_one_sink_after_the_other() -> None:
    desk = Desk()
    heard: list[tuple[str, int]] = []
    desk.recorder.add_sink(lambda row: heard.append(("first", row["_step"])))
    desk.recorder.add_sink(lambda row: heard.append(("second", row["_step"])))
    desk.log({"a": 1})
    desk.log({"a": 1}, step=5)
    assert heard == [("first", 0), ("second", 0)]
    desk.log({"a": 1}, step=6, commit=True)
    assert heard[2:] == [("first", 5), ("second", 5), ("first", 6), ("second", 6)]


def test_a_sink_that_fails_is_counted_said_once_and_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = Desk()
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


def test_a_sink_sees_the_context_of_the_committing_call() -> None:
    desk = Desk()
    request: ContextVar[str] = ContextVar("request", default="none")
    seen: list[str] = []
    desk.recorder.add_sink(lambda row: seen.append(request.get()))
    token = request.set("mine")
    desk.log({"a": 1})
    request.reset(token)
    desk.log({"a": 1})
    assert seen == ["mine", "none"]


def test_a_sink_may_log_and_its_rows_come_behind() -> None:
    desk = Desk()
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


def test_the_committing_call_returns_behind_its_own_rows_delivery_also_among_threads() -> None:
    desk = Desk()
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


def test_sinks_run_outside_of_the_lock() -> None:
    desk = Desk()
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


def test_an_action_waits_until_its_own_thread_has_left_the_critical_section() -> None:
    desk = Desk()
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


def test_an_action_does_not_wait_for_another_thread_for_ever() -> None:
    desk = Desk()
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


def test_a_finish_from_a_sink_can_be_told() -> None:
    desk = Desk()
    seen: list[bool] = []
    desk.recorder.add_sink(lambda row: seen.append(desk.recorder.is_delivering_here))
    desk.log({"a": 1})
    assert seen == [True]
    assert not desk.recorder.is_delivering_here


# -- logging from inside -------------------------------------------------------------------------------------


class Chatty:
    """Logs when it is collected."""

    def __init__(self, desk: Desk | FileDesk, number: int) -> None:
        self.desk, self.number, self.me = desk, number, self

    def __del__(self) -> None:
        self.desk.log({"from_del": self.number})


def test_a_finaliser_that_logs_while_a_row_is_written_is_carried_out_behind_it() -> None:
    desk = Desk()
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


def test_more_finalisers_than_can_wait_are_counted() -> None:
    desk = Desk()
    limit = recorder_module._DEFERRED_MAX
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
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = Desk(step_policy="strict")
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


def test_a_repr_that_logs_is_recorded_too() -> None:
    desk = Desk()

    class Confused:
        def __repr__(self) -> str:
            desk.log({"inner": 1})
            return "confused"

        __slots__ = ()

    desk.log({"outer": Confused()})
    assert desk.rows == [(0, {"inner": 1}), (1, {"outer": "confused"})]


def test_a_log_handler_that_logs_a_metric_is_recorded() -> None:
    desk = Desk()

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


def test_a_span_that_ends_in_a_finaliser_is_added_behind_the_row_that_is_written() -> None:
    desk = Desk()

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


# -- spans -------------------------------------------------------------------------------------------------------


def test_a_span_joins_the_open_row_or_opens_the_next_one_and_never_commits() -> None:
    desk = Desk()
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
        (1, {"time_ms/a": 1.0}),
        (7, {"y": 1, "time_ms/b": 5.0, "cpu_time_ms/b": 5.0}),
    ]


def test_spans_are_counted_on_request_and_kept_out_on_request() -> None:
    counted = Desk(span_count=True)
    counted.recorder.add_span("a", 1.0, None)
    counted.recorder.add_span("a", 1.0, None)
    counted.log({})
    assert counted.rows == [(0, {"time_ms/a": 2.0, "count/a": 2})]
    silent = Desk(span_metrics=False)
    assert silent.recorder.add_span("a", 1.0, {"m": 1}) == 0
    silent.log({"x": 1}, step=4)
    assert silent.recorder.add_span("a", 1.0, None) == 4
    silent.recorder.commit_open()
    assert silent.rows == [(4, {"x": 1})]


def test_a_row_has_a_limit_of_span_paths_and_keeps_its_other_values() -> None:
    desk = Desk()
    for number in range(1_100):
        desk.recorder.add_span(f"p{number}", 1.0, None)
    desk.log({"x": 1})
    values = desk.rows[0][1]
    assert len(values) == 1_002
    assert values["time_ms/(other)"] == 100.0
    assert desk.notices.counts("degraded") == {"span paths beyond the limit of one row": 100}


# -- attempts, resuming, the end -----------------------------------------------------------------------------------


def test_it_continues_behind_what_was_there() -> None:
    desk = Desk(step_policy="monotonic")
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
    data: dict[str, Any],
) -> None:
    lock = ToldLock()
    desk = Desk(lock=lock)
    desk.log({"a": 0.0})
    thread = threading.Thread(target=desk.log, args=(data,))
    with lock:
        thread.start()
        assert lock.is_asked.wait(30)
        desk.recorder.end("finished")
    thread.join()
    assert desk.steps == [0]
    assert desk.notices.counts("dropped") == {"log calls after finish": 1}


def test_rows_that_race_with_the_end_are_stored_or_counted() -> None:
    desk = Desk()
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


# -- threads, with real files ----------------------------------------------------------------------------------------


class FileDesk:
    """A recorder over a real file."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.path = folder / "metrics.jsonl"
        lock, notices, clock = threading.RLock(), Notices(), ManualClock(100.0)
        made = make_options(options)
        self.notices = notices
        self.writer = LineWriter(self.path, made, lock=lock, clock=clock, notices=notices)
        self.recorder = Recorder(
            self.writer,
            made,
            lock=lock,
            clock=clock,
            notices=notices,
            encoder=RowEncoder(lambda key, text: None),
        )
        self.log = self.recorder.log


@pytest.mark.parametrize("durability", ["process", "buffered"])
def test_n_threads_of_m_calls_give_n_times_m_rows(tmp_path: Path, durability: str) -> None:
    desk = FileDesk(tmp_path, durability=durability)

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


def test_threads_of_their_own_steps_lose_no_value(tmp_path: Path) -> None:
    desk = FileDesk(tmp_path)

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


def test_a_writer_failure_raises_nowhere_and_blocks_nothing(tmp_path: Path) -> None:
    desk = FileDesk(tmp_path)
    desk.log({"a": 1})
    tmp_path.joinpath("metrics.jsonl").unlink()
    desk.writer.abandon_in_child()  # a descriptor that is gone: every write fails
    desk.log({"a": 2})
    desk.log({"a": [3]})
    assert desk.recorder.step == 3
