"""A writer whose descriptor the program closed, and may have given to another file."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from expr_tracker.store.descriptor import identity_of
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.expr_tracker.store.conftest import Desk

LINE = len(encode_line({"_step": 0, "t": "x"}))
CONTENT = b"a checkpoint\n"


class Stranger:
    """A file of the program that has got a descriptor's number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.write_bytes(CONTENT)
        self.fd = os.open(path, os.O_RDWR | os.O_APPEND)

    def take(self, fd: int) -> None:
        """Get that number, as an ``open`` behind a ``close`` of it does."""
        os.dup2(self.fd, fd)
        os.close(self.fd)
        self.fd = fd

    @property
    def is_open(self) -> bool:
        identity = identity_of(self.fd)
        return identity is not None and identity.inode == self.path.stat().st_ino

    @property
    def is_untouched(self) -> bool:
        return self.is_open and self.path.read_bytes() == CONTENT


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Stranger]:
    stranger = Stranger(tmp_path / "checkpoint.pt")
    yield stranger
    if stranger.is_open:
        os.close(stranger.fd)


def lost(desk: Desk) -> dict[str, int]:
    return desk.notices.counts("dropped")


# -- closed only --------------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", [None, "process", "fsync", "buffered"])
def test_a_closed_descriptor_loses_no_row_and_is_said_once(
    make: Callable[..., Desk], durability: str | None
) -> None:
    desk = make(durability=durability)
    desk.put(0, 1)
    for step in (2, 4):
        os.close(desk.writer.file.fd)
        desk.put(step, step + 1)
        desk.writer.flush()
    assert desk.writer.close({}) == 0
    assert desk.steps() == [0, 1, 2, 3, 4, 5]
    assert desk.writer.index.rows == 6
    assert lost(desk) == {}
    assert desk.said().count("closed the descriptor") == 1
    assert desk.notices.counts("degraded") == {"descriptors of metrics.jsonl that were closed": 2}


def test_a_descriptor_that_is_closed_while_nothing_is_logged_is_replaced_by_the_next_look(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    desk.put(0)
    os.close(desk.writer.file.fd)
    desk.writer.check_place()
    assert desk.writer.failure is None
    desk.put(1)
    assert desk.steps() == [0, 1]


def test_close_does_not_raise_for_a_descriptor_that_is_gone(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_interval=None)
    desk.put(0, 1)
    os.close(desk.writer.file.fd)
    assert desk.writer.close({}) == 0
    assert desk.steps() == [0, 1]


def test_where_the_file_cannot_be_opened_again_rows_wait_until_it_can(
    make: Callable[..., Desk], stranger: Stranger
) -> None:
    desk = make()
    desk.put(0)
    home = desk.path.with_name("away")
    desk.path.rename(home)
    desk.path.mkdir()  # in the way
    stranger.take(desk.writer.file.fd)
    desk.writer.reopen_if_closed()
    desk.put(1, 2)
    assert desk.writer.pending_bytes == 2 * LINE
    assert stranger.is_untouched
    desk.path.rmdir()
    home.rename(desk.path)
    desk.clock.advance(2)
    desk.writer.flush_if_due()
    assert desk.steps() == [0, 1, 2]
    assert stranger.is_untouched


def test_a_descriptor_that_is_closed_and_a_directory_that_is_removed_go_on_with_what_comes(
    tmp_path: Path, desk_at: type[Desk]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    desk = desk_at(folder / "metrics.jsonl")
    desk.put(0)
    os.close(desk.writer.file.fd)
    shutil.rmtree(folder)
    desk.put(1)
    desk.writer.check_place()
    desk.put(2)
    desk.writer.check_place()
    assert desk.steps() == [1, 2]
    assert desk.writer.index.rows == 2
    assert "has lost" in desk.said()


# -- another file's -----------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", ["rows", "spans", "other"])
def test_what_went_into_another_file_is_noticed_counted_and_named(
    path: Path, desk_at: type[Desk], stranger: Stranger, subject: str
) -> None:
    desk = desk_at(path, subject=subject)  # type: ignore[arg-type]

    def put(*steps: int) -> None:
        for step in steps:
            if subject == "rows":
                desk.put(step)
            else:
                with desk.lock:
                    desk.writer.append_line(encode_line({"_step": step, "t": "x"}))

    put(0, 1)
    stranger.take(desk.writer.file.fd)
    put(2, 3, 4)
    desk.writer.check_place()
    put(5)
    desk.writer.check_place()
    assert desk.writer.close({}) == 0
    assert desk.steps() == [0, 1, 5]
    assert desk.writer.index.size == path.stat().st_size == 3 * LINE
    kind = {"rows": ("rows", 3), "spans": ("lines", 3), "other": ("pieces", 1)}[subject]
    assert lost(desk) == {f"{kind[0]} of metrics.jsonl written into another file": kind[1]}
    said = desk.said()
    assert str(stranger.path) in said or "whatever had its number" in said
    assert f"lacks {3 * LINE} bytes" in said
    assert stranger.path.read_bytes() == CONTENT + b"".join(
        encode_line({"_step": step, "t": "x"}) for step in (2, 3, 4)
    ), "nothing was written there behind the look, and nothing of it was touched"
    assert stranger.is_open


def test_rows_that_are_logged_between_the_look_and_the_reading_are_not_counted_as_lost(
    make: Callable[..., Desk], stranger: Stranger
) -> None:
    desk = make()
    desk.put(0, 1)
    stranger.take(desk.writer.file.fd)
    desk.put(2, 3, 4)
    assert desk.writer.reopen_if_closed()
    desk.put(5, 6)
    desk.writer.check_place()
    assert sum(lost(desk).values()) == 3
    assert desk.writer.index.rows == 4
    assert desk.steps() == [0, 1, 5, 6]


def test_the_end_of_a_writer_touches_nothing_of_the_file_that_has_its_number(
    make: Callable[..., Desk], stranger: Stranger
) -> None:
    desk = make(durability="buffered", buffer_interval=None)
    desk.put(0, 1)
    desk.writer.flush()
    desk.put(2)
    stranger.take(desk.writer.file.fd)
    desk.writer.close({})
    assert desk.steps() == [0, 1, 2]
    assert stranger.is_untouched
    desk.writer.abandon_in_child()
    assert stranger.is_untouched


def test_a_flush_looks_first(make: Callable[..., Desk], stranger: Stranger) -> None:
    desk = make(durability="buffered", buffer_size=None, buffer_interval=None)
    desk.put(0)
    desk.writer.flush()
    stranger.take(desk.writer.file.fd)
    desk.put(1, 2)
    desk.writer.flush()
    assert desk.steps() == [0, 1, 2]
    assert stranger.is_untouched


def test_a_disk_that_is_full_again_has_room_in_our_file_not_in_the_other(
    make: Callable[..., Desk], stranger: Stranger
) -> None:
    desk = make()
    desk.put(0)
    desk.disk.room = 0
    desk.put(1, 2)
    stranger.take(desk.writer.file.fd)
    desk.disk.room = None
    desk.clock.advance(2)
    desk.writer.flush_if_due()
    assert desk.steps() == [0, 1, 2]
    assert desk.writer.failure is None
    assert stranger.is_untouched


def test_a_write_that_failed_is_not_judged_by_the_size_of_another_file(
    make: Callable[..., Desk], stranger: Stranger
) -> None:
    desk = make()
    desk.put(0)
    stranger.path.write_bytes(CONTENT * 1000)
    stranger.take(desk.writer.file.fd)
    desk.disk.room = 0
    desk.put(1)
    desk.disk.room = None
    desk.writer.flush()
    assert desk.steps() == [0, 1]
    assert stranger.path.read_bytes() == CONTENT * 1000, "and nothing was cut off there"


def test_a_part_of_a_line_is_not_cut_off_another_file(
    make: Callable[..., Desk], stranger: Stranger
) -> None:
    desk = make()
    desk.put(0)
    desk.disk.room = 5
    wrote = desk.disk.write

    def write(fd: int, data: bytes) -> int:
        written = wrote(fd, data)
        stranger.take(fd)
        desk.writer._write = wrote
        return written

    desk.writer._write = write
    desk.put(1)
    desk.disk.room = None
    desk.writer.flush()
    desk.writer.check_place()
    assert desk.steps() == [0, 1]
    assert stranger.is_untouched


def test_a_file_that_is_removed_is_not_made_again_from_another_one(
    make: Callable[..., Desk], stranger: Stranger
) -> None:
    desk = make()
    desk.put(0)
    desk.path.unlink()
    stranger.take(desk.writer.file.fd)
    desk.writer.check_place()
    desk.put(1)
    assert desk.steps() == [1]
    assert stranger.is_untouched


def test_a_file_that_is_replaced_gets_nothing_of_another_one(
    make: Callable[..., Desk], stranger: Stranger
) -> None:
    desk = make()
    desk.put(0, 1)
    other = desk.path.with_name("edited")
    other.write_bytes(encode_line({"_step": 0, "t": "x"}))
    other.rename(desk.path)
    stranger.take(desk.writer.file.fd)
    desk.writer.check_place()
    desk.put(2)
    assert desk.steps() == [0, 2]
    assert stranger.is_untouched


def test_rotation_closes_nobody_elses_file(make: Callable[..., Desk], stranger: Stranger) -> None:
    desk = make(max_file_bytes=3 * LINE)
    desk.put(0, 1)
    stranger.take(desk.writer.file.fd)
    desk.put(2, 3, 4)
    desk.writer.check_place()
    desk.put(5, 6)
    assert stranger.is_open
    assert desk.writer.close({}) == 0
    assert desk.steps()[:2] == [0, 1]
    assert desk.steps()[-2:] == [5, 6]
    assert len(desk.steps()) + sum(lost(desk).values()) == 7


def test_a_descriptor_that_cannot_be_made_again_at_the_end_has_its_rows_rescued(
    make: Callable[..., Desk], stranger: Stranger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    desk = make()
    desk.put(0)
    desk.disk.room = 0
    desk.put(1, 2)
    stranger.take(desk.writer.file.fd)
    desk.path.unlink()
    desk.path.mkdir()
    assert desk.writer.close({}) == 2
    rescued = desk.notices.counts("rescued")
    assert list(rescued.values()) == [2]
    assert stranger.is_untouched


def test_an_error_of_the_descriptor_other_than_being_gone_is_a_failure_as_before(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    desk.put(0)
    desk.disk.after = OSError(errno.EIO, os.strerror(errno.EIO))
    desk.put(1)
    assert desk.writer.failure == os.strerror(errno.EIO)
    desk.writer.flush()
    assert desk.steps() == [0, 1]
