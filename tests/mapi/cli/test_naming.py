"""What people write on the command line in place of an id, and what a wrong word is answered with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pytest
from tests.mapi.callers import make_token
from tests.mapi.cli.test_cli import commands

from mapi.cli import _group
from mapi.cli.asking import PointedError
from mapi.cli.naming import counted, series_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.tenants import Tenant

    from mapi import Client


def test_a_series_is_written_as_lists_print_it() -> None:
    assert series_of("loss", ["split=val"]) == ("loss", {"split": "val"})
    assert series_of("loss{split=val}", []) == ("loss", {"split": "val"})
    assert series_of('loss{split="a b", fold=2}', []) == ("loss", {"split": "a b", "fold": "2"})
    assert series_of("loss{}", []) == ("loss", {})
    # The server says what is wrong with a key.
    assert series_of("Loss", []) == ("Loss", {})


@pytest.mark.parametrize(
    ("word", "labels"),
    [
        ("loss{split}", []),
        ("loss{split=val}", ["fold=2"]),
        ("loss{split=val}.min", []),
        ("loss{split=val},acc", []),
        ("{split=val}", []),
        ("loss", ["split"]),
    ],
)
def test_what_is_no_series_is_refused(word: str, labels: list[str]) -> None:
    with pytest.raises(PointedError):
        series_of(word, labels)


def test_one_is_told_from_several() -> None:
    assert [counted(count, "points") for count in (0, 1, 2)] == ["0 points", "1 point", "2 points"]


def test_a_name_that_begins_as_an_id_does_is_a_name(mapi: Any) -> None:
    made = mapi("experiments", "create", "exp_7").out.strip()
    assert made in mapi("experiments", "show", "exp_7").out
    assert "exp_7" in mapi("experiments", "show", made).out
    assert "did you mean 'exp_7'" in mapi("experiments", "show", "exp_8", code=1).err
    view = mapi("views", "create", "view_of_all", "--filter", "status = running").out.strip()
    assert view in mapi("views", "show", "view_of_all").out


def test_values_of_several_series_are_logged_at_once(mapi: Any, run: str) -> None:
    words = ["loss{split=val}=0.5", "acc{split=val}=nan", "loss=1", "loss{a=b,c=d}=-2"]
    assert mapi("runs", "log-metric", run, *words, "--step", "3").out == "4 points kept\n"
    (point,) = json.loads(mapi("runs", "points", run, "loss{c=d,a=b}", "-o", "json").out)["points"]
    assert (point["step"], point["value"]) == (3, -2.0)
    assert mapi("runs", "log-metric", run, "x=1").out == "1 point kept\n"
    for wrong in ("loss{split=val}", "loss{split=val", "loss{split=val}0.5", "loss{split=val}=x"):
        assert "Error: " in mapi("runs", "log-metric", run, wrong, code=2).err


def test_experiments_and_views_are_named_by_their_names(mapi: Any, run: str) -> None:
    made = mapi("experiments", "create", "learning rates").out.strip()
    mapi("runs", "edit", run, "--experiment", "learning rates")
    assert made in mapi("experiments", "show", "learning rates").out
    mapi("experiments", "edit", "learning rates", "--description", "why")
    mapi("experiments", "archive", "learning rates")
    mapi("experiments", "unarchive", "learning rates")
    said = mapi("experiments", "show", "learning rate", code=1).err
    assert said == (
        "Error: There is no experiment 'learning rate'; did you mean 'learning rates'?\n"
    )
    view = mapi("views", "create", "mine", "--filter", "params.lr < 1").out.strip()
    assert view in mapi("views", "show", "mine").out
    mapi("views", "edit", "mine", "--columns", "params.lr")
    (found,) = json.loads(mapi("runs", "ls", "--view", "mine", "--format", "json").out)
    assert (found["id"], found["params.lr"]) == (run, "0.1")
    assert "saved view 'other'." in mapi("runs", "ls", "--view", "other", code=1).err
    mapi("views", "rm", "mine")
    mapi("experiments", "rm", "learning rates")
    assert json.loads(mapi("experiments", "ls", "--format", "json").out) == []


def test_the_name_of_a_run_is_answered_with_the_way_to_its_id(mapi: Any, run: str) -> None:
    for words in (
        ("show", "first"),
        ("points", "first", "loss"),
        ("rm", "first"),
        ("compare", run, "first"),
    ):
        said = mapi("runs", *words, code=1).err
        assert "There is no run 'first'" in said
        assert 'name = "first"' in said
    found = mapi("runs", "ls", "--filter", 'name = "first"', "--format", "csv").out
    assert run in found
    # An id of nothing is only told.
    other = run[:-4] + "0000"
    assert "name =" not in mapi("runs", "show", other, code=1).err


def test_each_param_that_has_another_value_is_told(mapi: Any, run: str) -> None:
    mapi("runs", "log-param", run, "bs=32")
    said = mapi("runs", "log-param", run, "lr=0.2", "bs=33", "new=1", code=1).err.splitlines()
    assert said[1:] == ["  the param lr is '0.1' already", "  the param bs is '32' already"]


def test_an_export_into_a_folder_that_is_not_there_is_refused(
    mapi: Any, run: str, tmp_path: Path
) -> None:
    target = tmp_path / "no" / "run.csv"
    said = mapi("runs", "export", run, "-o", str(target), code=2).err
    assert said == f"Error: {target.parent} is no folder: make it, or name another file.\n"


def test_a_file_that_cannot_be_imported_is_told_with_its_line(
    mapi: Any, run: str, tmp_path: Path
) -> None:
    target = tmp_path / "run.jsonl"
    mapi("runs", "export", run, "-o", str(target))
    lines = target.read_text().splitlines()
    param = next(at for at, line in enumerate(lines) if '"type":"param"' in line)
    for changed, said in (
        (lines[:-1], f"line {len(lines)}: the file ends without its last line: it is torn"),
        (["id,name", *lines], "line 1: the file is no jsonl export: its first line is no JSON"),
        ([lines[0], "nothing", *lines[1:]], "line 2: the line is no JSON in UTF-8\n"),
        ([*lines[:param], lines[param].replace('"lr"', "5")], f"line {param + 1}, key: "),
        (
            [line.replace('"text":"0.1"', '"text":"0.2"') for line in lines],
            f"line {param + 1}, text: the param lr of that run is '0.1' here",
        ),
    ):
        target.write_text("\n".join([*changed, ""]))
        err = mapi("runs", "import", str(target), code=2).err
        assert err.startswith(f"Error: {target}, {said}"), err


def test_a_reader_that_went_away_is_no_failure(url: str, tenant: Tenant, run: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from mapi.cli import main; main()", "runs", "show", run],
            env=os.environ | {"MAPI_URL": url, "MAPI_TOKEN": make_token(tenant)},
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


ASKING = ("runs", "projects", "experiments", "views")


@pytest.mark.parametrize(
    "path", [path for path in commands(_group) if path[0] in ASKING], ids=" ".join
)
def test_the_help_of_what_asks_a_server_has_an_example(path: tuple[str, ...]) -> None:
    found: Any = _group
    for name in path:
        found = found.get_command(click.Context(found), name)
    assert f"mapi {' '.join(path)}" in found.help


def test_a_conflict_names_the_params_in_its_own_words(mapi: Any, run: str, api: Client) -> None:
    from mapi import ParamConflictError

    with pytest.raises(ParamConflictError, match=r"^1 param has another value already \(lr\);"):
        api.runs.log_params(run, {"lr": 0.2})
    mapi("runs", "log-param", run, *(f"p{at:02}=1" for at in range(12)))
    with pytest.raises(ParamConflictError, match=r"^12 params have .*\(p00, .*p09, …\);"):
        api.runs.log_params(run, {f"p{at:02}": 2 for at in range(12)})


def test_a_series_that_is_not_there_is_answered_with_those_that_are(mapi: Any, run: str) -> None:
    assert mapi("runs", "points", run, "loss", code=1).err == (
        "Error: The run has no series loss.\n"
    )
    for split in ("train", "val"):
        mapi("runs", "log-metric", run, "loss=1", "--step", "0", "--label", f"split={split}")
    for asked in ("loss", "los", "loss{split=tst}"):
        said = mapi("runs", "points", run, asked, code=1).err
        assert said == (
            f"Error: The run has no series {asked}. It has loss{{split=train}}, loss{{split=val}}.\n"
        )
    assert "It has" not in mapi("runs", "points", run, "accuracy", code=1).err
    for at in range(9):
        mapi("runs", "log-metric", run, f"acc={at}", "--label", f"fold={at}")
    assert mapi("runs", "points", run, "acc", code=1).err.endswith("acc{fold=4}, ….\n")


def test_projects_are_made_and_listed(mapi: Any) -> None:
    said = mapi("runs", "create", "--project", "vision", code=2).err
    assert "there is no project 'vision'" in said
    assert "mapi projects create" in said
    assert mapi("projects", "create", "vision").out == "vision\n"
    assert "run_" in mapi("runs", "create", "--project", "vision").out
    rows = mapi("projects", "ls", "--format", "csv").out.splitlines()
    assert [row.split(",")[0] for row in rows] == ["name", "default", "vision"]
    assert mapi("projects", "create", "vision", "--if-exists", "get").out == "vision\n"


@pytest.mark.parametrize("kind", ["projects", "experiments", "views"])
def test_a_name_that_is_taken_is_answered_with_the_option_that_gets_it(
    mapi: Any, kind: str
) -> None:
    mapi(kind, "create", "twice")
    said = mapi(kind, "create", "twice", code=1).err
    assert "--if-exists get" in said
    assert "?" not in said
    mapi(kind, "create", "twice", "--if-exists", "get")
