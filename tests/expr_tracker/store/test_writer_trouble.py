"""A disk that fails: rows wait, none twice, and what never fits is rescued."""

from __future__ import annotations

import errno
import os
import shlex
import tempfile
import threading
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.cli import main
from expr_tracker.history import read_history
from expr_tracker.store.lines import encode_line
from expr_tracker.store.markers import begin_marker, end_marker
from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.expr_tracker.store.conftest import Desk

LINE = len(encode_line({"_step": 0, "t": "x"}))


# -- a disk that fails --------------------------------------------------------------------------------


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


class Watched:
    """A lock that looks at the writer each time it is let go: what another thread could see."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._lock = threading.RLock()
        self._look = look

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._look()
        self._lock.release()


def test_who_sees_that_nothing_waits_sees_no_failure_either(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.disk.room = 0
    desk.put(0, 1)
    seen: list[tuple[int, str, str | None]] = []

    def look() -> None:
        writer = desk.writer
        seen.append((writer.pending_bytes, writer.durability, writer.failure))

    desk.writer._lock = Watched(look)  # type: ignore[assignment]
    desk.disk.room = None
    assert desk.writer.flush()
    assert {pending > 0 for pending, _, _ in seen} == {True, False}
    for pending, durability, failure in seen:
        assert (durability == "buffered") == (pending > 0)
        assert (failure is not None) == (pending > 0)


@pytest.mark.parametrize("durability", ["process", "buffered"])
def test_a_system_that_writes_nothing_and_says_nothing_is_a_failure(
    desk_at: Callable[..., Desk], path: Path, durability: str
) -> None:
    desk = desk_at(path, durability=durability)
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
    desk_at: Callable[..., Desk], tmp_path_factory: pytest.TempPathFactory, rooms: list[int]
) -> None:
    desk = desk_at(tmp_path_factory.mktemp("room") / "metrics.jsonl")
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


def test_a_marker_neither_is_dropped_nor_pushes_a_row_out(make: Callable[..., Desk]) -> None:
    desk = make(max_pending_records=3)
    desk.put(0)
    desk.disk.room = 0
    beginning = begin_marker(2, from_step=1, time=0.0, pid=1)
    desk.writer.append_line(encode_line(beginning), marker=beginning)
    desk.put(*range(1, 10))
    assert desk.notices.counts("dropped") == {"rows that waited for metrics.jsonl": 7}
    end = end_marker(2, "succeeded", time=0.0)
    desk.writer.append_line(encode_line(end), marker=end)
    assert desk.notices.counts("dropped") == {"rows that waited for metrics.jsonl": 7}
    desk.disk.room = None
    desk.writer.flush()
    assert desk.steps() == [0, 8, 9]
    _, first, *_, last = desk.path.read_bytes().splitlines(keepends=True)
    assert (first, last) == (encode_line(beginning), encode_line(end))


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
    first, *rows = whole_rows(kept)
    said = {"file": str(desk.path), "size": desk.path.stat().st_size}
    assert first == {"_rescued": {**said, "attempt": 1, "began": None, "pid": None}}
    assert [row["_step"] for row in rows] == [1, 2]
    assert str(kept) in desk.said()
    assert desk.notices.counts("rescued") == {str(kept): 2}
    assert desk.notices.counts("dropped") == {}
    assert desk.steps() == [0]


def test_the_message_of_rescued_rows_is_the_command_that_puts_them_back(
    make: Callable[..., Desk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rescue = tmp_path / "rescue"
    rescue.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(rescue))
    (tmp_path / "run.json").write_bytes(encode_line({"id": "1"}))
    desk = make()
    desk.put(0)
    desk.disk.room = 0
    desk.put(1, 2)
    desk.writer.close({})
    command = shlex.split(desk.said().rpartition(": ")[2])
    assert command[:2] == ["et", "rescue"]
    marker = encode_line(begin_marker(2, from_step=1, time=0.0, pid=1))
    newer = encode_line({"_step": 1, "_time": 9.0, "t": "newer"})
    desk.path.write_bytes(desk.path.read_bytes() + marker + newer)
    assert CliRunner().invoke(main, command[1:]).exit_code == 0
    assert [(row["_step"], row["t"]) for row in read_history(desk.path)] == [
        (0, "x"),
        (1, "newer"),
    ]
    assert desk.steps() == [0, 1, 2, 1]


def test_a_marker_in_the_rescue_file_is_not_counted_as_a_row(
    make: Callable[..., Desk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    desk = make()
    desk.disk.room = 0
    desk.put(1, 2)
    marker = end_marker(1, "succeeded", time=0.0)
    desk.writer.append_line(encode_line(marker), marker=marker)
    assert desk.writer.close({}) == 2
    (kept,) = tmp_path.glob("expr-tracker-*.jsonl")
    assert len(kept.read_bytes().splitlines()) == 1 + 3  # the first says where they belong
    assert sum(desk.notices.counts("rescued").values()) == 2
    assert "2 rows could not be written" in desk.said()


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
        assert not desk.writer.append_row({"_step": 1}, 1)
        desk.writer.append_line(b"{}\n")
    assert desk.writer.pending_lines() == []
    assert sum(desk.notices.counts("dropped").values()) == 2
    assert desk.steps() == [0]
    assert desk.writer.flush()
