"""The recorder and the file against a reference that knows nothing but the rules.

Random programs log, time, commit, rewind and resume; after every step the rows in the file, the
step that comes next and the last values are those of the reference.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from expr_tracker.errors import StepOrderError
from expr_tracker.notices import Notices
from expr_tracker.options import make_options
from expr_tracker.record.recorder import Recorder
from expr_tracker.row import RowEncoder
from expr_tracker.store.lines import encode_line
from expr_tracker.store.reader import whole_rows
from expr_tracker.store.writer import LineWriter
from expr_tracker.surrogates import storable
from expr_tracker.testing import ManualClock

Values = dict[str, Any]


class Reference:
    """The rules of steps and rows, in the plainest form."""

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.rows: list[tuple[int, Values]] = []
        self.open: tuple[int, Values] | None = None
        self.highest: int | None = None
        self.newest: int | None = None
        self.following = 0
        self.latest: Values = {}
        self.is_logged = False

    @property
    def step(self) -> int:
        return self.following if self.open is None else self.open[0]

    def commit(self) -> None:
        if self.open is None:
            return
        step, values = self.open
        self.is_logged = False
        self.open = None
        self.rows.append((step, values))
        self.latest |= values
        self.newest = step
        if self.highest is None or step > self.highest:
            self.highest, self.following = step, step + 1

    def log(self, values: Values, step: int | None, commit: bool | None) -> str:
        values = {storable(name): value for name, value in values.items()}
        if step is None:
            if self.open is not None and self.highest is not None and self.open[0] <= self.highest:
                self.commit()
            if self.open is None:
                self.open = (self.following, {})
        elif self.open is None or self.open[0] != step:
            limit = self.open[0] if self.open is not None and self.is_logged else self.newest
            if limit is not None and step < limit and self.policy != "allow":
                return "refused"
            if self.open is not None and not self.is_logged:
                self.open = (step, self.open[1])
            else:
                self.commit()
                self.open = (step, {})
        assert self.open is not None
        self.is_logged = True
        self.open[1].update(values)
        if commit or (commit is None and step is None):
            self.commit()
        return "taken"

    def span(self, path: str, duration_ms: float) -> None:
        if self.open is not None and self.highest is not None and self.open[0] <= self.highest:
            self.commit()
        if self.open is None:
            self.open = (self.following, {})
        name, values = f"time_ms/{path}", self.open[1]
        before = values.get(name)
        if isinstance(before, (int, float)) and not isinstance(before, bool):
            values[name] = before + duration_ms
        else:
            values[name] = duration_ms

    def rewind(self, step: int) -> None:
        self.commit()
        self.highest = self.newest = step - 1
        self.following = step

    def resume(self) -> None:
        self.commit()
        self.following = 0 if self.highest is None else self.highest + 1


names = st.sampled_from(["a", "b", "train/loss", "ä", "half\ud800", "time_ms/p"])
numbers = st.sampled_from([0, 1, True, 0.5, -2.25, 1e308, 2**70])
others = st.sampled_from(
    [math.nan, math.inf, None, "text", [1, math.nan], {"x": 1.5}, np.float32(0.5), np.int64(7)]
)
values = st.dictionaries(names, numbers, max_size=3) | st.dictionaries(
    names, numbers | others, max_size=3
)
WAYS: list[Values] = [
    {},
    {"durability": "buffered", "buffer_size": 3},
    {"max_file_bytes": 120},
    {"durability": "buffered", "buffer_size": 2, "max_file_bytes": 150},
]


def stored(value: object) -> object:
    """Return what the file holds of a value."""
    return value.item() if isinstance(value, np.generic) else value


class Programs(RuleBasedStateMachine):
    """Random programs that log."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="recorder-"))
        self.clock = ManualClock()
        self.heard: list[int] = []

    @initialize(
        policy=st.sampled_from(["allow", "monotonic", "strict"]), way=st.sampled_from(WAYS)
    )
    def begin(self, policy: str, way: Values) -> None:
        self.options = make_options({"step_policy": policy, **way})
        self.reference = Reference(policy)
        self.open()

    def open(self) -> None:
        lock = threading.RLock()
        self.notices = Notices()
        self.writer = LineWriter(
            self.folder / "metrics.jsonl",
            self.options,
            lock=lock,
            clock=self.clock,
            notices=self.notices,
        )
        self.recorder = Recorder(
            self.writer,
            self.options,
            lock=lock,
            clock=self.clock,
            notices=self.notices,
            encoder=RowEncoder(lambda key, text: None),
        )
        index = self.writer.index
        self.recorder.continue_from(
            highest=index.attempt_max_step, newest=index.last_step, rows=index.rows
        )
        self.recorder.add_sink(lambda row: self.heard.append(row["_step"]))

    @rule(data=values)
    def log_without_a_step(self, data: Values) -> None:
        self.log(data, None, None)

    @rule(data=values, near=st.integers(-3, 3), commit=st.none() | st.booleans())
    def log_at_a_step_nearby(self, data: Values, near: int, commit: bool | None) -> None:
        self.log(data, self.reference.step + near, commit)

    @rule(data=values, step=st.integers(-2, 8), commit=st.none() | st.booleans())
    def log_at_an_early_step(self, data: Values, step: int, commit: bool | None) -> None:
        self.log(data, step, commit)

    @rule(data=values, commit=st.booleans())
    def log_with_a_choice(self, data: Values, commit: bool) -> None:
        self.log(data, None, commit)

    def log(self, data: Values, step: int | None, commit: bool | None) -> None:
        plain = {name: stored(value) for name, value in data.items()}
        answer = self.reference.log(plain, step, commit)
        try:
            self.recorder.log(data, step, commit)
        except StepOrderError:
            assert answer == "refused"
            assert self.reference.policy == "strict"
        else:
            assert answer == "taken" or self.reference.policy == "monotonic"

    @rule(path=st.sampled_from(["p", "p/q"]), duration_ms=st.sampled_from([0.5, 2.0]))
    def finish_a_span(self, path: str, duration_ms: float) -> None:
        self.reference.span(path, duration_ms)
        assert self.recorder.add_span(path, duration_ms, None) == self.reference.step

    @rule()
    def commit(self) -> None:
        self.reference.commit()
        self.recorder.commit_open()

    @rule()
    def flush(self) -> None:
        assert self.writer.flush()

    @rule(seconds=st.sampled_from([0.1, 2.0, 6.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.writer.flush_if_due()
        self.writer.check_place()

    @rule(step=st.integers(0, 10))
    def rewind(self, step: int) -> None:
        self.reference.rewind(step)
        marker = {"_attempt": len(self.writer.index.attempts) + 1, "_from_step": step}
        self.recorder.begin_attempt(
            step, lambda: self.writer.append_line(encode_line(marker), marker=marker)
        )

    @precondition(lambda self: self.reference.rows)
    @rule()
    def resume(self) -> None:
        self.reference.resume()
        self.recorder.commit_open()
        self.writer.close({})
        self.open()
        # The newest step of an attempt that a rewind began is known to its own process only.
        newest = self.writer.index.last_step
        self.reference.newest = newest

    @invariant()
    def the_rows_are_those_of_the_reference(self) -> None:
        if not hasattr(self, "reference"):
            return
        waiting = [line for line in self.writer.pending_lines() if b"_step" in line[:8]]
        in_file = [row for row in whole_rows(self.folder / "metrics.jsonl") if "_step" in row]
        found = [(row.pop("_step"), row.pop("_time") and row) for row in in_file]
        count = len(self.reference.rows) - len(waiting)
        assert repr(found) == repr(self.reference.rows[:count])
        assert self.writer.index.rows == count
        assert self.recorder.rows == len(self.reference.rows)
        assert self.heard == [step for step, _ in self.reference.rows]

    @invariant()
    def the_state_is_that_of_the_reference(self) -> None:
        if not hasattr(self, "reference"):
            return
        assert self.recorder.step == self.reference.step
        assert self.recorder.highest == self.reference.highest
        row = self.recorder.open_row()
        if self.reference.open is None:
            assert row is None
        else:
            assert row is not None
            step, values_ = self.reference.open
            assert repr(row) == repr({"_step": step, "_time": row["_time"], **values_})

    def teardown(self) -> None:
        if hasattr(self, "writer"):
            self.writer.close({})
        shutil.rmtree(self.folder, ignore_errors=True)


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
