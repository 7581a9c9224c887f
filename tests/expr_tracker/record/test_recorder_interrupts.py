"""An exception from a signal handler may fall anywhere in ``log``: what returned is stored, once.

As in the tests of the writer, a profile function raises at the first point where CPython runs
signal handlers, then at the second, and so on.
"""

from __future__ import annotations

import functools
import gc
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import expr_tracker
from expr_tracker.notices import Notices
from expr_tracker.options import make_options
from expr_tracker.record.recorder import Recorder
from expr_tracker.row import RowEncoder
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.lines import encode_line
from expr_tracker.store.reader import LineFile, whole_rows
from expr_tracker.store.writer import LineWriter
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from types import FrameType

PACKAGE = str(Path(expr_tracker.__file__).parent)
POINTS_MAX = 2_000


class Interrupt(BaseException):
    """What the signal handler raises."""


class TimeOutError(ValueError):
    """What another signal handler raises: an error that looks like one of the encoder's."""


class OverdueError(RuntimeError):
    """And another, which looks like a fault of the value that is encoded."""


class LimitError(TimeoutError):
    """And another, which looks like a fault of the disk."""


def passes(
    action: Callable[[], object], point: int, error: type[BaseException] = Interrupt
) -> bool:
    """Carry out ``action``, raise at its ``point``-th point; say whether it had fewer points."""
    seen = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal seen
        del argument
        if event in {"call", "c_return"} and frame.f_code.co_filename.startswith(PACKAGE):
            seen += 1
            if seen == point:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGUSR1)

    def handle(number: int, frame: FrameType | None) -> None:
        raise error

    before = signal.signal(signal.SIGUSR1, handle)
    gc.disable()  # the finaliser of another test's object is not what is interrupted
    sys.setprofile(profile)
    try:
        action()
    except error:
        pass
    finally:
        sys.setprofile(None)
        gc.enable()
        signal.signal(signal.SIGUSR1, before)
    return seen < point


def identities(rows: list[dict[str, Any]]) -> list[int]:
    """Return what the rows hold of the calls, in file order."""
    return [v for row in rows for name, v in row.items() if name.startswith("id") and v >= 0]


class Desk:
    """A recorder over a file, a sink that listens, and the identities of what ``log`` took."""

    def __init__(self, folder: Path, *, listens: bool = True, **options: Any) -> None:
        self.path = Path(tempfile.mkdtemp(dir=folder)) / "metrics.jsonl"
        made = make_options(options)
        lock, clock = threading.RLock(), ManualClock()
        self.notices = Notices()
        self.writer = LineWriter(self.path, made, lock=lock, clock=clock, notices=self.notices)
        self.recorder = Recorder(
            self.writer,
            made,
            lock=lock,
            clock=clock,
            notices=self.notices,
            encoder=RowEncoder(lambda key, text: None),
        )
        self.heard: list[dict[str, Any]] = []
        self.listens = listens
        if listens:
            self.recorder.add_sink(self.heard.append)
        self.returned: list[int] = []
        # Names that are known take the fast way; their values here are no identities.
        self.recorder.log({f"id{number}": -1 for number in range(25)} | {"n": 0.0})
        self.log(0, {})
        self.log(1, {})

    def log(self, identity: int, data: dict[str, Any], *arguments: Any) -> None:
        self.recorder.log({f"id{identity}": identity, **data}, *arguments)
        self.returned.append(identity)

    def check(self, interrupted: int) -> None:
        """End, and compare the file with what returned."""
        self.recorder.commit_open()
        assert self.writer.pending_lines() == []
        rows = [row for row in whole_rows(self.path) if "_step" in row]
        found = identities(rows)
        assert [i for i in found if i != interrupted] == [
            i for i in self.returned if i != interrupted
        ]
        assert found.count(interrupted) == 1 or interrupted not in self.returned
        assert found.count(interrupted) <= 1
        assert self.recorder.rows == len(rows)
        for row in rows:
            assert row.keys() <= self.recorder.latest.keys()
        scanned = StreamIndex()
        with LineFile(self.path) as file:
            scanned.scan(file)
        assert (self.writer.index.size, self.writer.index.rows) == (scanned.size, scanned.rows)
        if not self.listens:
            return
        # A sink may miss the one row that it was being told of, and hears none twice.
        missed = [row for row in rows if row not in self.heard]
        assert len(missed) <= 1
        assert self.heard == [row for row in rows if row not in missed]
        # Rows without a step of their own count on, whatever happened.
        steps = [row["_step"] for row in rows if any(name.startswith("id") for name in row)]
        assert len(set(steps)) == len(steps)


Action = Callable[[Desk], object]

ACTIONS: dict[str, tuple[Action, Action]] = {
    "finite numbers": (lambda d: None, lambda d: d.log(9, {"n": 1.0})),
    "new name": (lambda d: None, lambda d: d.log(9, {"fresh": 2.0})),
    "text": (lambda d: None, lambda d: d.log(9, {"t": "text"})),
    "not finite": (lambda d: None, lambda d: d.log(9, {"t": float("inf")})),
    "kept open": (lambda d: None, lambda d: d.log(9, {}, None, False)),
    "joining an open row": (lambda d: d.log(8, {}, None, False), lambda d: d.log(9, {})),
    "opening a step": (lambda d: None, lambda d: d.log(9, {}, 50)),
    "committing a step": (lambda d: d.log(8, {}, 50), lambda d: d.log(9, {}, 50, True)),
    "the next step": (lambda d: d.log(8, {}, 50), lambda d: d.log(9, {}, 51)),
    "a lower step": (lambda d: d.log(8, {}, 50), lambda d: d.log(9, {}, 30)),
    "behind a lower step": (lambda d: d.log(8, {}, -5), lambda d: d.log(9, {})),
    "a span": (
        lambda d: d.log(8, {}, None, False),
        lambda d: d.recorder.add_span("p", 1.0, {"m": 2}),
    ),
    "commit": (lambda d: d.log(8, {}, 50), lambda d: d.recorder.commit_open()),
    "the step": (lambda d: d.log(8, {}, 50), lambda d: d.recorder.step),
    "a copy of the open row": (lambda d: d.log(8, {}, 50), lambda d: d.recorder.open_row()),
}
WAYS: dict[str, dict[str, Any]] = {
    "process": {},
    "buffered": {"durability": "buffered", "buffer_size": 2, "buffer_interval": None},
    "parts": {"max_file_bytes": 70},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ACTIONS)
def test_an_interrupt_anywhere_loses_no_row_that_log_returned_for_and_repeats_none(
    tmp_path: Path, name: str, way: str
) -> None:
    before, action = ACTIONS[name]
    for point in range(1, POINTS_MAX):
        desk = Desk(tmp_path, **WAYS[way])
        before(desk)
        is_through = passes(lambda desk=desk: action(desk), point)  # type: ignore[misc]
        desk.log(20, {})
        desk.log(21, {"t": "text"})
        desk.log(22, {"n": 1.0})
        desk.writer.flush()
        desk.check(interrupted=9)
        desk.writer.close({})
        if is_through:
            assert point > 1
            return
    raise AssertionError("no end of points")


@pytest.mark.parametrize(
    "name", ["finite numbers", "text", "joining an open row", "the next step"]
)
def test_interrupts_one_after_the_other_lose_nothing_either(tmp_path: Path, name: str) -> None:
    before, action = ACTIONS[name]
    for point in range(1, POINTS_MAX):
        is_through = False
        for next_point in (1, 2, 4, 7, 11, 16, 22, 29):
            desk = Desk(tmp_path)
            before(desk)
            is_through = passes(lambda desk=desk: action(desk), point)  # type: ignore[misc]
            passes(lambda desk=desk: desk.log(10, {}), next_point)  # type: ignore[misc]
            desk.log(20, {})
            desk.recorder.commit_open()
            rows = list(whole_rows(desk.path))
            found = identities(rows)
            assert len(set(found)) == len(found)
            assert set(desk.returned) <= set(found)
            assert desk.recorder.rows == len(rows)
            desk.writer.close({})
        if is_through:
            return
    raise AssertionError("no end of points")


def test_a_span_behind_an_interrupted_call_joins_the_next_row(tmp_path: Path) -> None:
    for point in range(1, POINTS_MAX):
        desk = Desk(tmp_path)
        is_through = passes(lambda desk=desk: desk.log(9, {"t": "text"}), point)  # type: ignore[misc]
        at = desk.recorder.add_span("p", 2.5, None)
        desk.log(20, {})
        desk.check(interrupted=9)
        row = next(row for row in whole_rows(desk.path) if "time_ms/p" in row)
        assert (row["_step"], row["id20"], "id9" in row) == (at, 20, False)
        desk.writer.close({})
        if is_through:
            return
    raise AssertionError("no end of points")


@pytest.mark.parametrize("error", [TimeOutError, OverdueError, LimitError])
@pytest.mark.parametrize("value", [1.0, [1, 2], {"inner": Decimal("1.5")}])
def test_what_a_handler_raises_reaches_the_program_and_harms_no_row(
    tmp_path: Path, error: type[Exception], value: Any
) -> None:
    for point in range(1, POINTS_MAX):
        desk = Desk(tmp_path)
        call = functools.partial(desk.log, 9, {"n": value})
        is_through = passes(call, point, error)
        assert is_through or 9 not in desk.returned, "the program's own exception was swallowed"
        assert desk.writer.failure is None, "the disk is healthy"
        desk.log(20, {"n": value})
        desk.check(interrupted=9)
        rows = [row for row in whole_rows(desk.path) if {"id9", "id20"} & row.keys()]
        assert not [row for row in rows if type(row["n"]) is str], "the value is healthy"
        desk.writer.close({})
        if is_through:
            return
    raise AssertionError("no end of points")


def test_an_interrupted_attempt_is_begun_once_or_not_at_all(tmp_path: Path) -> None:
    for point in range(1, POINTS_MAX):
        desk = Desk(tmp_path)
        desk.log(2, {})
        desk.log(8, {}, 50)
        marker = {"_attempt": 2, "_from_step": 1}

        def begin(desk: Desk = desk, marker: dict[str, Any] = marker) -> None:
            desk.recorder.begin_attempt(
                1, lambda: desk.writer.append_line(encode_line(marker), marker=marker)
            )

        is_through = passes(begin, point)
        begun = [row for row in whole_rows(desk.path) if "_attempt" in row]
        desk.log(20, {})
        desk.recorder.commit_open()
        rows = [row for row in whole_rows(desk.path) if "_step" in row]
        found = identities(rows)
        assert sorted(found) == [0, 1, 2, 8, 20]
        assert len(begun) <= 1
        if begun:
            assert rows[-1]["_step"] == 1, "what is marked is what the recorder does"
        desk.writer.close({})
        if is_through:
            return
    raise AssertionError("no end of points")


def test_an_interrupt_while_other_threads_log_hangs_nobody(tmp_path: Path) -> None:
    for point in range(1, 60, 4):
        desk = Desk(tmp_path)
        is_done = threading.Event()

        def work(desk: Desk = desk, is_done: threading.Event = is_done) -> None:
            for _ in range(30):
                desk.recorder.log({"other": 1.0})
            is_done.set()

        thread = threading.Thread(target=work, daemon=True)
        passes(lambda desk=desk: desk.log(9, {"n": 1.0}), point)  # type: ignore[misc]
        thread.start()
        assert is_done.wait(30), "the interrupted call kept a lock"
        thread.join()
        desk.log(20, {})
        rows = list(whole_rows(desk.path))
        assert {0, 1, 20} <= set(identities(rows))
        assert sum("other" in row for row in rows) == 30
        assert [row["_step"] for row in rows] == list(range(len(rows)))
        desk.writer.close({})
