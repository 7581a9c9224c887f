from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.search.language import series_from_name
from tests.mapi.search.rows import RUN_IDS, acting, insert

from mapi.errors import InvalidError
from mapi.search import (
    Row,
    Search,
    evaluate,
    page_statements,
    parse_columns,
    parse_filter,
    parse_sort,
)
from mapi.search.literals import is_number
from mapi.search.nodes import Metric

if TYPE_CHECKING:
    from tests.mapi.search.conftest import Doors

FOLDER = Path(__file__).parents[2] / "conformance" / "search"
FAULTS = json.loads((FOLDER / "faults.json").read_text(encoding="utf-8"))
EXAMPLES = json.loads((FOLDER / "examples.json").read_text(encoding="utf-8"))
NOW = datetime.fromisoformat(EXAMPLES["now"])
PARSERS = {"filter": parse_filter, "sort": parse_sort, "columns": parse_columns}


@pytest.mark.parametrize(
    "case", FAULTS, ids=[f"{one['given']}: {one['text']!a}"[:60] for one in FAULTS]
)
def test_a_fault_says_where_what_and_what_was_expected(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidError) as caught:
        PARSERS[case["given"]](case["text"], series_from_name=series_from_name)
    (fault,) = caught.value.faults
    said = {
        "given": fault.pointer.removeprefix("/query/"),
        "text": case["text"],
        "offset": fault.offset,
        "length": fault.length,
        "message": fault.message,
        "expected": list(fault.expected),
    }
    assert said == case


def row_from(number: int, given: dict[str, Any]) -> Row:
    row: dict[str, Any] = {"note": "", "user": "", "started": None, "finished": None}
    row |= {
        "parent": None,
        "external_id": None,
        "attempts": 0,
        "experiment": None,
        "tags": {},
        **given,
    }
    row["id"] = f"run_{RUN_IDS[number]}"
    row["created"] = datetime.fromisoformat(given["created"])
    if row["experiment"]:
        row["experiment"] = {"id": given["experiment"], "name": "base"}
    row["params"] = {
        key: {"text": text, "number": float(text) if is_number(text) else None}
        for key, text in given.get("params", {}).items()
    }
    row["metrics"] = {}
    for name, found in given.get("metrics", {}).items():
        (column,) = parse_columns(f"metrics.{name}", series_from_name=series_from_name)
        assert isinstance(column, Metric)
        finite = found["count"] - found["nonfinite"]
        mean = {"mean": found["sum"] / finite} if finite else {}
        summary = {**found, **mean, "last": float(found["last"])}
        row["metrics"][column.key, column.labels] = summary
    return row


ROWS = {
    name: row_from(number, given) for number, (name, given) in enumerate(EXAMPLES["rows"].items())
}


@pytest.mark.parametrize("case", EXAMPLES["cases"], ids=lambda case: case["filter"] or "blank")
def test_an_example_finds_its_rows_in_memory(case: dict[str, Any]) -> None:
    tree = parse_filter(case["filter"], series_from_name=series_from_name)
    found = [name for name, row in ROWS.items() if evaluate(tree, row, NOW) is True]
    assert found == case["finds"]


def test_every_example_finds_its_rows_in_the_database(doors: Doors) -> None:
    names = {row["id"]: name for name, row in ROWS.items()}
    with doors.owner.transaction(force_rollback=True):
        insert(doors, doors.owner, list(ROWS.values()))
        acting(doors, doors.owner)
        for case in EXAMPLES["cases"]:
            tree = parse_filter(case["filter"], series_from_name=series_from_name)
            (statement,) = page_statements(Search(doors.project_id, NOW, tree), 50)
            rows = doors.owner.execute(statement.text, statement.parameters).fetchall()
            found = {names[f"run_{row[-1]}"] for row in rows}
            assert found == set(case["finds"]), case["filter"]
