"""Runs that earlier versions wrote answer what they answered then, and can be continued."""

from __future__ import annotations

import importlib.util
import json
import logging
import math
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import expr_tracker as et
from expr_tracker.history import read_history, status_of

if TYPE_CHECKING:
    from types import ModuleType

HERE = Path(__file__).parent
Row = dict[str, Any]


def loaded(path: Path) -> ModuleType:
    """Return the program that makes the folders; it is no module that could be imported."""
    spec = importlib.util.spec_from_file_location("conformance_make", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = loaded(HERE / "make.py")
CASES = sorted(path.parent for path in HERE.glob("*/*/answers.json"))


@pytest.fixture(params=CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def case(request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Path:
    """A copy: what is read here must not change what later tests read."""
    caplog.set_level(logging.ERROR, logger="expr_tracker")  # damage is what some are for
    copy: Path = tmp_path / request.param.name
    shutil.copytree(request.param, copy)
    return copy


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_there_are_cases_of_every_version() -> None:
    versions = {case.parent.name for case in CASES}
    assert {"0.4", make.version()} <= versions
    assert {case.name for case in CASES if case.parent.name == make.version()} == set(make.CASES)


def test_a_run_answers_what_it_answered_when_it_was_made(case: Path) -> None:
    before = content(case)
    assert make.answers(case / "run") == json.loads((case / "answers.json").read_bytes())
    assert content(case) == before


@pytest.mark.parametrize("output", ["pandas", "polars", "arrow"])
def test_every_table_shows_the_rows_that_were_logged(case: Path, output: str) -> None:
    for asked in json.loads((case / "answers.json").read_bytes())["questions"]:
        rows = [restored(row) for row in asked["rows"]]
        table = read_history(case / "run", output_type=output, **asked["question"])
        got = cells(table)
        assert set(asked["types"]) == set(got)
        for name in {name for row in rows for name in row}:
            for place, row in enumerate(rows):
                aside = got.get(f"{name}#json", [None] * len(rows))[place]
                cell = got[name][place] if aside is None else json.loads(aside)
                wanted = row.get(name)
                assert is_same(cell, wanted, output), (name, place, cell, wanted)


def restored(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"float"}:
            return float(value["float"])
        return {key: restored(item) for key, item in value.items()}
    return [restored(item) for item in value] if isinstance(value, list) else value


def cells(table: Any) -> dict[str, list[Any]]:
    if not isinstance(table, pd.DataFrame):
        found: dict[str, list[Any]] = (
            table.to_pydict() if hasattr(table, "to_pydict") else table.to_dict(as_series=False)
        )
        return found
    return {
        name: [
            None if not isinstance(cell, (list, dict)) and pd.isna(cell) else cell
            for cell in table[name].tolist()
        ]
        for name in table.columns
    }


def with_words(value: Any) -> Any:
    """Return a value as a table's JSON text has it: non-finite numbers are the texts of their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    if isinstance(value, dict):
        return {name: with_words(member) for name, member in value.items()}
    return [with_words(member) for member in value] if isinstance(value, list) else value


def is_same(cell: Any, wanted: Any, output: str) -> bool:
    if isinstance(wanted, (list, dict)):
        if isinstance(cell, str):
            return repr(json.loads(cell)) == repr(with_words(wanted))
        return repr(cell) == repr(wanted)
    if isinstance(wanted, float) and math.isnan(wanted):
        return cell is None if output == "pandas" else math.isnan(cell)
    if isinstance(wanted, str):
        # Only lines of older programs hold half a surrogate pair.
        return bool(cell == wanted.encode("utf-8", "backslashreplace").decode())
    return bool(cell == wanted)


def test_a_run_can_be_continued(case: Path) -> None:
    run = case / "run"
    before = read_history(run, -1)
    et.init("conformance", run_dir=run, capture=False)
    et.log({"loss": 0.5, "continued": True})
    et.finish()
    rows = read_history(run, -1)
    assert repr(rows[:-1]) == repr(before)
    assert rows[-1]["continued"] is True
    assert rows[-1]["_step"] == (before[-1]["_step"] + 1 if before else 0)
    assert len(json.loads((case / "answers.json").read_bytes())["streams"]) > 1 or (
        status_of(run) == "succeeded"
    )


@pytest.mark.acceptance
@pytest.mark.skipif(sys.platform != "linux", reason="other systems name a process otherwise")
def test_the_folders_of_this_version_are_made_the_same_again(tmp_path: Path) -> None:
    """A difference is a change of the format: look at it, then run ``make.py``."""
    for name in make.CASES:
        make.make(tmp_path, name)
        assert content(tmp_path / name) == content(HERE / make.version() / name), name
