"""The one resolution of runs, streams and ranks, for every kind of line file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.errors import QueryError, RunNotFoundError
from expr_tracker.store.files import StreamKey
from expr_tracker.store.producers import producers_of

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.store.files import LineKind

NAMES = ("", ".rank2", ".data", ".data.rank1", ".data.rank3")
QUESTIONS: list[tuple[Any, Any]] = [
    (None, None),
    (None, 2),
    (None, "*"),
    ("data", None),
    ("data", [1, 3]),
    ("*", None),
    ("*", 3),
    (["data", None], None),
    (["data", None], 2),
]


def make(directory: Path, kind: str) -> Path:
    directory.mkdir()
    for name in NAMES:
        (directory / f"{kind}{name}.jsonl").write_bytes(b"")
    return directory


@pytest.mark.parametrize(("stream", "rank"), QUESTIONS)
def test_a_question_means_the_same_producers_of_metrics_and_of_spans(
    tmp_path: Path, stream: Any, rank: Any
) -> None:
    kinds: list[LineKind] = ["metrics", "spans"]
    answers = [
        producers_of(make(tmp_path / kind, kind), stream, rank, kinds=(kind,)) for kind in kinds
    ]
    keys = [[producer.key for producer in answer] for answer in answers]
    assert keys[0] == keys[1] != []
    for kind, answer in zip(kinds, answers, strict=True):
        assert all(each.path.name == f"{kind}{each.key.suffix}.jsonl" for each in answer)
        assert all(each.path.is_file() for each in answer)


@pytest.mark.parametrize("kind", ["metrics", "spans"])
def test_what_is_missing_is_answered_with_what_there_is(tmp_path: Path, kind: LineKind) -> None:
    run = make(tmp_path / "run-1", kind)
    asked: list[tuple[Any, Any, str]] = [
        ("dat", None, r"Did you mean stream='data'\? It has: default, default rank 2, data,"),
        (None, 9, r"rank 9 of the default producer\. It has rank 0, 2\."),
        ("*", 9, r"rank 9\. It has: default"),
    ]
    for stream, rank, text in asked:
        with pytest.raises(RunNotFoundError, match=text):
            producers_of(run, stream, rank, kinds=(kind,))
    with pytest.raises(RunNotFoundError, match=rf"no {kind} file\. Runs below it: run-1"):
        producers_of(tmp_path, kinds=(kind,))
    with pytest.raises(RunNotFoundError, match=r"Did you mean .*run-1"):
        producers_of(tmp_path / "run-2", kinds=(kind,))
    with pytest.raises(QueryError, match="rank=-1"):
        producers_of(run, rank=-1, kinds=(kind,))


def test_a_producer_of_a_second_kind_counts_where_it_is_asked_for(tmp_path: Path) -> None:
    run = make(tmp_path / "run", "metrics")
    (run / "spans.jsonl").write_bytes(b"")
    assert [each.key for each in producers_of(run, "*", kinds=("spans",))] == [StreamKey()]
    both = producers_of(run, "*", kinds=("spans", "metrics"))
    assert len(both) == len(NAMES)
    assert {each.path.name.partition(".")[0] for each in both} == {"spans"}


def test_a_file_that_is_set_aside_whole_is_found_by_its_parts(tmp_path: Path) -> None:
    for kind in ("metrics", "spans"):
        parts = tmp_path / f"{kind}.data.jsonl.parts"
        parts.mkdir()
        (parts / "000001.jsonl").write_bytes(b"")
    kinds: list[LineKind] = ["metrics", "spans"]
    for kind in kinds:
        (found,) = producers_of(tmp_path, "*", kinds=(kind,))
        assert found.key == StreamKey("data")
