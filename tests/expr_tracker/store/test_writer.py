"""Appending: every row once, in order, whatever the disk does."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.notices import Notices
from expr_tracker.options import make_options
from expr_tracker.store import live_file
from expr_tracker.store import writer as writer_module
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import parts_of, sidecar_of, torn_of
from expr_tracker.store.lines import decode_line, encode_line
from expr_tracker.store.reader import part_paths, whole_rows
from expr_tracker.store.writer import LineWriter
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Disk:
    """The system call ``write``, with a disk that can be full, slow or worse.

    Attributes:
        room: bytes that still fit; ``None`` is no limit.
        seconds: what one write takes, on the test's clock.
        after: an error that comes although everything was written.
    """

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.room: int | None = None
        self.seconds = 0.0
        self.after: OSError | None = None
        self.calls = 0

    def write(self, fd: int, data: bytes) -> int:
        self.calls += 1
        self._clock.advance(self.seconds)
        if self.room is None:
            written = os.write(fd, data)
        elif self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        else:
            written = os.write(fd, data[: self.room])
            self.room -= written
        if self.after is not None:
            error, self.after = self.after, None
            raise error
        return written


class Desk:
    """A writer, its clock, its disk and its notices."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.clock = ManualClock()
        self.disk = Disk(self.clock)
        self.notices = Notices()
        self.lock = threading.RLock()
        self.writer = LineWriter(
            path,
            make_options(options),
            lock=self.lock,
            clock=self.clock,
            notices=self.notices,
            write=self.disk.write,
        )

    def put(self, *steps: int, text: str = "x") -> None:
        for step in steps:
            with self.lock:
                assert self.writer.append_row({"_step": step, "t": text}, step, True)

    def steps(self) -> list[int]:
        """Return the steps in the file, in file order."""
        return [row["_step"] for row in whole_rows(self.path) if "_step" in row]

    def said(self) -> str:
        """Return what was said since the last call."""
        texts = [text for _, text in self.writer._notices._queue]
        self.notices._queue.clear()
        return "\n".join(texts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


@pytest.fixture
def make(path: Path) -> Callable[..., Desk]:
    return lambda **options: Desk(path, **options)


LINE = len(encode_line({"_step": 0, "t": "x"}))


# -- durable at once ------------------------------------------------------------------------------------


def test_a_row_is_in_the_file_when_append_returns(make: Callable[..., Desk]) -> None:
    desk = make()
    for step in range(5):
        desk.put(step)
        assert desk.steps() == list(range(step + 1))
        assert desk.writer.index.size == desk.path.stat().st_size
    assert desk.writer.durability == "process"
    assert desk.writer.pending_lines() == []


def test_a_row_costs_one_write(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.put(*range(10))
    assert desk.disk.calls == 10


def test_fsync_reaches_the_disk_before_append_returns(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.fstat(fd).st_size))
    desk = make(durability="fsync")
    desk.put(1, 2)
    with desk.lock:
        desk.writer.append_line(b"{}\n")
    assert synced == [LINE, 2 * LINE, 2 * LINE + 3]
    assert desk.writer.durability == "fsync"


def test_a_failing_sync_is_the_trackers_trouble_not_the_callers(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fail)
    desk = make(durability="fsync")
    desk.put(1, 2)
    with desk.lock:
        desk.writer.append_line(b"{}\n")
    assert desk.steps() == [1, 2]
    assert "Input/output error" in desk.said()
    assert sum(desk.notices.counts("degraded").values()) >= 1


def test_a_row_over_the_limit_is_refused_counted_and_spares_the_others(
    make: Callable[..., Desk],
) -> None:
    desk = make(max_record_bytes=200)
    desk.put(1)
    with desk.lock:
        assert not desk.writer.append_row({"_step": 2, "t": "x" * 300}, 2, True)
        desk.writer.append_line(b"y" * 300 + b"\n")
    desk.put(3)
    assert desk.steps() == [1, 3]
    assert desk.notices.counts("refused") == {"rows over max_record_bytes": 2}
    assert "max_record_bytes" in desk.said()


# -- repair ----------------------------------------------------------------------------------------------


WHOLE = b'{"_step": 0}\n{"_step": 1}\n'


@pytest.mark.parametrize(
    ("tail", "kept"),
    [
        (b'{"_step": 2, "x', b'{"_step": 2, "x\n'),
        (b'{"_step": 2, "x": 1.5, "text": "a', b'{"_step": 2, "x": 1.5, "text": "a\n'),
        (b"\0" * 4096, None),
        (b'{"_st' + b"\0" * 100, b'{"_st\n'),
        (b"\xff\xfe", b"\xff\xfe\n"),
        (b"5", b"5\n"),
    ],
    ids=["cut row", "longer cut row", "zeros", "row and zeros", "no text", "no object"],
)
def test_a_torn_tail_is_cut_kept_aside_and_reported_before_the_next_row(
    path: Path, make: Callable[..., Desk], tail: bytes, kept: bytes | None
) -> None:
    path.write_bytes(WHOLE + tail)
    desk = make()
    said = desk.said()
    assert f"{len(tail)} bytes" in said
    desk.put(2)
    assert path.read_bytes() == WHOLE + encode_line({"_step": 2, "t": "x"})
    assert desk.writer.index.size == path.stat().st_size
    if kept is None:
        assert not torn_of(path).exists()
    else:
        assert torn_of(path).read_bytes() == kept


def test_a_last_row_that_only_lacks_its_end_is_completed(
    path: Path, make: Callable[..., Desk]
) -> None:
    path.write_bytes(WHOLE + b'{"_step": 2}')
    desk = make()
    desk.put(3)
    assert desk.steps() == [0, 1, 2, 3]
    assert desk.writer.index.rows == 4
    assert desk.said() == ""


def test_a_torn_block_of_any_size_is_cut_and_little_of_it_kept(
    path: Path, make: Callable[..., Desk]
) -> None:
    path.write_bytes(WHOLE + b"x" * (3 << 20))
    make()
    assert path.read_bytes() == WHOLE
    assert torn_of(path).stat().st_size == (1 << 20) + 1


@given(st.binary(max_size=60))
def test_no_tail_glues_to_the_next_row(
    tmp_path_factory: pytest.TempPathFactory, tail: bytes
) -> None:
    path = tmp_path_factory.mktemp("tails") / "metrics.jsonl"
    path.write_bytes(WHOLE + tail)
    whole = [row for row in map(decode_line, (WHOLE + tail).split(b"\n")) if row is not None]
    desk = Desk(path)
    desk.put(77)
    assert [row for row in whole_rows(path) if row.get("_step") == 77] == [{"_step": 77, "t": "x"}]
    assert path.read_bytes().endswith(b'\n{"_step":77,"t":"x"}\n')
    assert desk.writer.index.size == path.stat().st_size
    assert len(list(whole_rows(path))) >= len(whole)
    desk.writer.close({})


def test_the_newest_time_of_the_file_is_known(path: Path, make: Callable[..., Desk]) -> None:
    path.write_bytes(b'{"_step": 0, "_time": 5.0}\n{"_step": 1, "_time": 7.5}\nbad\n{"a": 1}\n')
    assert make().writer.index.last_time == 7.5


# -- a disk that fails -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fits", range(LINE + 1))
@pytest.mark.parametrize("kind", ["row", "line"])
def test_a_write_that_stops_anywhere_leaves_whole_rows_each_once_and_in_order(
    make: Callable[..., Desk], fits: int, kind: str
) -> None:
    desk = make()
    desk.put(0)
    desk.disk.room = fits
    if kind == "row":
        desk.put(1)
    else:
        with desk.lock:
            desk.writer.append_line(encode_line({"_step": 1, "t": "x"}), step=1)
    desk.put(2)
    assert desk.path.read_bytes().endswith(b"\n"), "no part of a row stays in the file"
    desk.disk.room = None
    assert desk.writer.flush()
    desk.put(3)
    assert desk.steps() == [0, 1, 2, 3]
    assert desk.writer.index.size == desk.path.stat().st_size
    assert desk.writer.index.rows == 4
    assert desk.writer.pending_bytes == 0


@pytest.mark.parametrize("fits", [1, LINE // 2, LINE - 2])
def test_a_part_of_a_row_that_cannot_be_cut_off_is_ended_and_the_row_comes_whole_behind_it(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch, fits: int
) -> None:
    desk = make()
    desk.put(0)
    desk.disk.room = fits

    def append_only(fd: int, size: int) -> None:
        desk.disk.room = None
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "ftruncate", append_only)
    desk.put(1)
    desk.put(2)
    assert desk.writer.flush()
    assert desk.steps() == [0, 1, 2]
    assert desk.writer.index.size == desk.path.stat().st_size
    assert desk.writer.index.unreadable == 1


def test_a_part_that_can_neither_be_cut_off_nor_ended_is_counted(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make()
    desk.put(0)
    desk.disk.room = 5

    def refuse(fd: int, size: int) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "ftruncate", refuse)
    desk.put(1)
    assert desk.notices.counts("degraded") == {"torn lines in metrics.jsonl": 1}
    monkeypatch.undo()
    desk.disk.room = None
    desk.writer.check_place()
    assert desk.writer.flush()
    assert desk.steps() == [0, 1]


@pytest.mark.parametrize("durability", ["process", "buffered"])
def test_a_system_that_writes_nothing_and_says_nothing_is_a_failure(
    path: Path, durability: str
) -> None:
    desk = Desk(path, durability=durability)
    desk.disk.write = lambda fd, data: 0  # type: ignore[method-assign]
    desk.writer._write = desk.disk.write
    desk.put(0, 1)
    assert not desk.writer.flush()
    assert desk.writer.failure == os.strerror(errno.EIO)
    assert len(desk.writer.pending_lines()) == 2
    desk.writer._write = os.write
    assert desk.writer.flush()
    assert desk.steps() == [0, 1]


@pytest.mark.parametrize("kind", ["row", "line", "flush"])
def test_a_write_that_fails_although_it_was_done_is_not_repeated(
    make: Callable[..., Desk], kind: str
) -> None:
    desk = make(**({"durability": "buffered", "buffer_interval": None} if kind == "flush" else {}))
    desk.put(0)
    desk.disk.after = OSError(errno.EIO, "late")
    if kind == "row":
        desk.put(1)
    elif kind == "line":
        with desk.lock:
            desk.writer.append_line(encode_line({"_step": 1, "t": "x"}), step=1)
    else:
        desk.put(1)
        desk.writer.flush()
    desk.put(2)
    assert desk.writer.flush()
    assert desk.steps() == [0, 1, 2]
    assert desk.writer.index.rows == 3
    assert desk.writer.pending_bytes == 0
    assert desk.writer.failure is None


def test_a_full_disk_is_said_once_and_every_row_arrives_in_order_when_there_is_room(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    desk.put(0)
    desk.disk.room = 0
    desk.put(*range(1, 50))
    assert desk.steps() == [0]
    assert desk.said().count("cannot be written") == 1
    assert desk.writer.failure == os.strerror(errno.ENOSPC)
    assert desk.writer.durability == "buffered"
    assert desk.disk.calls == 2, "a full disk is not asked for every row"
    desk.disk.room = None
    desk.clock.advance(1.0)
    desk.writer.flush_if_due()
    assert desk.steps() == list(range(50))
    assert desk.said().count("can be written again") == 1
    assert not desk.writer.failure
    desk.put(50)
    assert desk.steps()[-1] == 50
    assert desk.writer.durability == "process"


def test_a_full_disk_is_asked_once_a_second(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.disk.room = 0
    desk.put(0)
    calls = desk.disk.calls
    for _ in range(5):
        desk.writer.flush_if_due()
    assert desk.disk.calls == calls
    for turn in range(1, 4):
        desk.clock.advance(1.0)
        desk.writer.flush_if_due()
        desk.writer.flush_if_due()
        assert desk.disk.calls == calls + turn
    assert not desk.writer.flush(), "at once: also during the pause"
    assert desk.disk.calls == calls + 4


@given(st.lists(st.integers(0, 3 * LINE), max_size=12))
def test_whatever_room_the_disk_gives_rows_keep_their_order_and_come_once(
    tmp_path_factory: pytest.TempPathFactory, rooms: list[int]
) -> None:
    desk = Desk(tmp_path_factory.mktemp("room") / "metrics.jsonl")
    step = 0
    for room in rooms:
        desk.disk.room = room
        desk.put(step, step + 1)
        step += 2
        desk.clock.advance(1.0)
        desk.writer.flush_if_due()
        assert desk.steps() == list(range(len(desk.steps())))
        assert desk.writer.index.size == desk.path.stat().st_size
    desk.disk.room = None
    assert desk.writer.flush()
    assert desk.steps() == list(range(step))
    desk.writer.close({})


@pytest.mark.parametrize(
    ("option", "left"),
    [({"max_pending_records": 3}, 3), ({"max_pending_bytes": 4 * LINE}, 4)],
)
def test_beyond_the_limit_the_oldest_waiting_rows_are_dropped_and_counted(
    make: Callable[..., Desk], option: dict[str, int], left: int
) -> None:
    desk = make(**option)
    desk.put(0)
    desk.disk.room = 0
    desk.put(*range(1, 10))
    assert len(desk.writer.pending_lines()) == left
    assert desk.writer.pending_bytes == left * LINE
    assert desk.notices.counts("dropped") == {"rows that waited for metrics.jsonl": 9 - left}
    assert desk.said().count("oldest are dropped") == 1
    desk.disk.room = None
    desk.writer.flush()
    assert desk.steps() == [0, *range(10 - left, 10)]


def test_rows_that_the_file_never_takes_go_to_a_rescue_file(
    make: Callable[..., Desk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rescue = tmp_path / "rescue"
    rescue.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(rescue))
    desk = make()
    desk.put(0)
    desk.disk.room = 0
    desk.put(1, 2)
    assert desk.writer.close({}) == 2
    (kept,) = rescue.iterdir()
    assert [row["_step"] for row in whole_rows(kept)] == [1, 2]
    assert str(kept) in desk.said()
    assert desk.notices.counts("dropped") == {"rows not written to metrics.jsonl": 2}
    assert desk.steps() == [0]


def test_rows_that_not_even_the_rescue_file_takes_are_named_as_lost(
    make: Callable[..., Desk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    desk = make()
    desk.disk.room = 0
    desk.put(1)
    assert desk.writer.close({}) == 1
    assert "they are lost" in desk.said()


def test_nothing_is_lost_or_raised_when_there_is_nothing_to_rescue(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    desk.put(1)
    assert desk.writer.close({"name": "n"}) == 0
    assert desk.writer.close({"name": "n"}) == 0
    assert desk.said() == ""


def test_a_closed_writer_takes_nothing_and_says_so(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.put(0)
    desk.writer.close({})
    with desk.lock:
        assert not desk.writer.append_row({"_step": 1}, 1, True)
        desk.writer.append_line(b"{}\n")
    assert desk.writer.pending_lines() == []
    assert sum(desk.notices.counts("dropped").values()) == 2
    assert desk.steps() == [0]
    assert desk.writer.flush()


# -- buffering -------------------------------------------------------------------------------------------


def test_buffered_rows_are_written_together_at_the_buffer_size(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_size=5)
    desk.put(0)
    assert desk.steps() == [0], "the first row is written at once"
    desk.put(1, 2, 3, 4)
    assert desk.steps() == [0]
    assert len(desk.writer.pending_lines()) == 4
    desk.put(5)
    assert desk.steps() == [0, 1, 2, 3, 4, 5]
    assert desk.disk.calls == 2
    assert desk.writer.durability == "buffered"


def test_a_row_after_a_gap_is_written_at_once(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_interval=1.0)
    desk.put(0)
    desk.clock.advance(0.5)
    desk.put(1)
    assert desk.steps() == [0]
    desk.clock.advance(1.0)
    desk.put(2)
    assert desk.steps() == [0, 1, 2]


def test_without_size_and_interval_only_age_writes(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_size=None, buffer_interval=None)
    desk.put(0)
    desk.clock.advance(100.0)
    desk.put(*range(1, 60))
    assert desk.steps() == [0]
    desk.clock.advance(4.9)
    desk.writer.flush_if_due()
    assert desk.steps() == [0]
    desk.clock.advance(0.2)
    desk.writer.flush_if_due()
    assert desk.steps() == list(range(60))


def test_the_age_is_that_of_the_oldest_waiting_row(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_interval=None)
    desk.put(0)
    desk.clock.advance(4.0)
    desk.put(1)
    desk.clock.advance(4.0)
    desk.put(2)
    desk.writer.flush_if_due()
    assert desk.steps() == [0]
    desk.clock.advance(1.0)
    desk.writer.flush_if_due()
    assert desk.steps() == [0, 1, 2]


def test_without_an_age_limit_rows_wait_until_a_flush(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_interval=None, max_buffer_seconds=None)
    desk.put(0, 1)
    desk.clock.advance(1e6)
    desk.writer.flush_if_due()
    assert desk.steps() == [0]
    desk.writer.flush()
    assert desk.steps() == [0, 1]


@pytest.mark.parametrize("option", [{"max_pending_records": 2}, {"max_pending_bytes": 2 * LINE}])
def test_a_healthy_writer_at_its_limit_writes_on_the_caller_and_drops_nothing(
    make: Callable[..., Desk], option: dict[str, int]
) -> None:
    desk = make(durability="buffered", buffer_size=None, buffer_interval=None, **option)
    desk.put(*range(20))
    assert len(desk.writer.pending_lines()) <= 2
    assert desk.notices.counts("dropped") == {}
    desk.writer.close({})
    assert desk.steps() == list(range(20))


def test_a_slow_file_system_turns_buffering_on_by_itself_and_a_quick_one_off_again(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    desk.disk.seconds = 0.002
    desk.put(*range(32))
    assert desk.writer.durability == "process"
    desk.put(32)
    assert desk.writer.durability == "buffered"
    assert desk.said().count("rows are now buffered") == 1
    calls = desk.disk.calls
    desk.put(*range(33, 200))
    assert desk.disk.calls == calls, "the caller pays nothing"
    desk.writer.flush_if_due()
    assert desk.steps() == list(range(200))
    desk.disk.seconds = 0.0001
    step = 200
    while desk.writer.durability == "buffered":
        desk.put(step)
        step += 1
        desk.writer.flush_if_due()
        assert step < 300
    assert step - 200 == 33, "more than half of the last 64 flushes"
    assert desk.said().count("durable at once") == 1
    desk.put(step)
    assert desk.steps() == list(range(step + 1))


def test_a_few_slow_writes_change_nothing(make: Callable[..., Desk]) -> None:
    desk = make()
    for step in range(300):
        desk.disk.seconds = 0.01 if step % 3 == 0 else 0.0
        desk.put(step)
    assert desk.writer.durability == "process"


@pytest.mark.parametrize("durability", ["process", "fsync"])
def test_a_durability_that_was_asked_for_is_kept_on_a_slow_file_system(
    make: Callable[..., Desk], durability: str
) -> None:
    desk = make(durability=durability)
    desk.disk.seconds = 0.05
    desk.put(*range(200))
    assert desk.writer.durability == durability
    assert desk.steps() == list(range(200))


def test_a_slow_writer_at_its_limit_writes_and_later_rows_are_direct_again(
    make: Callable[..., Desk],
) -> None:
    desk = make(max_pending_records=10)
    desk.disk.seconds = 0.002
    desk.put(*range(33))
    desk.disk.seconds = 0.0
    desk.put(*range(33, 33 + 64 * 11))
    assert desk.notices.counts("dropped") == {}
    assert desk.writer.durability == "process"
    calls = desk.disk.calls
    desk.put(5000)
    assert desk.disk.calls == calls + 1
    assert desk.steps()[-1] == 5000


# -- rotation --------------------------------------------------------------------------------------------


def test_the_old_part_is_set_aside_and_the_live_file_keeps_its_name(
    make: Callable[..., Desk],
) -> None:
    desk = make(max_file_bytes=3 * LINE)
    desk.put(*range(9))
    before, after = part_paths(desk.path)
    assert [part.name for part in before] == ["000001.jsonl", "000002.jsonl"]
    assert after == []
    assert [part.stat().st_size for part in [*before, desk.path]] == [3 * LINE] * 3
    assert desk.steps() == list(range(9))
    assert desk.writer.index.size == 9 * LINE


def test_a_row_larger_than_a_part_has_one_of_its_own(make: Callable[..., Desk]) -> None:
    desk = make(max_file_bytes=3 * LINE)
    desk.put(0)
    desk.put(1, text="y" * 200)
    desk.put(2)
    before, _ = part_paths(desk.path)
    assert [[row["_step"] for row in whole_rows(part)] for part in before] == [[0], [1]]
    assert desk.steps() == [0, 1, 2]


def test_rotation_goes_on_behind_existing_parts(make: Callable[..., Desk]) -> None:
    first = make(max_file_bytes=2 * LINE)
    first.put(*range(5))
    first.writer.close({})
    second = make(max_file_bytes=2 * LINE)
    assert second.writer.index.rows == 5
    second.put(5, 6, 7)
    second.writer.close({})
    third = make()
    third.put(*range(8, 20))
    assert third.steps() == list(range(20))
    assert len(part_paths(third.path)[0]) == 3


def test_a_buffered_writer_rotates_too(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_size=2, max_file_bytes=4 * LINE)
    desk.put(*range(20))
    desk.writer.close({})
    assert desk.steps() == list(range(20))
    before, _ = part_paths(desk.path)
    assert len(before) >= 2
    assert all(part.stat().st_size <= 4 * LINE for part in before)


def test_a_part_that_cannot_be_set_aside_grows_on_with_one_warning(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make(max_file_bytes=2 * LINE)

    def refuse(path: Path) -> int:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(live_file, "set_part_aside", refuse)
    desk.put(*range(10))
    assert desk.steps() == list(range(10))
    assert desk.said().count("could not be set aside") == 1
    assert not parts_of(desk.path).exists()


def test_following_parts_of_older_programs_become_ours(
    path: Path, make: Callable[..., Desk]
) -> None:
    path.write_bytes(b'{"_step": 0}\n')
    parts_of(path).mkdir()
    (parts_of(path) / "00000001.jsonl").write_bytes(b'{"_step": 1}\n')
    (parts_of(path) / "00000002.jsonl").write_bytes(b'{"_step": 2}\n{"_st')
    desk = make()
    desk.put(3)
    assert desk.steps() == [0, 1, 2, 3]
    before, after = part_paths(path)
    assert [part.name for part in before] == ["000001.jsonl", "000002.jsonl"]
    assert after == []


# -- the file's place --------------------------------------------------------------------------------------


def test_a_removed_file_is_put_back_with_all_its_rows(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.put(0, 1)
    desk.path.unlink()
    desk.put(2)
    desk.writer.check_place()
    assert desk.steps() == [0, 1, 2]
    assert "put back" in desk.said()
    desk.put(3)
    assert desk.steps() == [0, 1, 2, 3]
    desk.writer.check_place()
    assert desk.said() == ""


def test_a_removed_folder_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "p" / "n"
    folder.mkdir(parents=True)
    desk = Desk(folder / "metrics.jsonl")
    desk.put(0, 1)
    shutil.rmtree(tmp_path / "p")
    desk.put(2)
    desk.writer.close({})
    assert desk.steps() == [0, 1, 2]


def test_a_moved_file_is_found_again_at_its_place(
    make: Callable[..., Desk], tmp_path: Path
) -> None:
    desk = make()
    desk.put(0, 1)
    desk.path.rename(tmp_path / "elsewhere.jsonl")
    desk.put(2)
    desk.writer.check_place()
    desk.put(3)
    assert desk.steps() == [0, 1, 2, 3]


def test_a_replaced_file_keeps_what_replaced_it_and_gets_what_came_since(
    make: Callable[..., Desk], tmp_path: Path
) -> None:
    desk = make()
    desk.put(0, 1)
    desk.writer.check_place()
    edited = tmp_path / "edited"
    edited.write_bytes(encode_line({"_step": 100}))
    edited.replace(desk.path)
    desk.put(2)
    desk.writer.check_place()
    desk.put(3)
    assert desk.steps() == [100, 2, 3]
    assert desk.writer.index.size == desk.path.stat().st_size


def test_what_comes_since_is_not_glued_to_a_replacement_without_a_last_line_end(
    make: Callable[..., Desk], tmp_path: Path
) -> None:
    desk = make()
    desk.put(0)
    desk.writer.check_place()
    edited = tmp_path / "edited"
    edited.write_bytes(b'{"_step": 100}')
    edited.replace(desk.path)
    desk.put(1)
    desk.writer.check_place()
    assert desk.steps() == [100, 1]


@pytest.mark.parametrize("left", [0, LINE, LINE + 5])
def test_a_truncated_file_is_noticed_and_later_rows_are_whole(
    make: Callable[..., Desk], left: int
) -> None:
    desk = make()
    desk.put(0, 1, 2)
    os.truncate(desk.path, left)
    desk.writer.check_place()
    assert "changed by another program" in desk.said()
    desk.put(3)
    assert desk.steps() == [*range(left // LINE), 3]
    assert desk.writer.index.size == desk.path.stat().st_size


@pytest.mark.parametrize("durability", ["process", "buffered"])
@pytest.mark.parametrize("foreign", [b'{"_step": 50}\n', b"garbage\n", b"torn"])
def test_rows_of_another_program_cost_none_of_ours(
    make: Callable[..., Desk], durability: str, foreign: bytes
) -> None:
    desk = make(durability=durability, buffer_interval=None)
    desk.put(0, 1)
    with desk.path.open("ab") as file:
        file.write(foreign)
    desk.put(2, 3)
    desk.writer.flush()
    desk.writer.check_place()
    desk.put(4)
    desk.writer.close({})
    ours = [step for step in desk.steps() if step != 50]
    if foreign == b"torn":  # without its line end it takes the row behind it along
        assert len(ours) >= 4
    else:
        assert ours == list(range(5))
    assert ours == sorted(set(ours))
    assert desk.writer.index.size == desk.path.stat().st_size


@pytest.mark.parametrize("left", [0, LINE, LINE + 5])
def test_buffered_rows_are_written_once_when_the_file_was_cut_meanwhile(
    make: Callable[..., Desk], left: int
) -> None:
    desk = make(durability="buffered", buffer_interval=None)
    desk.put(*range(10))
    desk.writer.flush()
    desk.put(*range(10, 20))
    os.truncate(desk.path, left)
    assert desk.writer.flush()
    desk.writer.check_place()
    desk.writer.close({})
    steps = desk.steps()
    assert len(set(steps)) == len(steps)
    assert set(range(11, 20)) <= set(steps)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_cannot_be_put_back_yet_is_put_back_later_with_every_row(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch, is_replaced: bool
) -> None:
    desk = make()
    desk.put(0)
    desk.writer.check_place()
    desk.put(1, 2)
    desk.path.unlink()
    real = os.write

    def full(fd: int, data: bytes) -> int:
        if len(data) > 10:
            return real(fd, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        desk.writer.check_place()
        if is_replaced:
            desk.path.write_bytes(encode_line({"_step": 100}))
        desk.writer.check_place()
    desk.put(3)
    desk.writer.check_place()
    desk.writer.flush()
    assert desk.steps() == ([100, 1, 2, 3] if is_replaced else [0, 1, 2, 3])
    assert sorted(os.listdir(desk.path.parent)) == ["metrics.jsonl"]


def test_a_file_that_cannot_be_read_again_raises_nowhere(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make()
    desk.put(0)

    class NoDescriptor:
        def __init__(self, path: Path) -> None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(writer_module, "LineFile", NoDescriptor)
    desk.path.unlink()
    desk.put(1)
    desk.writer.check_place()
    desk.writer.close({})
    monkeypatch.undo()
    assert desk.steps() == [0, 1]


# -- the end -----------------------------------------------------------------------------------------------


def test_close_leaves_a_sidecar_that_covers_the_file(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.put(*range(5))
    desk.writer.close({"project": "p", "name": "n"})
    document = read_document(sidecar_of(desk.path))
    assert document is not None
    assert (document["size"], document["rows"]) == (desk.path.stat().st_size, 5)
    assert document["run"] == {"project": "p", "name": "n"}


def test_a_sidecar_that_cannot_be_written_is_counted(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(writer_module, "save_index", refuse)
    desk = make()
    desk.put(0)
    desk.writer.close({})
    assert desk.notices.counts("degraded") == {"index files that could not be written": 1}


def test_an_abandoned_writer_touches_no_lock_and_writes_nothing(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_interval=None)
    desk.put(0, 1)
    size = desk.path.stat().st_size
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with desk.lock, desk.writer._io:
            is_held.set()
            may_go.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(30)
    desk.writer.abandon_in_child()
    desk.writer.abandon_in_child()
    may_go.set()
    thread.join()
    assert desk.path.stat().st_size == size


def test_close_does_not_wait_for_a_hanging_write_and_rescues_what_waits(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rescue = tmp_path / "rescue"
    rescue.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(rescue))
    desk = Desk(path, durability="buffered", buffer_interval=None, finish_timeout=0.05)
    desk.put(0, 1, 2)
    is_in, may_go = threading.Event(), threading.Event()

    def hang(fd: int, data: bytes) -> int:
        is_in.set()
        may_go.wait(30)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    desk.writer._write = hang
    thread = threading.Thread(target=desk.writer.flush)
    thread.start()
    assert is_in.wait(30)
    assert desk.writer.close({}) == 2
    (kept,) = rescue.iterdir()
    assert [row["_step"] for row in whole_rows(kept)] == [1, 2]
    may_go.set()
    thread.join()


def test_many_threads_and_a_flusher_keep_every_row_once(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_size=7, buffer_interval=None)
    is_done = threading.Event()

    def put(first: int) -> None:
        for step in range(first, first + 300):
            with desk.lock:
                desk.writer.append_row({"_step": step}, step, True)

    def flush() -> None:
        while not is_done.is_set():
            desk.writer.flush()
            desk.writer.check_place()

    threads = [threading.Thread(target=put, args=(first,)) for first in (0, 1000, 2000)]
    flusher = threading.Thread(target=flush)
    flusher.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    is_done.set()
    flusher.join()
    desk.writer.close({})
    steps = desk.steps()
    assert sorted(steps) == sorted([*range(300), *range(1000, 1300), *range(2000, 2300)])
    for first in (0, 1000, 2000):
        own = [step for step in steps if first <= step < first + 1000]
        assert own == sorted(own)
