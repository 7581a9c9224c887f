"""An exception from a signal handler may fall anywhere in the writer: nothing is lost or doubled.

CPython runs signal handlers where a Python function is entered and where a call of a built-in comes
back. A profile function is called at just these points: every test here raises at the first of
them, at the second, and so on until the action passes undisturbed.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import expr_tracker
from expr_tracker.notices import Notices
from expr_tracker.options import make_options
from expr_tracker.store import index as index_module
from expr_tracker.store.lines import encode_line
from expr_tracker.store.reader import LineFile, part_paths, whole_rows
from expr_tracker.store.writer import LineWriter
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

PACKAGE = str(Path(expr_tracker.__file__).parent)
#: No action here comes near; a count that goes on for ever fails instead of hanging.
POINTS_MAX = 2_000


class InterruptError(TimeoutError):
    """What the signal handler raises: an ``OSError``, as a failing write does too."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """Handle a signal as a program does that limits the time of a call."""
    raise InterruptError


def passes(action: Callable[[], object], point: int) -> bool:
    """Carry out ``action``, raise at its ``point``-th point; say whether it had fewer points."""
    seen = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal seen
        del argument
        name = frame.f_code.co_filename
        if event in {"call", "c_return"} and (name.startswith(PACKAGE) or name == __file__):
            seen += 1
            if seen == point:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGUSR1)

    gc.disable()  # the finaliser of another test's object is not what is interrupted
    sys.setprofile(profile)
    try:
        action()
    except InterruptError:
        return False
    finally:
        sys.setprofile(None)
        gc.enable()
    return True


def points(try_one: Callable[[int], bool]) -> int:
    """Try every point; return how many there were."""
    for point in range(1, POINTS_MAX):
        if try_one(point):
            return point - 1
    raise AssertionError("no end of points")


class Desk:
    """A writer on a disk that may be full."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.room: int | None = None
        self.clock = ManualClock()
        self.notices = Notices()
        self.lock = threading.RLock()
        self.taken: list[int] = []
        self.writer = LineWriter(
            path,
            make_options(options),
            lock=self.lock,
            clock=self.clock,
            notices=self.notices,
            write=self.write,
        )

    def write(self, fd: int, data: bytes) -> int:
        if self.room is None:
            return os.write(fd, data)
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = os.write(fd, data[: self.room])
        self.room -= written
        return written

    def put(self, *steps: int) -> None:
        """Append rows the way the recorder does: an interrupted one is asked for afterwards."""
        for step in steps:
            row = {"_step": step, "t": "x"}
            with self.lock:
                try:
                    is_taken = self.writer.append_row(row, step)
                except InterruptError:
                    is_taken = self.writer.has_taken(row)
                    if is_taken:
                        self.taken.append(step)
                    raise
                if is_taken:
                    self.taken.append(step)

    def span(self, number: int) -> None:
        with self.lock:
            self.writer.append_line(encode_line({"span": number}))

    def close(self) -> None:
        """Close, the accounts being right before: `close` would mend them."""
        self.room = None
        waiting = sum(map(len, self.writer.pending_lines()))
        assert self.writer.pending_bytes == waiting
        self.writer.close({})

    def check(self, *, lost: tuple[int, ...] = (), is_mended: bool = False) -> None:
        """Compare the file with what was taken, and the index with the file."""
        steps = [row["_step"] for row in whole_rows(self.path) if "_step" in row]
        assert steps == [step for step in self.taken if step not in lost]
        scanned = index_module.StreamIndex()
        with LineFile(self.path) as file:
            assert file.torn_bytes == 0
            scanned.scan(file)
        mine = self.writer.index
        assert (mine.size, mine.lines, mine.rows) == (scanned.size, scanned.lines, scanned.rows)
        assert (mine.max_step, mine.last_step) == (scanned.max_step, scanned.last_step)
        covered = [
            (block.start, block.stop) for block in mine.blocks() if block.start < block.stop
        ]
        assert [start for start, _ in covered[1:]] == [stop for _, stop in covered[:-1]]
        assert covered[-1][1] == mine.size
        parts, _ = part_paths(self.path)
        assert [part.number for part in mine.parts] == [int(part.stem) for part in parts]
        for noted, part in zip(mine.parts, parts, strict=True):
            assert noted.size == part.stat().st_size
            assert noted.rows in {None, len(list(whole_rows(part)))}
        if not is_mended:
            assert self.notices.counts("degraded") == {}, "mended behind our back"


@pytest.fixture
def new_path(tmp_path: Path) -> Iterator[Callable[[], Path]]:
    """Return a maker of fresh paths, one for each point."""

    def make() -> Path:
        return Path(tempfile.mkdtemp(dir=tmp_path)) / "metrics.jsonl"

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield make
    sys.setprofile(None)
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture(autouse=True)
def _small_blocks_and_quick_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fdatasync", os.fstat)
    monkeypatch.setattr(index_module, "BLOCK_LINES", 2)
    monkeypatch.setattr(index_module, "BLOCKS_MAX", 3)


WAYS: dict[str, dict[str, Any]] = {
    "process": {},
    "fsync": {"durability": "fsync"},
    "buffered": {"durability": "buffered", "buffer_size": 3, "buffer_interval": None},
    "one part a row": {"max_file_bytes": 1},
    "parts": {"max_file_bytes": 60},
    "buffered parts": {
        "durability": "buffered",
        "buffer_size": 2,
        "buffer_interval": None,
        "max_file_bytes": 45,
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_a_row_that_is_interrupted_is_whole_or_absent_and_no_other_row_suffers(
    new_path: Callable[[], Path], way: str
) -> None:
    def try_one(point: int) -> bool:
        desk = Desk(new_path(), **WAYS[way])
        desk.writer.index.block_lines = 2
        desk.put(0, 1, 2)
        is_through = passes(lambda: desk.put(3), point)
        assert desk.writer.failure is None, "the disk is healthy"
        desk.put(4, 5, 6)
        desk.close()
        desk.check()
        return is_through

    assert points(try_one) > 5


@pytest.mark.parametrize("way", ["process", "buffered", "parts"])
def test_two_interrupts_in_a_row_lose_nothing_either(
    new_path: Callable[[], Path], way: str
) -> None:
    def first(point: int) -> bool:
        is_through = True

        def second(next_point: int) -> bool:
            nonlocal is_through
            desk = Desk(new_path(), **WAYS[way])
            desk.put(0, 1)
            is_through = passes(lambda: desk.put(2), point)
            is_next_through = passes(lambda: desk.put(3), next_point)
            desk.put(4)
            desk.close()
            desk.check()
            return is_next_through or next_point > 12

        points(second)
        return is_through

    assert points(first) > 5


@pytest.mark.parametrize("room", [0, 10])
def test_an_interrupt_while_the_disk_fills_up_loses_and_repeats_nothing(
    new_path: Callable[[], Path], room: int
) -> None:
    def try_one(point: int) -> bool:
        desk = Desk(new_path())
        desk.put(0, 1)
        desk.room = room
        is_through = passes(lambda: desk.put(2), point)
        desk.put(3)
        desk.room = None
        desk.put(4)
        desk.close()
        desk.check()
        return is_through

    assert points(try_one) > 5


def test_an_interrupt_while_the_oldest_are_dropped_keeps_the_accounts_right(
    new_path: Callable[[], Path],
) -> None:
    def try_one(point: int) -> bool:
        desk = Desk(new_path(), max_pending_records=3)
        desk.put(0)
        desk.room = 0
        desk.put(1, 2, 3)
        is_through = passes(lambda: desk.put(4), point)
        desk.put(5, 6)
        dropped = len(desk.taken) - 1 - 3
        desk.close()
        waited = desk.taken[1:]
        desk.check(lost=tuple(waited[:dropped]))
        counted = desk.notices.counts("dropped").get("rows that waited for metrics.jsonl", 0)
        # The count itself may have been what was interrupted.
        assert dropped - 1 <= counted <= dropped
        return is_through

    assert points(try_one) > 5


@pytest.mark.parametrize("way", ["process", "fsync", "buffered parts"])
@pytest.mark.parametrize("room", [None, 0, 30, 70])
def test_a_flush_that_is_interrupted_is_finished_by_the_next_one(
    new_path: Callable[[], Path], way: str, room: int | None
) -> None:
    def try_one(point: int) -> bool:
        desk = Desk(new_path(), **WAYS[way])
        desk.put(0)
        desk.room = 0
        desk.put(1, 2, 3, 4)
        desk.room = room
        is_through = passes(desk.writer.flush, point)
        desk.put(5)
        desk.close()
        desk.check()
        return is_through

    assert points(try_one) > 5


@pytest.mark.parametrize("way", ["process", "buffered", "parts"])
def test_a_close_that_is_interrupted_can_be_repeated(
    new_path: Callable[[], Path], way: str
) -> None:
    def try_one(point: int) -> bool:
        desk = Desk(new_path(), **WAYS[way])
        desk.put(0, 1, 2, 3)
        is_through = passes(desk.close, point)
        desk.close()
        desk.check()
        return is_through

    assert points(try_one) > 5


@pytest.mark.parametrize("event", ["removed", "replaced", "cut"])
def test_looking_after_the_place_can_be_interrupted(
    new_path: Callable[[], Path], event: str
) -> None:
    def try_one(point: int) -> bool:
        desk = Desk(new_path())
        desk.put(0)
        desk.writer.check_place()
        desk.put(1)
        if event == "removed":
            desk.path.unlink()
        elif event == "replaced":
            desk.path.unlink()
            desk.path.write_bytes(encode_line({"_step": 0, "t": "x"}))
        else:
            os.truncate(desk.path, desk.path.stat().st_size // 2)
            desk.taken = [0]
        is_through = passes(desk.writer.check_place, point)
        desk.writer.check_place()
        desk.put(2)
        desk.close()
        desk.check(is_mended=True)
        return is_through

    assert points(try_one) > 5


def test_a_span_that_is_interrupted_is_there_once_or_not_at_all(
    new_path: Callable[[], Path],
) -> None:
    def try_one(point: int) -> bool:
        desk = Desk(new_path())
        desk.span(0)
        is_through = passes(lambda: desk.span(1), point)
        desk.span(2)
        desk.close()
        assert desk.notices.counts("degraded") == {}
        found = [row["span"] for row in whole_rows(desk.path)]
        assert found in ([0, 1, 2], [0, 2])
        assert not is_through or found == [0, 1, 2]
        assert desk.writer.index.size == desk.path.stat().st_size
        return is_through

    assert points(try_one) > 5
