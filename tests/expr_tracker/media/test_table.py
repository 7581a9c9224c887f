from __future__ import annotations

import datetime as dt
import json
import logging
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import expr_tracker.media.content
from expr_tracker.errors import NameRefusedError
from expr_tracker.media import Image, Table, media_path, read_table

if TYPE_CHECKING:
    from pathlib import Path

DAY = dt.date(2026, 1, 2)


def stored(table: Table, directory: Path) -> dict[str, Any]:
    return read_table(media_path(directory, table.reference(directory / "media")))


FORMS = {
    "rows": Table(["a", "b"], [[1, "x"], (2, "y")]),
    "an iterator of rows": Table(iter(["a", "b"]), (row for row in [[1, "x"], [2, "y"]])),
    "records": Table(data=[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]),
    "columns": Table(data={"a": [1, 2], "b": ["x", "y"]}),
    "selected columns": Table(["a", "b"], {"b": ["x", "y"], "c": [0, 0], "a": [1, 2]}),
    "pandas": Table(frame=pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})),
    "pandas as data": Table(data=pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})),
    "a named index": Table(frame=pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).set_index("a")),
    "polars": Table(frame=pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})),
}


@pytest.mark.parametrize("table", FORMS.values(), ids=FORMS.keys())
def test_every_form_gives_the_same_table(table: Table, tmp_path: Path) -> None:
    assert stored(table, tmp_path) == {"columns": ["a", "b"], "data": [[1, "x"], [2, "y"]]}


def test_records_with_other_names_leave_gaps_and_an_empty_table_is_one(tmp_path: Path) -> None:
    table = Table(data=[{"a": 1}, {"b": 2}])
    assert stored(table, tmp_path) == {"columns": ["a", "b"], "data": [[1, None], [None, 2]]}
    assert stored(Table(["a"]), tmp_path) == {"columns": ["a"], "data": []}


def test_cells_are_plain_values_and_the_file_is_strict_json(tmp_path: Path) -> None:
    table = Table(["a"], [[math.nan], [np.float32(0.5)], [DAY], [{"k": [math.inf]}], ["\ud800"]])
    reference = table.reference(tmp_path / "media")
    path = media_path(tmp_path, reference)

    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(path.read_bytes(), parse_constant=refuse)
    data = read_table(path)["data"]
    assert math.isnan(data[0][0])
    assert data[1:] == [[0.5], ["2026-01-02"], [{"k": [math.inf]}], ["\\ud800"]]
    assert reference["_type"] == "table"
    assert (reference["rows"], reference["columns"]) == (5, 1)
    assert path.name.endswith(".table.json")


def test_a_cell_without_a_plain_form_is_its_repr_and_its_column_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "expr_tracker"):
        table = Table(["f", "n"], [[len, 1], [len, 2]])
    assert stored(table, tmp_path)["data"] == [[repr(len), 1], [repr(len), 2]]
    assert len(caplog.records) == 1


def test_images_in_cells_are_stored_beside_and_referenced(tmp_path: Path) -> None:
    image = Image(np.zeros((2, 2)), caption="x")
    table = Table(["image", "label"], [[image, 1], [image, 2]])
    data = stored(table, tmp_path)["data"]
    assert data[0][0] == image.reference(tmp_path / "media")
    assert data[1][0] == data[0][0]
    assert media_path(tmp_path, data[0][0]).is_file()


def test_another_folder_is_named_in_the_cells(tmp_path: Path) -> None:
    table = Table(["image"], [[Image(np.zeros((2, 2)))]])
    first = table.reference(tmp_path / "media")
    second = table.reference(tmp_path / "files")
    cell = read_table(media_path(tmp_path, second))["data"][0][0]
    assert media_path(tmp_path, cell).parts[-3] == "files"
    assert table.reference(tmp_path / "media") == first


def test_a_later_change_of_the_data_changes_nothing(tmp_path: Path) -> None:
    rows = [[[1]]]
    table = Table(["a"], rows)
    rows[0][0].append(2)
    assert stored(table, tmp_path)["data"] == [[[1]]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Table(["a", "b"], [[1]]), "row 0 has 1 cells for 2 columns"),
        (lambda: Table(["a"], ["x"]), "row 0 is 'x'"),
        (lambda: Table(["a", "a"], []), "'a' appears twice"),
        (lambda: Table(data=[[1]]), r"needs columns="),
        (lambda: Table(data={"a": [1], "b": []}), "different lengths"),
        (lambda: Table(["z"], {"a": [1]}), r"\['z'\] are not in the data"),
        (lambda: Table(["a"], [[1]] * 10_001), "10001 rows: the limit is 10000"),
        (lambda: Table(range(1001), []), "1001 columns: the limit is 1000"),
        (lambda: Table(frame=pl.DataFrame({"a": range(10_001)})), "10001 rows"),
    ],
)
def test_what_breaks_a_rule_is_refused_at_construction(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_what_is_no_table_is_refused() -> None:
    for columns, data, frame in (
        ("ab", None, None),
        (["a"], 3, None),
        (["a"], "abc", None),
        (["a"], [], pd.DataFrame()),
    ):
        with pytest.raises(TypeError):
            Table(columns, data, frame=frame)


def test_a_table_over_the_media_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expr_tracker.media.content, "MEDIA_BYTES_MAX", 1000)
    with pytest.raises(ValueError, match="table of"):
        Table(["a"], [["x" * 1000]])


def test_what_is_stored_but_no_table_is_refused(tmp_path: Path) -> None:
    for number, text in enumerate(["[]", "{}", '{"columns": 1, "data": []}', "nonsense"]):
        path = tmp_path / f"{number}.table.json"
        path.write_text(text)
        with pytest.raises(ValueError, match="is no table"):
            read_table(path)
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none")


cells = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n))))
def test_plain_cells_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[Any]]
) -> None:
    width = len(rows[0]) if rows else 1
    table = Table(range(width), rows)
    data = stored(table, tmp_path_factory.mktemp("run"))["data"]
    assert data == rows


def test_columns_and_paths_that_are_none_are_refused_with_what_was_expected() -> None:
    wrong: Any
    for wrong in (5, 1.5, object(), b"ab"):
        with pytest.raises(TypeError, match=r"^columns=.*: expected a list of names"):
            Table(columns=wrong, data=[[1]])
    with pytest.raises(TypeError, match=r"^table column 'a' is 1: expected a list of cells"):
        Table(data={"a": 1})
    for wrong in (5, "", "a\0b", b"table.json"):
        with pytest.raises(NameRefusedError, match=r"^path="):
            read_table(wrong)
