"""Small documents: replaced whole or not at all."""

from __future__ import annotations

import errno
import inspect
import json
import math
import multiprocessing
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from expr_tracker.store.documents import (
    damaged_of,
    mend,
    read_document,
    replacing,
    write_document,
    write_once,
)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"a": 1, "b": [1.5, None, "日本"]},
        {"quote": '"\\\n'},
        {"nan": math.nan, "deep": {"inf": [math.inf, -math.inf]}},
        {"big": 10**400},
    ],
    ids=lambda document: "-".join(document) or "empty",
)
def test_a_document_comes_back_as_it_was_written(tmp_path: Path, document: dict[str, Any]) -> None:
    path = tmp_path / "d.json"
    write_document(path, document)
    assert repr(read_document(path)) == repr(document)
    json.loads(path.read_bytes(), parse_constant=pytest.fail)
    assert os.listdir(tmp_path) == ["d.json"]


def test_half_a_surrogate_pair_is_the_text_of_its_escape(tmp_path: Path) -> None:
    write_document(tmp_path / "d.json", {"half\udfff": ["\ud800", "\ud83d\ude00"]})
    assert read_document(tmp_path / "d.json") == {"half\\udfff": ["\\ud800", "😀"]}
    assert write_once(tmp_path / "once.json", {"a": "\ud800"}) == {"a": "\\ud800"}


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_what_is_no_document_reads_as_none(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "d.json"
    if content is not None:
        path.write_bytes(content)
    assert read_document(path) is None


def test_a_failed_replacement_keeps_the_old_document_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "d.json"
    write_document(path, {"old": 1})

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_document(path, {"new": 2})
    assert read_document(path) == {"old": 1}
    assert os.listdir(tmp_path) == ["d.json"]


@pytest.mark.parametrize("write", [write_document, write_once])
def test_an_error_names_the_file_that_was_asked_for_and_no_other(
    tmp_path: Path, write: Any
) -> None:
    too_long = tmp_path / ("x" * 245)  # the file beside it has too long a name
    with pytest.raises(OSError, match="File name too long") as caught:
        write(too_long, {"a": 1})
    assert str(caught.value).endswith(f": '{too_long}'")


def test_a_folder_in_the_way_is_an_error_of_its_own_kind(tmp_path: Path) -> None:
    folder = tmp_path / "d.json"
    folder.mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        write_document(folder, {"a": 1})
    assert str(caught.value).endswith(f": '{folder}'")
    assert os.listdir(tmp_path) == ["d.json"]


def test_an_error_about_another_file_is_left_as_it_is(tmp_path: Path) -> None:
    other = tmp_path / "other"
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "d.json"):
        other.read_bytes()
    assert caught.value.filename == str(other)


def test_a_reader_never_sees_half_a_document(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    write_document(path, {"n": 0, "text": "x" * 50_000})
    process = multiprocessing.get_context("spawn").Process(target=_rewrite, args=(path,))
    process.start()
    seen = 0
    while process.is_alive():
        document = read_document(path)
        assert document is not None
        assert len(document["text"]) == 50_000
        seen += 1
    process.join()
    assert process.exitcode == 0
    assert seen > 0


def _rewrite(path: Path) -> None:
    for n in range(200):
        write_document(path, {"n": n, "text": "x" * 50_000})


def test_the_first_write_once_wins_and_later_ones_return_it(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert write_once(path, {"id": "a"}) == {"id": "a"}
    assert write_once(path, {"id": "b"}) == {"id": "a"}
    assert os.listdir(tmp_path) == ["run.json"]


def _write_once(path: Path, number: int, barrier: Any, answers: Any) -> None:
    barrier.wait(30)
    answers.put(_answered(write_once(path, {"id": number}) or mend(path, {"id": number})))


def _answered(document: dict[str, Any]) -> int:
    return int(document["id"])


@pytest.mark.parametrize("damaged", [None, b"", b'{"id": '])
def test_of_racing_processes_one_wins_and_all_return_its_document(
    tmp_path: Path, damaged: bytes | None
) -> None:
    context = multiprocessing.get_context("spawn")
    for turn in range(3):
        path = tmp_path / f"{turn}.json"
        if damaged is not None:
            path.write_bytes(damaged)
        barrier, answers = context.Barrier(4), context.Queue()
        processes = [
            context.Process(target=_write_once, args=(path, number, barrier, answers))
            for number in range(4)
        ]
        for process in processes:
            process.start()
        found = {answers.get(timeout=30) for _ in processes}
        for process in processes:
            process.join(30)
        document = read_document(path)
        assert document is not None
        assert found == {document["id"]}


def test_write_once_works_where_hard_links_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "run.json"
    assert write_once(path, {"id": "a"}) == {"id": "a"}
    assert write_once(path, {"id": "b"}) == {"id": "a"}
    assert os.listdir(tmp_path) == ["run.json"]


def test_a_document_that_is_just_being_written_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "run.json"
    path.write_bytes(b"")
    monkeypatch.setattr(time, "sleep", lambda seconds: path.write_bytes(b'{"id": "a"}'))
    assert write_once(path, {"id": "b"}) == {"id": "a"}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\0" * 40])
def test_what_is_no_document_is_told_and_mended_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    assert write_once(path, {"id": "a"}) is None
    assert path.read_bytes() == content
    assert mend(path, {"id": "a"}) == read_document(path) == {"id": "a"}
    assert mend(path, {"id": "b"}) == read_document(path) == {"id": "a"}
    kept = damaged_of(path)
    assert sorted(os.listdir(tmp_path)) == ["run.json", *([kept.name] if content else [])]
    assert not content or kept.read_bytes() == content


def test_what_was_damaged_takes_the_place_of_a_pipe_or_a_link_and_goes_through_neither(
    tmp_path: Path,
) -> None:
    path, theirs = tmp_path / "run.json", tmp_path / "theirs"
    theirs.write_bytes(b"theirs")
    for make in (os.mkfifo, lambda at: at.symlink_to(theirs)):
        path.write_bytes(b"xx")
        damaged_of(path).unlink(missing_ok=True)
        make(damaged_of(path))
        assert mend(path, {"id": "a"}) == {"id": "a"}
        assert damaged_of(path).read_bytes() == b"xx"
        assert damaged_of(path).is_file()
        assert not damaged_of(path).is_symlink()
    assert theirs.read_bytes() == b"theirs"


@pytest.mark.parametrize(("left", "stays"), [(b'{"id": "a"}', "a"), (b"", "b")])
def test_what_a_process_left_that_was_killed_while_it_mended_is_used_if_it_is_whole(
    tmp_path: Path, left: bytes, stays: str
) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(b"")
    (tmp_path / ".run.json.mended").write_bytes(left)
    assert mend(path, {"id": "b"}) == read_document(path) == {"id": stays}
    assert os.listdir(tmp_path) == ["run.json"]


def test_a_file_that_cannot_be_read_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.mkdir()
    with pytest.raises(OSError, match=r"run\.json"):
        write_once(path, {"id": "a"})


def full(*_args: object, **_kwargs: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_stands_there_is_returned_on_a_full_disk_and_else_the_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.json"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space left") as refused:
            write_once(path, {"id": "a"})
        assert refused.value.filename == str(path)
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(OSError, match="No space left") as refused:
            write_document(path, {"id": "a"})
        assert refused.value.filename == str(path)
    write_once(path, {"id": "a"})
    monkeypatch.setattr(Path, "write_bytes", full)
    assert write_once(path, {"id": "b"}) == {"id": "a"}


def test_write_once_into_a_missing_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_once(tmp_path / "no" / "run.json", {"id": "a"})


def test_replacements_of_one_file_in_one_thread_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with replacing(path) as first, replacing(path) as second:
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["out"]


def test_an_error_within_a_replacement_keeps_what_stood_there(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def interrupted(temporary: Path) -> None:
        temporary.write_text("new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        interrupted(temporary)
    with pytest.raises(FileNotFoundError), replacing(path):
        pass
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_document_is_not_damaged_because_the_stack_is_nearly_used_up(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"a": ' + "[" * 20 + "]" * 20 + "}")

    def deeper(depth: int) -> Any:
        return deeper(depth - 1) if depth else read_document(path)

    answers: set[bool | str] = set()
    room = sys.getrecursionlimit() - len(inspect.stack())
    for depth in range(room - 60, room):
        try:
            answers.add(deeper(depth) is not None)
        except RecursionError:
            answers.add("no stack")
    assert answers == {True, "no stack"}
    path.write_text("[" * 5000)
    assert read_document(path) is None


def test_a_document_beyond_the_limit_of_file_sizes_is_named_in_the_error(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for write in (write_document, write_once):
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            with pytest.raises(OSError, match="File too large") as caught:
                write(tmp_path / "run.json", {"id": "a"})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert caught.value.errno == errno.EFBIG
        assert caught.value.filename == str(tmp_path / "run.json")
        assert list(tmp_path.iterdir()) == []
