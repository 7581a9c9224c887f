"""Plain files take the short way, all others the long one, and both give the same table."""

from __future__ import annotations

import math
import struct
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from expr_tracker.history import plain, read_history
from expr_tracker.history.location import producers_of
from expr_tracker.history.plain import plain_table
from expr_tracker.history.question import ask
from expr_tracker.history.source import Source
from expr_tracker.store.lines import encode_line

ROWS: list[dict[str, Any]] = [
    {"_step": step, "_time": 1.5 + step, "loss": step / 3, "count": step} for step in range(600)
]
END = {"_attempt_end": 1, "_status": "succeeded", "_time": 9.0}


def written(folder: Path, rows: list[dict[str, Any]], tail: bytes = b"") -> Path:
    (folder / "metrics.jsonl").write_bytes(b"".join(map(encode_line, rows)) + tail)
    return folder


def short_way(run: Path, **keywords: Any) -> Any:
    question = ask(
        -1, **{"output_type": "polars", "metrics": None, "step_range": None, "include_meta": True,
               "fill_missing": False, "dropna": False, "attempt": None, **keywords}
    )  # fmt: skip
    with Source.offline(producers_of(run)[0]) as source:
        return plain_table(source, question)


@pytest.fixture(autouse=True)
def _every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "PLAIN_BYTES_MIN", 0)


@pytest.mark.parametrize("tail", [b"", encode_line(END)], ids=["open", "ended"])
def test_a_plain_file_takes_the_short_way(tmp_path: Path, tail: bytes) -> None:
    frame = short_way(written(tmp_path, ROWS, tail))
    assert frame.to_dicts() == ROWS
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.Float64, pl.Int64]


def changed(place: int, **members: Any) -> list[dict[str, Any]]:
    return [*ROWS[:place], {**ROWS[place], **members}, *ROWS[place + 1 :]]


NOT_PLAIN = {
    "a name more": changed(300, extra=1.0),
    "a name less": [*ROWS[:300], {"_step": 300, "_time": 2.0, "loss": 1.0}, *ROWS[301:]],
    "another name": [
        *ROWS[:300], {"_step": 300, "_time": 2.0, "loss": 1.0, "other": 1}, *ROWS[301:]
    ],
    "NaN": changed(300, loss=math.nan),
    "text": changed(300, loss="high"),
    "a number as text": changed(300, loss="5"),
    "truth": changed(300, count=True),
    "list": changed(300, loss=[1.0]),
    "null": changed(300, loss=None),
    "a float among whole numbers": changed(300, count=2.5),
    "beyond 64 bits": changed(300, count=2**63),
    "a whole number that a float rounds": changed(300, loss=2**53 + 1),
    "a patch": [*ROWS, {"_step": 7, "_time": 2.0, "loss": 1.0, "count": 1}],
    "a second attempt": [*ROWS[:300], {"_attempt": 2, "_from_step": 100}, *ROWS[300:]],
}  # fmt: skip


@pytest.mark.parametrize("rows", NOT_PLAIN.values(), ids=NOT_PLAIN.keys())
def test_what_is_not_plain_takes_the_long_way(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    assert short_way(written(tmp_path, rows)) is None


@pytest.mark.parametrize(
    "damage", [b'{"_step": 1', b"\0\0\0\n", b"garbage\n", b'{"a":1}{"a":2}\n']
)
def test_damage_takes_the_long_way_and_loses_no_row(tmp_path: Path, damage: bytes) -> None:
    run = written(tmp_path, ROWS[:300], damage + b"\n" + b"".join(map(encode_line, ROWS[300:])))
    assert short_way(run) is None
    assert read_history(run, -1, output_type="polars").height == len(ROWS)


def test_columns_can_be_chosen(tmp_path: Path) -> None:
    run = written(tmp_path, ROWS)
    assert short_way(run, metrics="loss").columns == ["_step", "_time", "loss"]
    assert short_way(run, metrics=["*t*"], include_meta=False).columns == ["count"]
    assert short_way(run, metrics=["nothing"]) is None


def test_arrow_and_pandas_tables_are_the_same(tmp_path: Path) -> None:
    run = written(tmp_path, ROWS)
    assert short_way(run, output_type="arrow").to_pylist() == ROWS
    assert short_way(run, output_type="pandas").to_dict("records") == ROWS


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("d", struct.pack("Q", bits))[0]),
)


@given(
    st.lists(
        st.fixed_dictionaries({"x": numbers, "y": st.floats(allow_nan=False, width=32)}),
        min_size=1,
        max_size=40,
    )
)
def test_both_ways_give_the_same_table(values: list[dict[str, Any]]) -> None:
    rows = [{"_step": i, "_time": float(i), **value} for i, value in enumerate(values)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        run = written(Path(folder), rows)
        patch.setattr(plain, "PLAIN_BYTES_MIN", 0)
        short = short_way(run)
        patch.setattr(plain, "PLAIN_BYTES_MIN", 1 << 40)
        long = read_history(run, -1, output_type="polars")
    if short is not None:
        assert_frame_equal(short, long, check_exact=True)
