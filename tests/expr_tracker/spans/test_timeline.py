from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.errors import RunNotFoundError
from expr_tracker.trace import PathTime, summarize

if TYPE_CHECKING:
    from pathlib import Path


def test_paths_are_summed_biggest_first_as_shares_of_the_root(
    tmp_path: Path, spans_file: Any
) -> None:
    spans_file(
        tmp_path,
        {"name": "s/a", "depth": 1, "dur_ms": 100.0},
        {"name": "s/b", "depth": 1, "dur_ms": 300.0},
        {"name": "s", "dur_ms": 500.0},
        {"name": "s/b", "depth": 1, "dur_ms": 500.0},
        {"name": "s", "dur_ms": 500.0},
    )
    (stream,) = summarize(tmp_path)
    assert stream.label == "default"
    assert stream.seconds == 1.0
    assert [time.path for time in stream.paths] == ["s", "s/b", "s/a"]
    assert stream.paths[1] == PathTime("s/b", 1, 0.8, 0.8, 2, 400.0, 500.0)


def test_streams_and_ranks_are_apart_and_numbered_ones_can_be_grouped(
    tmp_path: Path, spans_file: Any
) -> None:
    names = ["spans.read-1.jsonl", "spans.read-2.jsonl", "spans.read-2.rank1.jsonl"]
    for name in [*names, "spans.jsonl", "spans.train0.jsonl", "spans.7.jsonl"]:
        spans_file(tmp_path, {}, name=name)
    assert [stream.label for stream in summarize(tmp_path)] == [
        "default", "7", "read-1", "read-2", "read-2 rank 1", "train0",
    ]  # fmt: skip
    grouped = summarize(tmp_path, group=True)
    assert [stream.label for stream in grouped] == ["default", "7", "read", "train"]
    assert grouped[2].members == ("read-1", "read-2", "read-2 rank 1")
    assert grouped[2].seconds == 1.5


def test_a_summary_takes_the_filters_of_a_trace(tmp_path: Path, spans_file: Any) -> None:
    spans_file(tmp_path, {"_step": 1}, {"_step": 2, "start": 2000.0}, {"_step": 3})
    assert summarize(tmp_path, step_range=(2, None))[0].paths[0].count == 2
    assert summarize(tmp_path, time_range=(1500, None))[0].paths[0].count == 1
    with pytest.raises(RunNotFoundError):
        summarize(tmp_path, "data")


def test_a_stream_without_spans_has_no_time(tmp_path: Path, spans_file: Any) -> None:
    spans_file(tmp_path)
    (stream,) = summarize(tmp_path)
    assert (stream.seconds, stream.paths) == (0.0, ())


def test_children_without_their_root_have_no_share(tmp_path: Path, spans_file: Any) -> None:
    spans_file(tmp_path, {"name": "s/a", "depth": 1})
    assert summarize(tmp_path)[0].paths[0].share == 0.0


def test_only_root_spans_count_as_time_of_the_root(tmp_path: Path, spans_file: Any) -> None:
    spans_file(
        tmp_path,
        {"name": "eval/loss", "depth": 1, "dur_ms": 250.0},
        {"name": "eval", "depth": 0, "dur_ms": 500.0},
        {"name": "eval/loss", "depth": 0, "dur_ms": 1500.0},  # a span of that very name
    )
    (stream,) = summarize(tmp_path)
    assert stream.seconds == 2.0
    assert [(time.path, time.depth, time.share) for time in stream.paths] == [
        ("eval/loss", 0, 0.875),
        ("eval", 0, 0.25),
    ]


def test_paths_beyond_the_limit_are_root_time_only_where_they_are_root_spans(
    tmp_path: Path, spans_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("expr_tracker.spans.timeline._PATHS_MAX", 1)
    spans_file(
        tmp_path,
        {"name": "s", "dur_ms": 1000.0},
        {"name": "s/a", "depth": 1, "dur_ms": 500.0},
        {"name": "t", "dur_ms": 1000.0},
        {"name": "t/a", "depth": 1, "dur_ms": 500.0},
    )
    (stream,) = summarize(tmp_path)
    assert stream.seconds == 2.0
    assert [(time.path, time.seconds) for time in stream.paths] == [("(other)", 2.0), ("s", 1.0)]


def test_paths_beyond_the_limit_are_summed_as_one(
    tmp_path: Path, spans_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("expr_tracker.spans.timeline._PATHS_MAX", 2)
    spans_file(tmp_path, *({"name": f"s{n}", "depth": 1} for n in range(5)))
    paths = summarize(tmp_path)[0].paths
    assert {(time.path, time.count) for time in paths} == {("s0", 1), ("s1", 1), ("(other)", 3)}
