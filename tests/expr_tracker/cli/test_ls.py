"""`et ls`: which runs it lists, in which order, and with which columns."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st

from expr_tracker.cli import main
from expr_tracker.store.documents import write_document, write_once
from expr_tracker.store.lines import encode_line


def et(*arguments: object) -> Result:
    # Without the width of the terminal that the tests run in.
    return CliRunner(env={"COLUMNS": None}).invoke(main, ["ls", *map(str, arguments)])


def make(root: Path, name: str, *, status: str = "succeeded", config: Any, **row: Any) -> None:
    run = root / "llm" / name
    run.mkdir(parents=True)
    write_once(run / "run.json", {"id": name, "created": row.pop("started", 5.0)})
    end = {"_attempt_end": 1, "_status": status, "_time": 2.0}
    lines = [{"_step": 0, "_time": 1.0, **row}, end]
    (run / "metrics.jsonl").write_bytes(b"".join(map(encode_line, lines)))
    write_document(run / "config.json", config)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make(tmp_path, "a", config={"lr": 0.3, "model": {"width": 64}}, loss=2.0, acc=0.5, started=7.0)
    make(tmp_path, "b", config={"lr": 0.1}, loss=math.nan, acc=0.75, status="failed")
    make(tmp_path, "c", config={"lr": "auto"}, loss=1.0, started=6.0)
    make(tmp_path, "d", config={"lr": 0.2}, acc=0.5, status="failed", started=8.0)
    return tmp_path


def names(root: Path, *arguments: object) -> list[str]:
    result = et(root, *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    table = [line.split()[1] for line in result.stdout.splitlines()[1:]]
    listed = [run["name"] for run in json.loads(et(root, *arguments, "--format", "json").stdout)]
    assert table == listed
    return listed


def test_several_metrics_and_settings_are_shown_each_in_its_column(root: Path) -> None:
    asked = ("--metric", "loss", "--metric", "acc", "--config", "lr", "--config", "model/width")
    lines = et(root, *asked).stdout.splitlines()
    assert lines[0].split()[7:] == ["loss", "acc", "lr", "model/width"]
    assert [line.split()[8:] for line in lines[1:]] == [
        ["2", "0.5", "0.3", "64"],
        ["nan", "0.75", "0.1"],
        ["1", "auto"],
        ["0.5", "0.2"],
    ]
    listed = json.loads(et(root, *asked, "--format", "json").stdout)
    assert [run["metric"]["acc"] for run in listed] == [0.5, 0.75, None, 0.5]
    assert [run["config"]["lr"] for run in listed] == [0.3, 0.1, "auto", 0.2]
    assert listed[0]["config"]["model/width"] == 64
    assert listed[1]["_nonfinite"] == {"/metric/loss": "NaN"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--sort", "started"], "bcad"),
        (["--sort", "started", "--reverse"], "dacb"),
        (["--sort", "status"], "bdac"),
        (["--sort", "loss"], "cabd"),
        (["--sort", "loss", "--reverse"], "acbd"),
        (["--metric", "acc", "--sort", "acc", "--reverse"], "badc"),
        (["--config", "lr", "--sort", "lr"], "bdac"),
        (["--config", "lr", "--sort", "lr", "--reverse"], "cadb"),
        (["--status", "failed"], "bd"),
        (["--status", "failed", "--status", "succeeded"], "abcd"),
        (["--status", "succeeded", "--sort", "loss"], "ca"),
    ],
    ids=" ".join,
)
def test_runs_are_sorted_and_chosen(root: Path, arguments: list[str], expected: str) -> None:
    assert "".join(names(root, *arguments)) == expected


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text())


@settings(deadline=None, max_examples=30)  # each makes several runs
@given(st.lists(VALUES, min_size=1, max_size=6))
@example([math.nan, 1.0, None, "text"])
def test_whatever_the_values_are_none_is_lost_and_those_without_one_come_last(
    values: list[Any],
) -> None:
    settled = dict(zip("abcdef", values, strict=False))
    missing = [name for name, value in settled.items() if repr(value) in {"None", "nan"}]
    with tempfile.TemporaryDirectory() as folder:
        for name, value in settled.items():
            make(Path(folder), name, config={"x": value})
        for reverse in ([], ["--reverse"]):
            result = et(folder, "--config", "x", "--sort", "x", *reverse, "--format", "json")
            order = [run["name"] for run in json.loads(result.stdout)]
            assert sorted(order) == sorted(settled)
            assert order[len(order) - len(missing) :] == missing
            found = [settled[name] for name in order if name not in missing]
            numbers = [value for value in found if isinstance(value, (int, float))]
            assert numbers == sorted(numbers, reverse=bool(reverse))


def test_a_metric_that_only_the_order_names_is_shown_too(root: Path) -> None:
    assert et(root, "--sort", "loss").stdout.splitlines()[0].split()[-1] == "loss"


def test_names_of_columns_stay_apart_whatever_metrics_and_settings_are_called(
    tmp_path: Path,
) -> None:
    make(tmp_path, "a", config={"rows": 1, "lr": 2}, rows=9, lr=3)
    make(tmp_path, "b", config={"rows": 2, "lr": 1}, rows=8, lr=4)
    asked = ["--metric", "rows", "--metric", "lr", "--config", "rows", "--config", "lr"]
    title = et(tmp_path, *asked).stdout.splitlines()[0]
    assert title.split("  ")[-4:] == ["metric rows", "lr", "config rows", "config lr"]
    for order, expected in {
        "rows": "ab", "metric rows": "ba", "lr": "ab", "config rows": "ab", "config lr": "ba",
    }.items():  # fmt: skip
        listed = json.loads(et(tmp_path, *asked, "--sort", order, "--format", "json").stdout)
        assert "".join(run["name"] for run in listed) == expected, order


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["--config", "model.width"], " Did you mean 'model/width'?"),
        (["--sort", "los"], " Did you mean 'loss'?"),
        (["--sort", "laststep"], " Did you mean 'last_step'?"),
        (["--metric", "zz"], ""),
    ],
)
def test_what_no_run_has_is_said_with_what_was_probably_meant(
    root: Path, arguments: list[str], meant: str
) -> None:
    result = et(root, *arguments)
    said = f"{' '.join(arguments)}: no run here has a value of it.{meant}\n"
    assert (result.exit_code, result.stderr) == (0, said)
    assert len(result.stdout.splitlines()) == 5


def test_a_status_that_no_run_has_is_named(root: Path) -> None:
    result = et(root, "--status", "lost", "--status", "running")
    assert result.stdout == f"No runs that are lost or running below {root}.\n"
    assert json.loads(et(root, "--status", "lost", "--format", "json").stdout) == []


def test_a_reversal_of_no_order_is_refused(root: Path) -> None:
    result = et(root, "--reverse")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: --reverse is for --sort, which is not given.")


def test_a_run_that_cannot_be_read_is_listed_without_values(root: Path) -> None:
    (root / "llm" / "bad" / "metrics.jsonl").mkdir(parents=True)
    result = et(root, "--metric", "acc", "--config", "lr", "--sort", "acc", "--reverse")
    assert [line.split()[1] for line in result.stdout.splitlines()[1:]] == [
        "b",
        "a",
        "d",
        "bad",
        "c",
    ]
    assert "bad is unreadable" in result.stderr
    assert names_of_unreadable(root) == ["bad"]


def names_of_unreadable(root: Path) -> list[str]:
    result = et(root, "--status", "unreadable", "--format", "json")
    return [run["name"] for run in json.loads(result.stdout)]
