"""Exports: what was logged is what comes back, from every format."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expr_tracker.errors import MissingExtraError, QueryError, RunNotFoundError
from expr_tracker.extras import install_command
from expr_tracker.history import export, exports, read_history, retrieval
from expr_tracker.history.exports import csv_cell
from expr_tracker.store.lines import decode_line, encode_line
from expr_tracker.store.markers import begin_marker

Row = dict[str, Any]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
scalars = st.one_of(
    st.floats(), st.integers(-5, 5), st.booleans(), texts, st.sampled_from([2**53 + 1, 2**70])
)
data = st.fixed_dictionaries(
    {},
    optional={
        "loss": st.floats(),
        "count": st.integers(-(2**63), 2**63 - 1),
        "flag": st.booleans(),
        "note": texts,
        "mixed": st.one_of(scalars, st.lists(scalars, max_size=2)),
        "number": st.one_of(st.floats(), st.integers()),
        "nested": st.lists(scalars, max_size=2),
        "a,b\n": st.floats(),
    },
)


@st.composite
def runs(draw: st.DrawFn) -> dict[str, bytes]:
    files = {}
    for name in draw(st.sampled_from([[""], ["", ".data"], ["", ".rank1", ".b.rank2"]])):
        step, lines, attempt = 0, [], 1
        for _ in range(draw(st.integers(0, 12))):
            if draw(st.sampled_from([False] * 4 + [True])):
                attempt += 1
                from_step = draw(st.none() | st.integers(step - 3, step + 1))
                lines.append(encode_line(begin_marker(attempt, from_step, time=1.0, pid=7)))
            step += draw(st.sampled_from([1, 1, 1, 0, -2]))
            lines.append(encode_line({"_step": step, "_time": step / 3, **draw(data)}))
        files[f"metrics{name}.jsonl"] = b"".join(lines)
    return files


def is_same(one: Any, other: Any) -> bool:
    """Equal as values: 1 and 1.0 and True are."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same_member, one, other))
    return bool(one == other)


def is_same_member(one: Any, other: Any) -> bool:
    """Equal within a list: JSON text has the word for a number that JSON lacks."""
    if isinstance(one, float) and not math.isfinite(one) and isinstance(other, str):
        return other == {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(one)]
    return is_same(one, other)


def arrow_rows(table: Any) -> list[Row]:
    """Read a table as its documentation says."""
    rows = []
    json_names = {
        field.name for field in table.schema if (field.metadata or {}).get(b"encoding") == b"json"
    }
    for cells in table.to_pylist():
        row: Row = {}
        for name, value in cells.items():
            if value is None:
                continue
            if name in json_names:
                row[name.removesuffix("#json")] = json.loads(value)
            else:
                row.setdefault(name, value)
        rows.append(row)
    return rows


def export_and_read(run: Path, kind: str, attempt: Any = None) -> list[Row]:
    target = run / f"out.{kind}"
    export(run, target, attempt=attempt)
    if kind == "jsonl":
        return [decode_line(line) or {} for line in target.read_bytes().splitlines()]
    if kind == "parquet":
        return arrow_rows(pq.read_table(target))
    if kind == "arrow":
        with pa.ipc.open_file(target) as file:
            return arrow_rows(file.read_all())
    with target.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_metric_of_the_second_columns_name_is_a_column_of_its_own(
    tmp_path: Path, kind: str
) -> None:
    lines = [{"_step": i, "a": i or "x", "a#json": i or "y"} for i in range(2)]
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(map(encode_line, lines)))
    target = tmp_path / f"out.{kind}"
    export(tmp_path, target, stream=None)
    if kind == "parquet":
        table = pq.read_table(target)
    else:
        with pa.ipc.open_file(target) as file:
            table = file.read_all()
    assert table.column_names == [
        "_step",
        "_time",
        "a",
        "a#json#json",
        "a#json",
        "a#json#json#json",
    ]
    assert table["a#json#json"].to_pylist() == ['"x"', None]
    assert table["a#json"].to_pylist() == [None, 1]
    frame = read_history(tmp_path, -1, output_type="arrow")
    assert frame.column_names == [name for name in table.column_names if name != "_time"]


@settings(deadline=None, max_examples=80)
@given(
    runs(),
    st.sampled_from(["parquet", "arrow", "jsonl", "csv"]),
    st.sampled_from([3, 10_000]),
    st.sampled_from([None, 1, 2, "all"]),
)
def test_what_was_logged_comes_back(
    files: dict[str, bytes], kind: str, batch: int, attempt: Any
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrieval, "_BATCH_ROWS", batch)
        run = Path(folder)
        for name, content in files.items():
            (run / name).write_bytes(content)
        try:
            logged = read_history(run, -1, stream="*", rank="*", attempt=attempt)
        except QueryError:  # a stream without that attempt
            with pytest.raises(QueryError, match="attempt=2: this stream has attempt 1"):
                export_and_read(run, kind, attempt)
            assert not (run / f"out.{kind}").exists()
            return
        got = export_and_read(run, kind, attempt)
    assert len(got) == len(logged)
    for row, exported in zip(logged, got, strict=True):
        exported.pop("_rank" if "_rank" not in row else "", None)
        if kind == "csv":
            for name, value in row.items():
                assert exported[name] == csv_cell(value)
            continue
        wanted = {name: value for name, value in row.items() if value is not None}
        assert set(wanted) == {name for name, value in exported.items() if value is not None}
        for name, value in wanted.items():
            assert is_same(value, exported[name]), (name, value, exported[name])


def write(run: Path, *rows: Row) -> Path:
    (run / "metrics.jsonl").write_bytes(b"".join(map(encode_line, rows)))
    return run


def test_attempts_are_exported_apart_or_beside_each_other(tmp_path: Path) -> None:
    rows = [{"_step": i, "_time": 0.0, "x": i} for i in range(4)]
    again = [{"_step": i, "_time": 1.0, "x": 10 + i} for i in range(2, 5)]
    run = write(tmp_path, *rows, begin_marker(2, 2, time=1.0, pid=7), *again)

    def exported(attempt: Any) -> list[Row]:
        return export_and_read(run, "jsonl", attempt)

    assert [row["x"] for row in exported(None)] == [0, 1, 12, 13, 14]
    assert [row["x"] for row in exported(1)] == [0, 1, 2, 3]
    assert [row["x"] for row in exported(2)] == [12, 13, 14]
    every = [(row["_attempt"], row["x"]) for row in exported("all")]
    assert every == [(1, 0), (1, 1), (1, 2), (1, 3), (2, 12), (2, 13), (2, 14)]
    with pytest.raises(QueryError, match="attempt='first'"):
        exported("first")


def test_csv_numbers_have_every_digit_and_say_when_they_are_none(tmp_path: Path) -> None:
    rows = [{"_step": 0, "_time": 1700000000.123456, "x": 0.1 + 0.2, "y": math.nan, "z": True}]
    export(write(tmp_path, *rows), tmp_path / "out.csv", stream=None)
    assert (tmp_path / "out.csv").read_text() == (
        "_step,_time,x,y,z\n0,1700000000.123456,0.30000000000000004,NaN,true\n"
    )
    assert csv_cell(-math.inf) == "-inf"


def test_one_stream_alone_needs_no_names(tmp_path: Path) -> None:
    write(tmp_path, {"_step": 0, "_time": 0.0, "x": 1})
    export(tmp_path, tmp_path / "a.jsonl", stream=None)
    assert (tmp_path / "a.jsonl").read_bytes() == b'{"_step":0,"_time":0.0,"x":1}\n'
    report = export(tmp_path, tmp_path / "b.dat", "jsonl")
    assert (tmp_path / "b.dat").read_bytes() == (
        b'{"_step":0,"_time":0.0,"_stream":null,"_rank":0,"x":1}\n'
    )
    assert (report.rows, report.streams) == (1, ("default",))


def test_a_failed_export_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"_step": 0, "_time": 0.0, "x": 1})
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fail(_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exports, "csv_cell", fail)
    with pytest.raises(OSError, match="No space"):
        export(tmp_path, target)
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.jsonl", "out.csv"]


def test_an_export_never_overwrites_the_run_itself(tmp_path: Path) -> None:
    write(tmp_path, {"_step": 0})
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ["metrics.data.jsonl", "spans.jsonl", "console.jsonl", "artifacts.jsonl"]:
        with pytest.raises(QueryError, match="run's own file"):
            export(tmp_path, tmp_path / name)
    with pytest.raises(QueryError, match="run's own file"):
        export(tmp_path / "metrics.jsonl", tmp_path / "run.json", "jsonl")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(QueryError, match="ending names no format"):
        export(tmp_path, tmp_path / "out")
    with pytest.raises(QueryError, match="'parquet'"):
        export(tmp_path, tmp_path / "out", "xlsx")  # type: ignore[arg-type]
    with pytest.raises(RunNotFoundError):
        export(tmp_path, tmp_path / "out.csv", stream="nothing")


def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    write(tmp_path, *({"_step": i, "_time": 0.0} for i in range(5)))
    calls: list[tuple[int, int]] = []
    export(tmp_path, tmp_path / "out.csv", progress=lambda *call: calls.append(call))
    assert calls[-1] == (10, 10)


def test_a_run_without_rows_makes_a_table_without_rows(tmp_path: Path) -> None:
    write(tmp_path)
    export(tmp_path, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


def test_exports_of_several_threads_to_one_file_all_succeed(tmp_path: Path) -> None:
    write(tmp_path, *({"_step": i, "_time": 0.0} for i in range(5)))
    meet = threading.Barrier(2)

    def run() -> None:
        # Both are within their writing when the first of them ends.
        calls = iter([meet.wait])
        export(tmp_path, tmp_path / "out.jsonl", progress=lambda *_: next(calls, int)())
        ended.append(1)

    ended: list[int] = []
    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ended) == 2
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.jsonl", "out.jsonl"]


def test_parquet_without_pyarrow_is_refused_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(b'{"_step":0,"loss":1}\n')
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    line = re.escape(f"Parquet needs pyarrow: {install_command('arrow')}")
    with pytest.raises(MissingExtraError, match=line):
        export(tmp_path, tmp_path / "out.parquet")


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_json_text_is_strict_and_names_what_is_not_finite(tmp_path: Path, kind: str) -> None:
    run = write(
        tmp_path,
        {"_step": 0, "_time": 0.0, "l": [1.0, math.nan], "m": 3.5},
        {"_step": 1, "_time": 0.0, "m": [math.inf, -math.inf]},
        {"_step": 2, "_time": 0.0, "m": math.nan},
    )
    rows = export_and_read(run, kind)
    if kind == "csv":
        assert [row["l"] for row in rows] == ['[1.0, "NaN"]', "", ""]
        assert [row["m"] for row in rows] == ["3.5", '["Infinity", "-Infinity"]', "NaN"]
    else:
        assert rows[0]["l"] == [1.0, "NaN"]
        assert rows[1]["m"] == ["Infinity", "-Infinity"]
        assert math.isnan(rows[2]["m"])
