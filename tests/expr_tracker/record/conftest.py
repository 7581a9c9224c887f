"""A recorder over memory or over a real file: what the tests of this folder share."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.notices import Notices
from expr_tracker.options import make_options
from expr_tracker.record.recorder import Recorder
from expr_tracker.row import RowEncoder
from expr_tracker.store.writer import LineWriter
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable
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

    def append_row(self, row: dict[str, Any], step: int) -> bool:
        assert row["_step"] == step
        assert list(row)[:2] == ["_step", "_time"]
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
        made = make_options(options)
        self.recorder = Recorder(
            self.memory,
            made,
            lock=threading.RLock() if lock is None else lock,
            clock=self.clock,
            notices=self.notices,
            encoder=RowEncoder(self._warn, bytes_max=made.max_record_bytes),
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


@pytest.fixture
def new_desk() -> type[Desk]:
    """Return the maker of desks: a class of a conftest cannot be imported."""
    return Desk


@pytest.fixture
def new_file_desk() -> type[FileDesk]:
    """Return the maker of desks over a real file."""
    return FileDesk


@pytest.fixture(params=POLICIES)
def desk(request: pytest.FixtureRequest) -> Desk:
    """Return a desk for each policy."""
    return Desk(step_policy=request.param)
