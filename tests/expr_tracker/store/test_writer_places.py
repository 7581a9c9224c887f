"""The file that is appended to: repaired, set aside, and put back where it was."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.store import live_file
from expr_tracker.store import place as place_module
from expr_tracker.store import place_watch as place_watch_module
from expr_tracker.store.files import parts_of, sidecar_of, torn_of
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.lines import decode_line, encode_line
from expr_tracker.store.place import Copy, open_for_append
from expr_tracker.store.reader import LineFile, part_paths, whole_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.expr_tracker.store.conftest import Desk

    from expr_tracker.store.parts import Part

LINE = len(encode_line({"_step": 0, "t": "x"}))


# -- repair -------------------------------------------------------------------------------------------


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
    assert f"{len(tail)} byte" in said
    desk.put(2)
    assert path.read_bytes() == WHOLE + encode_line({"_step": 2, "t": "x"})
    assert desk.writer.index.size == path.stat().st_size
    if kept is None:
        assert not torn_of(path).exists()
    else:
        assert torn_of(path).read_bytes() == kept


@pytest.mark.parametrize(
    ("place", "text"),
    [("pipe", "no regular file; move it away"), ("link", "a symbolic link; move it away")],
)
def test_a_torn_tail_is_kept_in_no_pipe_and_behind_no_link(
    path: Path, make: Callable[..., Desk], tmp_path: Path, place: str, text: str
) -> None:
    path.write_bytes(WHOLE + b"torn")
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"theirs")
    if place == "pipe":
        os.mkfifo(torn_of(path))
    else:
        torn_of(path).symlink_to(theirs)
    with pytest.raises(OSError, match=rf"{text}.*metrics\.torn"):
        make()
    assert path.read_bytes() == WHOLE + b"torn"
    assert theirs.read_bytes() == b"theirs"


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
    desk_at: Callable[..., Desk], tmp_path_factory: pytest.TempPathFactory, tail: bytes
) -> None:
    path = tmp_path_factory.mktemp("tails") / "metrics.jsonl"
    path.write_bytes(WHOLE + tail)
    whole = [row for row in map(decode_line, (WHOLE + tail).split(b"\n")) if row is not None]
    desk = desk_at(path)
    desk.put(77)
    assert [row for row in whole_rows(path) if row.get("_step") == 77] == [{"_step": 77, "t": "x"}]
    assert path.read_bytes().endswith(b'\n{"_step":77,"t":"x"}\n')
    assert desk.writer.index.size == path.stat().st_size
    assert len(list(whole_rows(path))) >= len(whole)
    desk.writer.close({})


def test_the_newest_time_of_the_file_is_known(path: Path, make: Callable[..., Desk]) -> None:
    path.write_bytes(b'{"_step": 0, "_time": 5.0}\n{"_step": 1, "_time": 7.5}\nbad\n{"a": 1}\n')
    assert make().writer.index.last_time == 7.5


# -- rotation -----------------------------------------------------------------------------------------


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

    def refuse(path: Path, known: list[Part]) -> int:
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


# -- the file's place ---------------------------------------------------------------------------------


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


def test_a_removed_folder_is_made_again(desk_at: Callable[..., Desk], tmp_path: Path) -> None:
    folder = tmp_path / "p" / "n"
    folder.mkdir(parents=True)
    desk = desk_at(folder / "metrics.jsonl")
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
    said = desk.said()
    assert "changed by another program" in said
    assert f"it has lost {3 * LINE - left} bytes" in said
    desk.put(3)
    assert desk.steps() == [*range(left // LINE), 3]
    assert desk.writer.index.size == desk.path.stat().st_size


def test_a_program_that_writes_on_is_said_once_and_counted_every_time(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    for step in (0, 1, 2):
        desk.put(step)
        with desk.path.open("ab") as file:
            file.write(b'{"_step": 50}\n')
        desk.writer.check_place()
    os.truncate(desk.path, LINE)
    desk.writer.check_place()
    assert desk.said().count("changed by another program") == 2
    assert sum(desk.notices.counts("degraded").values()) == 4


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


def test_a_file_that_grew_has_lost_nothing_and_nothing_else_is_said(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    desk.put(0, 1)
    with desk.path.open("ab") as file:
        file.write(b'{"_step": 50}\n')
    desk.writer.check_place()
    said = desk.said()
    assert "14 bytes that this run did not write" in said
    assert "gone" not in said
    assert desk.writer.index.max_step == 50
    desk.writer.check_place()
    assert desk.said() == ""


class HeldReading:
    """A reading of a changed file that waits until it may go on.

    Attributes:
        is_in: the file is being read.
        may_go: what the reading waits for.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_in, self.may_go = threading.Event(), threading.Event()
        read_on = place_module.read_on

        def held(path: Path, index: StreamIndex, *, is_indexed: bool) -> None:
            read_on(path, index, is_indexed=is_indexed)
            self.is_in.set()
            assert self.may_go.wait(30)

        monkeypatch.setattr(place_watch_module, "read_on", held)

    def check(self, desk: Desk) -> threading.Thread:
        """Let another thread check the place; return it once it reads."""
        thread = threading.Thread(target=desk.writer.check_place)
        thread.start()
        assert self.is_in.wait(30)
        return thread


def indexed(path: Path) -> StreamIndex:
    """Return what a new reading of the file finds."""
    index = StreamIndex()
    with LineFile(path) as file:
        index.scan(file)
    return index


@pytest.mark.parametrize("change", ["grew", "was cut", "was cut within a row", "was removed"])
def test_rows_are_appended_and_found_while_a_changed_file_is_read(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    desk = make()
    desk.put(0, 1, 2)
    if change == "grew":
        with desk.path.open("ab") as file:
            file.write(b'{"_step": 50}\n{"torn')
    elif change == "was removed":
        desk.path.unlink()
    else:
        os.truncate(desk.path, LINE if change == "was cut" else 2 * LINE - 3)
    reading = HeldReading(monkeypatch)
    thread = reading.check(desk)
    is_free = desk.lock.acquire(timeout=10)
    assert is_free, "log waits for the reading"
    desk.lock.release()
    desk.put(3, 4)
    before = {"grew": [0, 1, 2, 50], "was removed": [0, 1, 2]}.get(change, [0])
    assert desk.steps() == [*before, 3, 4]
    index = desk.writer.index.copy()
    assert index.size == desk.path.stat().st_size, "what becomes of a write is told by the size"
    zones = [(block.start, block.stop) for block in index.blocks_between(4, 4)]
    assert (zones[0][0], zones[-1][1]) == (0, index.size), "every row may be anywhere"
    desk.writer.save_index({})
    assert not sidecar_of(desk.path).exists(), "an index without zones is not kept"
    reading.may_go.set()
    thread.join()
    assert desk.writer.index == indexed(desk.path)
    desk.put(5)
    desk.writer.close({})
    assert desk.steps() == [*before, 3, 4, 5]
    assert sidecar_of(desk.path).exists()


def test_a_run_may_end_while_its_changed_file_is_read(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make(finish_timeout=0.01)
    desk.put(0)
    with desk.path.open("ab") as file:
        file.write(b'{"_step": 50}\n')
    reading = HeldReading(monkeypatch)
    thread = reading.check(desk)
    desk.put(1)
    assert desk.writer.close({}) == 0
    reading.may_go.set()
    thread.join()
    assert desk.steps() == [0, 50, 1]


class HeldCopy:
    """Stops whoever copies a removed file until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_in, self.may_go = threading.Event(), threading.Event()
        fill = Copy.fill

        def held(copy: Copy) -> None:
            fill(copy)
            self.is_in.set()
            assert self.may_go.wait(30)

        monkeypatch.setattr(Copy, "fill", held)

    def check(self, desk: Desk) -> threading.Thread:
        thread = threading.Thread(target=desk.writer.check_place)
        thread.start()
        assert self.is_in.wait(30)
        return thread


def test_rows_are_appended_while_a_removed_file_is_copied_to_its_place(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make()
    desk.put(0, 1, 2)
    desk.path.unlink()
    copying = HeldCopy(monkeypatch)
    thread = copying.check(desk)
    is_free = desk.lock.acquire(timeout=10)
    assert is_free, "log waits for the copy"
    desk.lock.release()
    desk.put(3, 4)
    assert not desk.path.exists(), "a part of the rows passes for all of them"
    copying.may_go.set()
    thread.join()
    desk.put(5)
    assert desk.steps() == [0, 1, 2, 3, 4, 5]
    assert desk.writer.index == indexed(desk.path)
    assert os.listdir(desk.path.parent) == [desk.path.name]


def test_a_file_that_takes_the_place_while_ours_is_copied_keeps_it(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make()
    desk.put(0)
    desk.writer.check_place()
    desk.put(1)
    desk.path.unlink()
    copying = HeldCopy(monkeypatch)
    thread = copying.check(desk)
    desk.path.write_bytes(encode_line({"_step": 100}))
    desk.put(2)
    copying.may_go.set()
    thread.join()
    desk.put(3)
    assert desk.steps() == [100, 1, 2, 3]
    assert os.listdir(desk.path.parent) == [desk.path.name]


def test_an_end_waits_for_a_removed_file_that_is_being_copied(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make(finish_timeout=0.01)
    desk.put(0, 1)
    desk.path.unlink()
    copying = HeldCopy(monkeypatch)
    thread = copying.check(desk)
    desk.put(2)
    end = threading.Thread(target=desk.writer.close, args=({},))
    end.start()
    end.join(0.1)
    assert end.is_alive(), "its rows would have no file"
    copying.may_go.set()
    thread.join()
    end.join()
    assert desk.steps() == [0, 1, 2]


def test_two_that_copy_one_file_at_once_do_not_meet(path: Path) -> None:
    path.write_bytes(WHOLE)
    fd = open_for_append(path)
    path.unlink()
    one, other = Copy(fd, path, len(WHOLE)), Copy(fd, path, len(WHOLE))
    try:
        for copy in (one, other):
            copy.fill()
        assert len(os.listdir(path.parent)) == 2
        other.close()
        one.take_place()
        one.target, target = -1, one.target
        os.close(target)
        one.close()
    finally:
        os.close(fd)
    assert os.listdir(path.parent) == [path.name]
    assert path.read_bytes() == WHOLE


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

    monkeypatch.setattr(place_watch_module, "LineFile", NoDescriptor)
    monkeypatch.setattr(place_module, "LineFile", NoDescriptor)
    desk.path.unlink()
    desk.put(1)
    desk.writer.check_place()
    desk.writer.close({})
    monkeypatch.undo()
    assert desk.steps() == [0, 1]
