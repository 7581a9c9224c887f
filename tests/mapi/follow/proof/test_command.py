"""`et verify RUN --against mapi`: what it prints and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.mapi.callers import make_token

import expr_tracker as et
from expr_tracker.cli import main

if TYPE_CHECKING:
    from click.testing import Result
    from tests.mapi.follow.conftest import Push
    from tests.mapi.tenants import Tenant

    import mapi


@pytest.fixture(autouse=True)
def _platform(url: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPI_URL", url)
    monkeypatch.setenv("MAPI_TOKEN", make_token(tenant))
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    found = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    for step in range(30):
        et.log({"loss": float(step)}, step=step)
    et.finish()
    return Path(found.dir)


def verified(*words: object) -> Result:
    return CliRunner().invoke(main, ["verify", *map(str, words)])


def test_an_equal_run_is_told_and_ends_with_0(pushed: Push, run: Path) -> None:
    pushed(run)
    done = verified(run, "--against", "mapi")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[-2:] == ["equal to what the platform has", "ok"]
    assert lines[-3].endswith("in p: 1 document, 1 attempt, 30 points, 4 facts compared")


def test_differences_are_a_bounded_table_with_counts_and_end_with_1(
    pushed: Push, run: Path, api: mapi.Client
) -> None:
    (report,) = pushed(run)
    api.runs.delete_points(report.run or "", "loss", first=3, reason="test")
    api.runs.log_series(report.run or "", "loss", [1.5], steps=[99])
    done = verified(run, "--against", "mapi")
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert "differs: 27 points missing there" in lines
    assert "differs: 1 point only there" in lines
    assert lines[-1] == "and 7 more"
    table = lines[lines.index("differs: 27 points missing there") + 1 : -1]
    assert table[0].split() == ["what", "difference", "whose", "name", "step", "files", "platform"]
    assert len(table) == 1 + 20 + 1
    assert "ok" not in lines


def test_json_says_the_same(pushed: Push, run: Path, api: mapi.Client) -> None:
    (report,) = pushed(run)
    api.runs.delete_points(report.run or "", "loss", first=3, last=3, reason="test")
    done = verified(run, "--against", "mapi", "--format", "json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["streams"][0]["rows"] == 30
    against = found["against"]
    assert (against["run"], against["equal"]) == (report.run, False)
    assert against["counts"] == [{"what": "point", "kind": "missing", "count": 1}]
    (difference,) = against["differences"]
    assert (difference["name"], difference["step"], difference["platform"]) == ("loss", 3, None)


def test_what_is_wrong_with_the_files_is_told_beside_an_equal_platform(
    pushed: Push, run: Path
) -> None:
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(b'{"_step": 30, "lo')
    pushed(run)
    done = verified(run, "--against", "mapi")
    assert done.exit_code == 1
    assert "torn last line" in done.stdout
    assert "equal to what the platform has" in done.stdout


def test_a_run_that_the_platform_has_not_ends_with_1(run: Path) -> None:
    done = verified(run, "--against", "mapi")
    assert done.exit_code == 1, done.output
    assert "the project p of the platform has no such run; et push brings it there" in done.stdout


def test_a_platform_that_does_not_answer_is_neither_equal_nor_different(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAPI_URL", "http://127.0.0.1:9")
    done = verified(run, "--against", "mapi")
    assert done.exit_code == 2
    assert "127.0.0.1:9" in done.stderr


def test_a_folder_called_as_the_platform_is_named_by_a_path(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    run.rename("mapi")
    done = verified("mapi", "--against", "./mapi", "--format", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["against"] == {"run": "./mapi", "differences": []}
