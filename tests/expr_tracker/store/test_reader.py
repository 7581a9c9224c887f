"""Reading whole lines: any cut, any chunk size, parts before and after, a rotation under way."""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.notices import Notices
from expr_tracker.options import make_options
from expr_tracker.store import reader
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import parts_of
from expr_tracker.store.lock import is_locked
from expr_tracker.store.place import set_part_aside
from expr_tracker.store.reader import LineFile, part_paths, whole_lines, whole_rows
from expr_tracker.store.writer import LineWriter
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

#: Lines of any bytes but the line end, empty ones and long ones among them.
lines_of_any_kind = st.lists(
    st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=25
)
sizes = st.sampled_from([1, 2, 3, 7, 64])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one folder for all examples: each writes the same file anew."""
    return tmp_path_factory.mktemp("reader")


@pytest.fixture(scope="module")
def path(folder: Path) -> Path:
    return folder / "metrics.jsonl"


def small_pieces(patch: pytest.MonkeyPatch, chunk: int, tail: int) -> None:
    """Make the reader's pieces so small that lines are longer than they are."""
    patch.setattr(reader, "_CHUNK_BYTES", chunk)
    patch.setattr(reader, "_TAIL_BYTES", tail)


def offsets(lines: list[bytes]) -> list[tuple[int, bytes]]:
    """Return the non-empty lines with their offsets."""
    found, at = [], 0
    for line in lines:
        if line:
            found.append((at, line))
        at += len(line) + 1
    return found


@given(lines_of_any_kind, st.data(), sizes, sizes)
def test_any_cut_of_a_file_reads_as_a_prefix_of_its_lines(
    path: Path, lines: list[bytes], data: st.DataObject, chunk: int, tail: int
) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    kept = lines[: whole[:cut].count(b"\n")]
    with pytest.MonkeyPatch.context() as patch:
        small_pieces(patch, chunk, tail)
        with LineFile(path) as file:
            assert file.size == sum(len(line) + 1 for line in kept)
            assert file.size + file.torn_bytes == cut
            assert list(file.lines()) == [line for line in kept if line]


@given(lines_of_any_kind, st.binary(max_size=9), st.data(), sizes, sizes)
def test_reading_backward_is_reading_forward_reversed(
    path: Path, lines: list[bytes], torn: bytes, data: st.DataObject, chunk: int, tail: int
) -> None:
    path.write_bytes(b"".join(line + b"\n" for line in lines) + torn.replace(b"\n", b"x"))
    stop = data.draw(st.integers(0, len(lines)))
    stop_bytes = sum(len(line) + 1 for line in lines[:stop])
    with pytest.MonkeyPatch.context() as patch:
        small_pieces(patch, chunk, tail)
        with LineFile(path) as file:
            assert list(file.lines_backward()) == offsets(lines)[::-1]
            assert list(file.lines_backward(stop_bytes)) == offsets(lines[:stop])[::-1]


@given(lines_of_any_kind, st.data(), sizes)
def test_chunks_hold_whole_lines_and_cover_what_was_asked_for(
    path: Path, lines: list[bytes], data: st.DataObject, chunk: int
) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    path.write_bytes(whole)
    first = data.draw(st.integers(0, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line) + 1)
    with pytest.MonkeyPatch.context() as patch:
        small_pieces(patch, chunk, chunk)
        with LineFile(path) as file:
            at = ends[first]
            for offset, piece in file.chunks(ends[first], ends[last]):
                assert offset == at
                assert piece.endswith(b"\n")
                at += len(piece)
            assert at == ends[last]


@given(
    st.lists(lines_of_any_kind, max_size=4),
    lines_of_any_kind,
    st.lists(lines_of_any_kind, max_size=3),
    sizes,
)
def test_parts_before_and_after_the_live_file_are_one_sequence_of_bytes(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[list[bytes]],
    live: list[bytes],
    after: list[list[bytes]],
    chunk: int,
) -> None:
    path = tmp_path_factory.mktemp("parts") / "metrics.jsonl"
    folder = parts_of(path)
    folder.mkdir()
    for number, part in enumerate(before, 1):
        (folder / f"{number:06d}.jsonl").write_bytes(b"".join(line + b"\n" for line in part))
    path.write_bytes(b"".join(line + b"\n" for line in live))
    for number, part in enumerate(after, 1):
        (folder / f"{number:08d}.jsonl").write_bytes(b"".join(line + b"\n" for line in part))
    (folder / "notes.txt").write_bytes(b"not a part\n")
    lines = [line for part in [*before, live, *after] for line in part]
    with pytest.MonkeyPatch.context() as patch:
        small_pieces(patch, chunk, chunk)
        with LineFile(path) as file:
            assert list(file.lines()) == [line for line in lines if line]
            assert list(file.lines_backward()) == offsets(lines)[::-1]
            assert file.read(0, file.size) == b"".join(line + b"\n" for line in lines)
            last = after[-1] if after else live
            assert file.size - file.live_start == sum(len(line) + 1 for line in last)


def test_a_line_longer_than_the_pieces_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    long = b"x" * (3 << 20)
    path.write_bytes(b"a\n" + long + b"\nb\n")
    with LineFile(path) as file:
        assert list(file.lines()) == [b"a", long, b"b"]
        assert [line for _, line in file.lines_backward()] == [b"b", long, b"a"]
        assert file.torn_bytes == 0


def test_a_file_without_one_whole_line_is_all_torn(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"x" * 40_000)
    with LineFile(path) as file:
        assert (file.size, file.torn_bytes) == (0, 40_000)
        assert list(file.lines()) == []
        assert list(file.lines_backward()) == []


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"metrics\.jsonl"):
        LineFile(tmp_path / "metrics.jsonl")
    with pytest.raises(FileNotFoundError):
        list(whole_lines(tmp_path / "no" / "metrics.jsonl"))


def test_parts_alone_are_a_file(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    parts_of(path).mkdir()
    (parts_of(path) / "000001.jsonl").write_bytes(b"a\n")
    assert list(whole_lines(path)) == [b"a"]


def test_a_line_file_is_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"a\n")
    with LineFile(path) as file:
        with path.open("ab") as more:
            more.write(b"b\n")
        assert list(file.lines()) == [b"a"]
    assert list(whole_lines(path)) == [b"a", b"b"]


@pytest.mark.parametrize("left_bytes", [0, 1, 7, 50])
def test_a_file_that_is_cut_while_it_is_read_gives_what_is_left(
    tmp_path: Path, left_bytes: int
) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = [f"line {number}".encode() for number in range(20)]
    whole = b"".join(line + b"\n" for line in lines)
    path.write_bytes(whole)
    with LineFile(path) as file:
        os.truncate(path, left_bytes)
        left = lines[: whole[:left_bytes].count(b"\n")]
        assert list(file.lines()) == left
        assert [line for _, line in file.lines_backward()][::-1] == left


def test_closing_twice_does_nothing(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.touch()
    file = LineFile(path)
    file.close()
    file.close()


def test_whole_rows_leaves_out_what_is_no_object_and_restores_numbers(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(
        b'{"_step":0,"a":null,"_nonfinite":{"/a":"Infinity"}}\n'
        b"garbage\n\n[1]\n"
        b'\0\0\0{"_step":1}\n'
        b'{"_attempt":2}\n'
        b'{"_step":2,"a"'
    )
    assert list(whole_rows(path)) == [
        {"_step": 0, "a": float("inf")},
        {"_step": 1},
        {"_attempt": 2},
    ]


# -- a rotation while a reader opens -------------------------------------------------------------------


@pytest.mark.parametrize("rotations", [1, 2])
@pytest.mark.parametrize("moment", ["before the parts are listed", "after the parts are listed"])
def test_a_rotation_between_two_looks_loses_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rotations: int, moment: str
) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"a\nb\n")
    turns = iter(range(rotations))

    def rotate() -> None:
        for _ in turns:
            os.close(set_part_aside(path))
            with path.open("ab") as live:
                live.write(b"c\n")

    def listed(of: Path) -> tuple[list[Path], list[Path]]:
        if moment.startswith("before"):
            rotate()
        found = part_paths(of)
        rotate()
        return found

    monkeypatch.setattr(reader, "part_paths", listed)
    with LineFile(path) as file:
        found = list(file.lines())
    assert found in ([b"a", b"b"], [b"a", b"b", *[b"c"] * rotations])


def test_a_file_system_without_inode_numbers_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"a\n")
    os.close(set_part_aside(path))
    path.write_bytes(b"b\n")
    real = os.fstat

    def without_numbers(fd: int) -> os.stat_result:
        status = list(real(fd))
        status[1] = 0
        return os.stat_result(status)

    monkeypatch.setattr(os, "fstat", without_numbers)
    assert list(whole_lines(path)) == [b"a", b"b"]


def test_a_part_that_cannot_be_opened_leaves_no_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.jsonl"
    for _ in range(3):
        path.write_bytes(b"a\n")
        os.close(set_part_aside(path))
    opened: list[int] = []
    closed: list[int] = []
    real_open, real_close = os.open, os.close

    def open_(name: Path, flags: int, mode: int) -> int:
        if name.name == "000003.jsonl":
            raise PermissionError(13, "Permission denied")
        opened.append(real_open(name, flags, mode))
        return opened[-1]

    def close(fd: int) -> None:
        closed.append(fd)
        real_close(fd)

    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "close", close)
    with pytest.raises(PermissionError):
        LineFile(path)
    monkeypatch.undo()
    assert sorted(opened) == sorted(closed)
    assert len(opened) == 3


def test_readers_never_see_fewer_lines_nor_gaps_while_the_writer_rotates(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lock = threading.RLock()
    writer = LineWriter(
        path,
        make_options({"max_file_bytes": 200}),
        lock=lock,
        clock=ManualClock(),
        notices=Notices(),
    )
    is_done = threading.Event()
    failures: list[str] = []

    def read() -> None:
        seen = 0
        while not is_done.is_set():
            steps = [row["_step"] for row in whole_rows(path)]
            if steps != list(range(len(steps))) or len(steps) < seen:
                failures.append(f"{len(steps)} after {seen}: {steps[-3:]}")
                return
            seen = len(steps)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    for step in range(400):
        with lock:
            writer.append_row({"_step": step, "x": 1.5}, step)
    is_done.set()
    for thread in readers:
        thread.join()
    writer.close({})
    assert failures == []
    before, after = part_paths(path)
    assert len(before) > 20
    assert after == []


def test_a_disk_that_fails_at_the_first_look_leaves_no_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"{}\n")

    def fail(*arguments: object) -> bytes:
        raise OSError(errno.EIO, "input/output error")

    before = len(os.listdir("/dev/fd"))
    monkeypatch.setattr(os, "pread", fail)
    for _ in range(3):
        with pytest.raises(OSError, match="input/output"):
            LineFile(path)
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("is_part", [False, True])
def test_a_named_pipe_in_place_of_a_file_makes_nobody_wait(tmp_path: Path, is_part: bool) -> None:
    path = tmp_path / "metrics.jsonl"
    place = parts_of(path) / "000001.jsonl" if is_part else path
    place.parent.mkdir(exist_ok=True)
    os.mkfifo(place)
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(OSError, match="no regular file"):
        LineFile(path)
    assert len(os.listdir("/dev/fd")) == before
    assert read_document(place) is None
    assert not is_locked(place)
