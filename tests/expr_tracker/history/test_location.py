"""Paths, streams and ranks: what is meant, and what is said when there is no such thing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from expr_tracker.errors import NameRefusedError, QueryError, RunNotFoundError
from expr_tracker.history import (
    compare,
    export,
    list_streams,
    read_history,
    resolve_run_path,
    status_of,
    verify,
)

if TYPE_CHECKING:
    from pathlib import Path

LINE = b'{"_step":0,"_time":1.0,"loss":1}\n'


def make(directory: Path, *names: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).write_bytes(LINE)
    return directory


def test_streams_are_listed_default_first_and_ranks_collapse(tmp_path: Path) -> None:
    run = make(tmp_path, "metrics.b.jsonl", "metrics.a.rank1.jsonl", "metrics.rank2.jsonl")
    make(tmp_path, "spans.x.jsonl", "metrics.a.jsonl")
    assert list_streams(run) == [None, "a", "b"]
    assert list_streams(str(run)) == [None, "a", "b"]
    (tmp_path / "empty").mkdir()
    assert list_streams(tmp_path / "empty") == []


def test_a_run_path_is_its_exact_file_or_the_lowest_rank(tmp_path: Path) -> None:
    run = make(tmp_path, "metrics.rank10.jsonl", "metrics.rank2.jsonl", "metrics.data.jsonl")
    assert resolve_run_path(run).name == "metrics.rank2.jsonl"
    assert resolve_run_path(run, "data").name == "metrics.data.jsonl"
    file = run / "metrics.data.jsonl"
    assert resolve_run_path(file, "ignored") == file


def test_a_stream_is_never_taken_for_the_default_one(tmp_path: Path) -> None:
    run = make(tmp_path, "metrics.data.jsonl")
    with pytest.raises(RunNotFoundError, match=r"default producer.*It has: data\."):
        resolve_run_path(run)


def test_a_missing_stream_names_the_nearest(tmp_path: Path) -> None:
    run = make(tmp_path, "metrics.jsonl", "metrics.loader.jsonl")
    with pytest.raises(FileNotFoundError, match="stream='loader'") as caught:
        read_history(run, stream="loaders")
    assert str(caught.value).endswith("It has: default, loader.")
    with pytest.raises(NameRefusedError):
        read_history(run, stream="../x")


def test_a_missing_run_names_the_nearest_and_a_project_lists_its_runs(tmp_path: Path) -> None:
    make(tmp_path / "project" / "run-12", "metrics.jsonl")
    with pytest.raises(RunNotFoundError, match=r"Did you mean .*run-12"):
        read_history(tmp_path / "project" / "run-1")
    with pytest.raises(RunNotFoundError, match="Runs below it: run-12"):
        read_history(tmp_path / "project")
    with pytest.raises(RunNotFoundError, match="There is no run"):
        list_streams(tmp_path / "nothing" / "here")


def test_a_rotated_run_reads_as_one_and_a_part_alone(tmp_path: Path) -> None:
    parts = tmp_path / "metrics.jsonl.parts"
    parts.mkdir()
    (parts / "000001.jsonl").write_bytes(LINE)
    (tmp_path / "metrics.jsonl").write_bytes(b'{"_step":1,"_time":1.0,"loss":2}\n')
    assert [row["_step"] for row in read_history(tmp_path)] == [0, 1]
    assert [row["_step"] for row in read_history(parts / "000001.jsonl")] == [0]
    (tmp_path / "metrics.jsonl").unlink()
    assert list_streams(tmp_path) == [None]
    assert [row["_step"] for row in read_history(tmp_path)] == [0]
    assert [row["_step"] for row in read_history(tmp_path / "metrics.jsonl")] == [0]


def test_several_streams_keep_their_own_steps_and_names(tmp_path: Path) -> None:
    make(tmp_path, "metrics.jsonl", "metrics.data.jsonl", "metrics.data.rank1.jsonl")
    rows = read_history(tmp_path, stream="*")
    assert [(row["_stream"], row["_rank"], row["_step"]) for row in rows] == [
        (None, 0, 0),
        ("data", 0, 0),
        ("data", 1, 0),
    ]
    rows = read_history(tmp_path, stream=["data", None], rank=0)
    assert [row["_stream"] for row in rows] == ["data", None]
    assert "_rank" not in rows[0]
    assert list(rows[0]) == ["_step", "_time", "_stream", "loss"]
    frame = read_history(tmp_path, stream="*", output_type="polars")
    assert frame["_stream"].to_list() == [None, "data", "data"]
    assert "_stream" not in read_history(tmp_path, stream="data", rank=1)[0]
    with pytest.raises(RunNotFoundError, match="rank 7"):
        read_history(tmp_path, stream="data", rank=7)
    with pytest.raises(QueryError, match="rank"):
        read_history(tmp_path, rank=-1)


def test_whatever_names_a_path_names_a_run(tmp_path: Path) -> None:
    make(tmp_path / "run", "metrics.jsonl")
    with os.scandir(tmp_path) as entries:
        (entry,) = entries
    assert len(read_history(entry)) == 1
    assert list_streams(entry) == [None]
    assert resolve_run_path(entry) == tmp_path / "run" / "metrics.jsonl"
    assert status_of(entry) == "lost"
    assert verify(entry).streams[0].rows == 1
    assert compare(entry, entry) == []
    assert export(entry, tmp_path / "out.csv").rows == 1
    for wrong in (3, b"run", None):
        with pytest.raises(QueryError, match="expected a path"):
            read_history(wrong)  # type: ignore[call-overload]
    with os.scandir(os.fsencode(tmp_path / "run")) as raw, pytest.raises(QueryError):
        read_history(next(iter(raw)))  # type: ignore[arg-type]
