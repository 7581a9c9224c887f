from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from expr_tracker.errors import QueryError, RunNotFoundError
from expr_tracker.trace import build_trace, write_trace


def _spans(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def _names(trace: dict[str, Any]) -> list[str]:
    return [event["name"] for event in _spans(trace)]


def _processes(trace: dict[str, Any]) -> list[str]:
    return [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]


def test_a_trace_is_the_documented_object(tmp_path: Path, spans_file: Any) -> None:
    spans_file(
        tmp_path,
        {"name": "s/a", "depth": 1, "start": 1000.25, "dur_ms": 250.0, "args": {"file": "x"}},
        {"name": "s", "start": 1000.0, "dur_ms": 1000.0, "error": "OSError", "metrics": {"m": 2}},
    )
    lane = {"cat": "default", "ph": "X", "pid": 0, "tid": 1}
    assert build_trace(tmp_path) == {
        "traceEvents": [
            {"name": "process_name", "ph": "M", "pid": 0, "tid": 0, "args": {"name": "default"}},
            {"name": "thread_name", "ph": "M", "pid": 0, "tid": 1, "args": {"name": "default"}},
            {"name": "s/a", **lane, "ts": 250000.0, "dur": 250000.0}
            | {"args": {"file": "x", "step": 0}},
            {"name": "s", **lane, "ts": 0.0, "dur": 1000000.0}
            | {"args": {"m": 2, "step": 0, "error": "OSError"}},
        ],
        "displayTimeUnit": "ms",
    }


def test_a_written_trace_equals_the_built_one(tmp_path: Path, spans_file: Any) -> None:
    spans_file(tmp_path, *({"start": 1000.0 + number} for number in range(2_500)))
    output = tmp_path / "out.json"
    assert write_trace(tmp_path, output, temp_dir=tmp_path) == 2_500
    assert json.loads(output.read_text(encoding="utf-8")) == build_trace(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json", "spans.jsonl"]


def test_every_stream_and_rank_is_a_process_the_default_first(
    tmp_path: Path, spans_file: Any
) -> None:
    names = ["spans.jsonl", "spans.rank1.jsonl", "spans.data.jsonl", "spans.data.rank10.jsonl"]
    for name in names:
        spans_file(tmp_path, {}, name=name)
    spans_file(tmp_path, name="spans.empty.jsonl")
    trace = build_trace(tmp_path)
    assert _processes(trace) == ["default", "default rank 1", "data", "data rank 10", "empty"]
    assert [span["pid"] for span in _spans(trace)] == [0, 1, 2, 3]
    assert _processes(build_trace(tmp_path, "data", rank=10)) == ["data rank 10"]
    assert _processes(build_trace(tmp_path, None)) == ["default", "default rank 1"]
    assert _processes(build_trace(tmp_path, ["data", None], rank=0)) == ["default", "data"]


def test_a_span_file_may_be_named_itself(tmp_path: Path, spans_file: Any) -> None:
    path = spans_file(tmp_path, {}, name="spans.data.jsonl")
    assert _processes(build_trace(path)) == ["data"]


def test_parts_of_a_rotated_file_are_read(tmp_path: Path, spans_file: Any) -> None:
    spans_file(tmp_path, {"name": "c"})
    spans_file(tmp_path / "spans.jsonl.parts", {"name": "a"}, name="000001.jsonl")
    spans_file(tmp_path / "spans.jsonl.parts", {"name": "d"}, name="00000001.jsonl")
    assert _names(build_trace(tmp_path)) == ["a", "c", "d"]


@pytest.mark.parametrize(
    "damaged",
    [
        "{not json",
        "[1]",
        '{"name": "a"}',
        '{"name": "a", "start": -1, "dur_ms": 1}',
        '{"name": "a", "start": 1, "dur_ms": -1}',
        '{"name": "a", "start": NaN, "dur_ms": 1}',
        '{"name": "a", "start": 1e999, "dur_ms": 1}',
        '{"name": "a", "start": 1e300, "dur_ms": 1}',
        '{"name": "a", "start": true, "dur_ms": 1}',
        '{"name": 3, "start": 1, "dur_ms": 1}',
        '{"name": "a", "start": 1, "dur_ms": 1, "depth": -1}',
        '{"name": "a", "start": 1, "dur_ms": 1, "depth": 1.5}',
        '{"name": "a", "start": 1, "dur_ms": 1, "track": "x"}',
        '{"name": "a", "start": 1, "dur_ms": 1, "_step": "x"}',
        '{"name": "a", "start": 1, "dur_ms": 1, "args": []}',
        '{"name": "a", "start": 1, "dur_ms": 1, "error": 1}',
    ],
)
def test_damaged_records_are_left_out(damaged: str, tmp_path: Path, spans_file: Any) -> None:
    path = spans_file(tmp_path, damaged, {"name": "good"})
    with path.open("a") as file:
        file.write('{"name": "torn')
    assert _names(build_trace(tmp_path)) == ["good"]


def test_step_and_time_ranges_are_half_open_and_both_count(
    tmp_path: Path, spans_file: Any
) -> None:
    spans_file(
        tmp_path,
        *({"name": str(step), "_step": step, "start": 1000.0 + step} for step in range(5)),
        {"name": "instant", "_step": 1, "start": 1001.25, "dur_ms": 0.0},
    )

    def names(**ranges: Any) -> list[str]:
        return _names(build_trace(tmp_path, **ranges))

    assert names(step_range=(1, 3)) == ["1", "2", "instant"]
    assert names(step_range=(3, None)) == ["3", "4"]
    assert names(step_range=(3, 1)) == names(step_range=(2, 2)) == []
    assert names(time_range=(1000.5, 1002.0)) == ["1"]
    assert names(time_range=(1000.25, 1002.1)) == ["0", "1", "2"]
    assert names(time_range=(1001.3, 1001.2)) == []
    assert names(time_range=(None, 1001.25), step_range=(1, None)) == ["1"]
    assert names(time_range=(None, None)) == ["0", "1", "2", "3", "4", "instant"]
    first = _spans(build_trace(tmp_path, step_range=(2, None)))[0]
    assert first["ts"] == 0.0  # since the earliest selected start


@pytest.mark.parametrize(
    "bad", [(math.nan, 1), (math.inf, None), (1,), "12", 3, (True, None), ("1", 2)]
)
@pytest.mark.parametrize("which", ["time_range", "step_range"])
def test_a_range_that_is_none_is_refused(bad: Any, which: str, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=which):
        build_trace(tmp_path, **{which: bad})


def test_tracks_have_lanes_of_their_own(tmp_path: Path, spans_file: Any) -> None:
    spans_file(
        tmp_path,
        {"track": 9, "start": 1000.0},
        {"track": 4, "start": 1000.25},
        {"track": 4, "start": 1000.5, "name": "b"},
        {"track": 4, "start": 1002.0, "name": "c"},
    )
    trace = build_trace(tmp_path)
    threads = [e for e in trace["traceEvents"] if e["name"] == "thread_name"]
    assert [t["args"]["name"] for t in threads] == ["thread 9", "thread 4", "thread 4"]
    assert [span["tid"] for span in _spans(trace)] == [1, 2, 3, 2]
    assert [span["args"]["track"] for span in _spans(trace)] == [9, 4, 4, 4]


def test_numbers_that_json_has_not_become_their_names(tmp_path: Path, spans_file: Any) -> None:
    line = (
        '{"name": "a", "start": 1, "dur_ms": 1, "args": {"x": null, "deep": [NaN, {"y": -Infinity}]}'
        ', "_nonfinite": {"/args/x": "Infinity"}}'
    )
    spans_file(tmp_path, line)
    arguments = _spans(build_trace(tmp_path))[0]["args"]
    assert arguments == {"x": "Infinity", "deep": ["NaN", {"y": "-Infinity"}]}


def test_half_a_surrogate_pair_does_not_stop_the_export(tmp_path: Path, spans_file: Any) -> None:
    spans_file(tmp_path, '{"name": "\\ud800", "start": 1, "dur_ms": 1, "args": {"x": "\\udfff"}}')
    assert write_trace(tmp_path, tmp_path / "out.json") == 1
    assert _names(json.loads((tmp_path / "out.json").read_bytes())) == ["\\ud800"]


def _metric_rows(directory: Path, *rows: dict[str, Any], name: str = "metrics.jsonl") -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (directory / name).write_text(text, encoding="utf-8")


def test_chosen_metrics_become_counters_at_their_time(tmp_path: Path, spans_file: Any) -> None:
    spans_file(tmp_path, {"start": 1000.5})
    _metric_rows(
        tmp_path,
        {"_step": 0, "_time": 1000.0, "loss": 0.5, "lr": 1},
        {"_attempt": 2, "_time": 1000.5},
        {"_step": 1, "_time": 1001.0, "loss": None, "_nonfinite": {"/loss": "NaN"}, "lr": 2},
        {"_step": 2, "_time": 1002.0, "loss": "text", "lr": True},
    )
    _metric_rows(tmp_path, {"_step": 0, "_time": 1001.0, "lr": 9}, name="metrics.data.jsonl")
    trace = build_trace(tmp_path, metrics=["loss", "lr"])
    counters = [event for event in trace["traceEvents"] if event["ph"] == "C"]
    assert [(c["pid"], c["name"], c["ts"], c["args"]["value"]) for c in counters] == [
        (0, "loss", 0.0, 0.5),
        (0, "lr", 0.0, 1.0),
        (0, "lr", 1000000.0, 2.0),
        (0, "lr", 2000000.0, 1.0),
        (1, "lr", 1000000.0, 9.0),
    ]
    assert _spans(trace)[0]["ts"] == 500000.0
    assert _processes(trace) == ["default", "data"]
    assert _processes(build_trace(tmp_path)) == ["default"]
    within = build_trace(tmp_path, metrics="lr", step_range=(1, None), time_range=(None, 1002.0))
    assert [c["args"] for c in within["traceEvents"] if c["ph"] == "C"] == [{"value": 2.0}]


def test_a_metric_that_is_not_there_is_refused_with_the_nearest(
    tmp_path: Path, spans_file: Any
) -> None:
    spans_file(tmp_path, {})
    _metric_rows(tmp_path, {"_step": 0, "_time": 1000.0, "loss": 0.5})
    with pytest.raises(QueryError, match="Did you mean 'loss'"):
        build_trace(tmp_path, metrics=["los"])


def test_what_is_missing_is_named_beside_what_is_there(tmp_path: Path, spans_file: Any) -> None:
    spans_file(tmp_path / "run-1", {}, name="spans.data.jsonl")
    with pytest.raises(RunNotFoundError, match="Did you mean stream='data'"):
        build_trace(tmp_path / "run-1", "dta")
    with pytest.raises(FileNotFoundError, match="default producer"):
        build_trace(tmp_path / "run-1", None)
    with pytest.raises(RunNotFoundError, match=r"no spans of rank 3\. It has: data\."):
        build_trace(tmp_path / "run-1", rank=3)
    with pytest.raises(RunNotFoundError, match=r"Did you mean .*run-1"):
        build_trace(tmp_path / "run-2")
    with pytest.raises(RunNotFoundError, match="Runs below it: run-1"):
        build_trace(tmp_path)
    _metric_rows(tmp_path, {"_step": 0, "_time": 1.0})
    with pytest.raises(RunNotFoundError, match="metrics of default, but no span"):
        build_trace(tmp_path)


def test_a_failed_export_keeps_the_old_file_and_leaves_nothing(
    tmp_path: Path, spans_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, temporary = tmp_path / "run", tmp_path / "temporary"
    temporary.mkdir()
    spans_file(run, {})
    output = tmp_path / "out.json"
    output.write_text("old")

    def fail(*_: Any) -> Path:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            write_trace(run, output, temp_dir=temporary)
    assert output.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json", "run", "temporary"]
    assert list(temporary.iterdir()) == []


def test_a_spool_that_cannot_be_written_is_an_os_error(
    tmp_path: Path, spans_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_file(tmp_path, {})

    with monkeypatch.context() as patch:
        patch.setattr("expr_tracker.spans.trace._SCHEMA", "CREATE nonsense")
        with pytest.raises(OSError, match="temp-dir"):
            build_trace(tmp_path)


def test_memory_does_not_grow_with_the_run(tmp_path: Path, spans_file: Any) -> None:
    import tracemalloc

    def peak(count: int) -> int:
        run = tmp_path / str(count)
        spans_file(run, *({"start": 1000.0 + n, "args": {"n": n}} for n in range(count)))
        tracemalloc.start()
        write_trace(run, tmp_path / "out.json")
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    # The reader's pieces of a megabyte are in both; ten times the spans add nothing.
    assert peak(30_000) < 1.3 * peak(8_000) + 2_000_000


def test_a_trace_never_overwrites_a_file_of_the_run(tmp_path: Path, spans_file: Any) -> None:
    spans_file(tmp_path, {"name": "s", "start": 1.0, "dur_ms": 1.0})
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ["spans.jsonl", "metrics.jsonl", "run.json", "summary.json"]:
        with pytest.raises(QueryError, match="run's own file"):
            write_trace(tmp_path, tmp_path / name)
    with pytest.raises(QueryError, match="run's own file"):
        write_trace(tmp_path / "spans.jsonl", tmp_path / "metrics.jsonl")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
