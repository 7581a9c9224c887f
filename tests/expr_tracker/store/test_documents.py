"""Small documents: replaced whole or not at all."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from expr_tracker.store.documents import read_document, replacing, write_document, write_once


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
    answers.put(write_once(path, {"id": number})["id"])


def test_of_racing_processes_one_wins_and_all_return_its_document(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    for turn in range(3):
        path = tmp_path / f"{turn}.json"
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
