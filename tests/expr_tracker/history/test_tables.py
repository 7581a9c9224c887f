"""Tables: every library shows what the rows say."""

from __future__ import annotations

import json
import logging
import math
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expr_tracker.history import read_history
from expr_tracker.history.columns import Columns
from expr_tracker.store.lines import encode_line

Row = dict[str, Any]

numbers = st.one_of(
    st.floats(), st.integers(-3, 3), st.sampled_from([2**53 + 1, -(2**63), 2**63 - 1])
)
beyond = st.sampled_from([2**63, 2**64 + 1, -(10**30), 10**400])
anything = st.one_of(
    numbers,
    beyond,
    st.booleans(),
    st.none(),
    st.sampled_from(["", "text", "\ud800"]),
    st.lists(st.floats() | st.text(max_size=2), max_size=2),
)
#: Most columns have one kind; the last has all.
data = st.fixed_dictionaries(
    {},
    optional={
        "loss": st.floats(),
        "count": st.integers(-(2**63), 2**63 - 1),
        "flag": st.booleans(),
        "note": st.text(max_size=3),
        "mixed": anything,
        "number": numbers,
        'odd"\\': st.floats(),
        "": st.integers(0, 3),
        "a": st.dictionaries(
            st.sampled_from(["b", "c", "b/c"]),
            st.integers(0, 3) | st.just("text") | st.just({"c": 0.5, "d": {}}),
            max_size=2,
        ),
        "a/b": st.integers(0, 3),
    },
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    lines: list[bytes] = []
    step = 0
    for _ in range(draw(st.integers(0, 25))):
        jump = draw(st.sampled_from([1, 1, 1, 2, 0, -2]))
        step += jump
        lines.append(encode_line({"_step": step, "_time": float(len(lines)), **draw(data)}))
        if draw(st.integers(0, 12)) == 0:
            lines.append(encode_line({"_attempt": 2, "_from_step": draw(st.integers(0, 9))}))
    return b"".join(lines)


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and bool(one == other)


def shown(values: list[Any], *, nan_is_missing: bool) -> list[Any]:
    """The rule of a column: what a table shows of these values."""
    kind = kind_of(values)
    if kind is float:
        return [
            _as_float(v, nan_is_missing=nan_is_missing)
            if isinstance(v, (bool, int, float))
            else None
            for v in values
        ]
    if kind is int:
        return [int(v) if isinstance(v, (bool, int)) else None for v in values]
    if kind is bool:
        return [v if isinstance(v, bool) else None for v in values]
    return values


def kind_of(values: list[Any]) -> type | None:
    """The kind of a column of numbers; ``None`` for any other."""
    kinds = set(map(type, values))
    if float in kinds or any(type(v) is int and not -(2**63) <= v < 2**63 for v in values):
        return float
    return int if int in kinds else bool if bool in kinds else None


def aside(values: list[Any]) -> list[Any]:
    """What stands as JSON in the second column; all ``None`` where there is none."""
    kind = kind_of(values)
    if kind is None:
        return [None] * len(values)
    return [
        in_words(v)
        if isinstance(v, (str, list, dict)) or (kind is float and is_rounded(v))
        else None
        for v in values
    ]


def in_words(value: Any) -> Any:
    """What strict JSON holds of a value: the word of each number that it cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, dict):
        return {name: in_words(member) for name, member in value.items()}
    return [in_words(member) for member in value] if isinstance(value, list) else value


def is_rounded(value: Any) -> bool:
    if type(value) is not int:
        return False
    try:
        return int(float(value)) != value
    except OverflowError:
        return True


def _as_float(value: float, *, nan_is_missing: bool) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if nan_is_missing and math.isnan(number) else number


def text_forms(values: list[Any]) -> list[Any]:
    """Texts as polars and Arrow hold them; all JSON where lists or dicts are among them."""
    is_json = any(isinstance(value, (list, dict)) for value in values)
    texts = [
        json.dumps(in_words(v), ensure_ascii=False) if is_json and v is not None else v
        for v in values
    ]
    return [plain(value) for value in texts]


def plain(value: Any) -> Any:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def cells(table: Any, name: str) -> list[Any]:
    if isinstance(table, pd.DataFrame):
        return [
            None if (not isinstance(v, list) and pd.isna(v)) else v for v in table[name].tolist()
        ]
    if isinstance(table, pl.DataFrame):
        return table[name].to_list()
    values: list[Any] = table[name].to_pylist()
    return values


def column_names(table: Any) -> list[str]:
    return list(table.column_names if isinstance(table, pa.Table) else table.columns)


def check(table: Any, rows: list[Row]) -> None:
    wanted = dict.fromkeys(name for row in rows for name in row)
    asides = {name: aside([row.get(name) for row in rows]) for name in wanted}
    with_aside = [name for name in wanted if any(v is not None for v in asides[name])]
    names = column_names(table)
    assert sorted(names) == sorted([*wanted, *(f"{name}#json" for name in with_aside)])
    assert names[:2] == list(wanted)[:2]
    for name in with_aside:
        assert names[names.index(name) + 1] == f"{name}#json"
        found = cells(table, f"{name}#json")
        texts = [None if cell is None else json.loads(cell) for cell in found]
        assert all(map(is_same_or_list, texts, asides[name])), (name, texts, asides[name])
    is_pandas = isinstance(table, pd.DataFrame)
    for name in wanted:
        expected = shown([row.get(name) for row in rows], nan_is_missing=is_pandas)
        if is_pandas and any(isinstance(value, (list, dict)) for value in expected):
            # Objects are what was logged, as it was logged.
            assert str(table[name].dtype) == "object"
        else:
            expected = text_forms(expected)
        got = cells(table, name)
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert is_same_or_list(one, other), (name, got, expected)


def is_same_or_list(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return is_same(one, other)


@settings(deadline=None, max_examples=120)
@given(
    files(),
    st.sampled_from(["pandas", "polars", "arrow"]),
    st.sampled_from([-1, 3, 1000]),
    st.sampled_from([None, ["loss", "mixed"], "n*", ["absent", "flag"], ["_step", "note"]])
    | st.sampled_from([["a/b"], "a/*", ["a", "a/b/c"], ["*/c", "a/b"], "*", "*/*", "a/c"]),
    st.booleans(),
    st.booleans(),
)
def test_every_table_shows_what_the_rows_say(
    content: bytes, output: str, n: int, metrics: Any, dropna: bool, fill: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.jsonl"
        path.write_bytes(content)
        keywords: Row = {"metrics": metrics, "dropna": dropna, "fill_missing": fill}
        rows = read_history(path, n, **keywords)
        table = read_history(path, n, output_type=output, **keywords)
    if rows:
        check(table, rows)
    else:
        assert table.shape == (0, 0)


@pytest.mark.parametrize("output", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("first", [0.0, "text", None])
def test_a_list_with_a_number_that_json_cannot_hold_stands_as_the_rows_say(
    tmp_path: Path, output: str, value: float, first: Any
) -> None:
    path = tmp_path / "metrics.jsonl"
    values = [first, [value], {"a": [value, 1.0]}]
    path.write_bytes(
        b"".join(
            encode_line({"_step": step, "_time": 1.0, "mixed": one})
            for step, one in enumerate(values)
        )
    )
    rows = read_history(path, -1)
    assert str(rows[1]["mixed"]) == str([value])
    check(read_history(path, -1, output_type=output), rows)


@given(st.lists(data, max_size=12), st.lists(st.integers(0, 11), max_size=6))
def test_columns_give_back_the_cells_that_were_put_in(rows: list[Row], order: list[int]) -> None:
    columns = Columns.from_rows(rows)
    columns.append_columns(Columns.from_rows(rows))
    kept = [at for at in order if at < columns.length]
    doubled = [*rows, *rows]
    for table, expected in ((columns, doubled), (columns.taken(kept), [doubled[i] for i in kept])):
        for name, column in table.by_name.items():
            got = [cell for cell in column.cells() if cell is not pl]
            want = [row[name] for row in expected if name in row]
            present = [c for c, row in zip(got, expected, strict=True) if name in row]
            assert len(present) == len(want)
            assert all(map(is_same_or_list, present, want))


def test_a_stray_text_among_numbers_stands_beside_them_and_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [{"_step": i, "_time": 0.0, "loss": 0.5 if i != 3 else "oops"} for i in range(10)]
    for output in ("pandas", "polars", "arrow"):
        run = tmp_path / output
        run.mkdir()
        (run / "metrics.jsonl").write_bytes(b"".join(map(encode_line, lines)))
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="expr_tracker"):
            table = read_history(run, -1, output_type=output)
        assert cells(table, "loss") == [0.5] * 3 + [None] + [0.5] * 6
        assert cells(table, "loss#json") == [None] * 3 + ['"oops"'] + [None] * 6
        (warning,) = caplog.messages
        assert "'loss'" in warning
        assert "1 other value" in warning
        assert "'loss#json'" in warning
        assert read_history(run, -1)[3]["loss"] == "oops"


def test_whole_numbers_that_a_float_rounds_stand_beside_it_exactly(tmp_path: Path) -> None:
    values = [0.5, 2**53, 2**53 + 1, 2**70, 2**70 + 1, 10**400]
    lines = [{"_step": i, "id": value} for i, value in enumerate(values)]
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(map(encode_line, lines)))
    frame = read_history(tmp_path, -1, output_type="polars")
    assert frame["id"].to_list() == [0.5, 2.0**53, 2.0**53, 2.0**70, 2.0**70, None]
    exact = [None if text is None else json.loads(text) for text in frame["id#json"]]
    assert exact == [None, None, 2**53 + 1, None, 2**70 + 1, 10**400]


def test_a_metric_of_the_second_columns_name_stays_what_it_is(tmp_path: Path) -> None:
    lines = [{"_step": i, "a": i or "x", "a#json": 7} for i in range(2)]
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(map(encode_line, lines)))
    frame = read_history(tmp_path, -1, output_type="polars")
    assert frame.columns == ["_step", "a", "a#json#json", "a#json"]
    assert frame["a#json"].to_list() == [7, 7]
    assert frame["a#json#json"].to_list() == ['"x"', None]


def test_two_second_columns_never_have_one_name(tmp_path: Path) -> None:
    lines = [{"_step": i, "a": i or "x", "a#json": i or "y"} for i in range(2)]
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(map(encode_line, lines)))
    frame = read_history(tmp_path, -1, output_type="polars")
    assert frame.columns == ["_step", "a", "a#json#json", "a#json", "a#json#json#json"]
    assert frame["a#json#json"].to_list() == ['"x"', None]
    assert frame["a#json#json#json"].to_list() == ['"y"', None]


def test_the_second_column_comes_with_the_metric_that_is_asked_for(tmp_path: Path) -> None:
    lines = [{"_step": i, "_time": 0.0, "a": i or "x", "b": i or [1]} for i in range(3)]
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(map(encode_line, lines)))
    for n in (-1, 3):
        frame = read_history(tmp_path, n, metrics="b", output_type="polars", include_meta=False)
        assert frame.columns == ["b", "b#json"]
        assert frame["b#json"].to_list() == ["[1]", None, None]
        # The newest rows have numbers only, so nothing stands aside.
        assert read_history(tmp_path, 2, metrics="b", output_type="pl").columns[-1] == "b"


def test_what_a_table_cannot_show_is_said_once_for_each_column_of_a_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [{"_step": i, "a": i or "x", "b": i or "y"} for i in range(3)]
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(map(encode_line, lines)))
    with caplog.at_level(logging.WARNING, logger="expr_tracker"):
        for output in ("pandas", "polars", "arrow"):
            read_history(tmp_path, 2, step_range=(0, 9), output_type=output)
            read_history(tmp_path, -1, output_type=output)
            read_history(tmp_path, -1, metrics="a", output_type=output)
    assert [("'a'" in text, "'b'" in text) for text in caplog.messages] == [
        (True, False),
        (False, True),
    ]


def test_kinds_of_columns_are_those_promised(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"whole": 1, "flag": True, "both": True, "half": 1, "text": "a", "big": 2**70},
        {"whole": 2, "flag": False, "both": 3, "half": 0.5, "big": 1},
    ]
    lines = [{"_step": i, "_time": 0.0, **row} for i, row in enumerate(rows)]
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(map(encode_line, lines)))
    frame = read_history(tmp_path, -1, output_type="polars")
    assert dict(frame.schema) == {
        "_step": pl.Int64,
        "_time": pl.Float64,
        "whole": pl.Int64,
        "flag": pl.Boolean,
        "both": pl.Int64,
        "half": pl.Float64,
        "text": pl.String,
        "big": pl.Float64,
    }
    assert read_history(tmp_path, -1, output_type="df")["flag"].dtype == bool


@pytest.mark.parametrize("output", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("n", [-1, 5, 0])
def test_no_rows_make_an_empty_table(tmp_path: Path, output: str, n: int) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(b"")
    assert read_history(tmp_path, n, output_type=output).shape == (0, 0)


@pytest.mark.parametrize("output", ["dict", "arrow"])
@pytest.mark.parametrize(
    "damaged",
    [
        b'{"_step":1,"x":1}{"_step":2,"x":"\n',
        b'{"_step":1,\n"x":1}\n',
        b'\n{"_step":1,"x":1}{"step":2,"x":1}\n',  # an empty line makes up for the glued one
    ],
)
def test_half_a_row_glued_to_another_and_a_row_cut_by_a_line_end_are_damage(
    tmp_path: Path, damaged: bytes, output: str
) -> None:
    good = [encode_line({"_step": step, "x": 1}) for step in (0, 9)]
    (tmp_path / "metrics.jsonl").write_bytes(good[0] + damaged + good[1])
    rows = read_history(tmp_path, -1, output_type=output)
    steps = [row["_step"] for row in (rows if output == "dict" else rows.to_pylist())]
    assert steps == [0, 9]


def test_a_column_is_judged_by_the_cells_that_are_left() -> None:
    for first, second, kind in [(2**70, 1, "int"), (0.5, "a", "text"), ("a", True, "bool")]:
        column = Columns.from_rows([{"x": first}]).by_name["x"]
        column.put(0, second)
        assert column.kind() == kind
        assert list(column.cells()) == [second]
        assert column.aside() == {}


@pytest.mark.parametrize("later", [0.5, 7, "text", None])
def test_a_whole_number_that_a_patch_replaced_leaves_no_trace(later: Any) -> None:
    column = Columns.from_rows([{"x": 2**53 + 1}, {"x": 2**53 + 1}]).by_name["x"]
    column.put(0, later)
    column.put(1, 0.25)
    assert list(column.cells()) == [later, 0.25]
    assert column.aside() == ({0: "text"} if later == "text" else {})


def test_polars_and_arrow_tell_a_missing_value_from_nan(tmp_path: Path) -> None:
    lines: list[Row] = [{"_step": 0, "loss": math.nan}, {"_step": 1}, {"_step": 2, "loss": 1.0}]
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(map(encode_line, lines)))
    frame = read_history(tmp_path, -1, output_type="polars")
    assert frame["loss"].is_nan().to_list() == [True, None, False]
    table = read_history(tmp_path, -1, output_type="arrow")
    assert table["loss"].null_count == 1


def strict(text: str) -> Any:
    def fail(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    return json.loads(text, parse_constant=fail)


NONFINITE: list[Row] = [
    {"l": [1.0, math.nan], "m": 3},
    {"m": [math.inf, {"deep": -math.inf}]},
    {"l": "text"},
]
IN_WORDS: Row = {
    "l": [[1.0, "NaN"], None, "text"],
    "m#json": [None, ["Infinity", {"deep": "-Infinity"}], None],
}


@pytest.mark.parametrize("output", ["polars", "arrow"])
def test_the_json_text_of_a_table_is_strict_and_names_what_is_not_finite(
    tmp_path: Path, output: str
) -> None:
    path = tmp_path / "metrics.jsonl"
    rows = [{"_step": step, "_time": 0.0, **row} for step, row in enumerate(NONFINITE)]
    path.write_bytes(b"".join(map(encode_line, rows)))
    table = read_history(path, -1, output_type=output)
    for name, wanted in IN_WORDS.items():
        found = cells(table, name)
        assert [None if text is None else strict(text) for text in found] == wanted


def test_polars_decodes_the_json_text_of_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    rows = [{"_step": i, "l": [float(i), v]} for i, v in enumerate([math.nan, 0.5, -math.inf])]
    path.write_bytes(b"".join(map(encode_line, rows)))
    column = read_history(path, -1, output_type="polars")["l"]
    decoded = column.str.json_decode(pl.List(pl.String)).cast(pl.List(pl.Float64)).to_list()
    assert repr(decoded) == repr([[0.0, math.nan], [1.0, 0.5], [2.0, -math.inf]])
