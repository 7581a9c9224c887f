"""Help: every command has it, it fits the terminal, and its examples run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

import expr_tracker as et
from expr_tracker.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Lines that are to be copied, which no wrapping may break.
COPIED = "fish   et completion fish >"


def paths(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from paths(found, (*path, name))


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("path", list(paths(main)), ids=" ".join)
def test_help_fits_the_terminal_and_no_sentence_is_cut(
    path: tuple[str, ...], columns: int
) -> None:
    result = CliRunner().invoke(main, [*path, "--help"], terminal_width=columns)
    assert result.exit_code == 0
    usage, _, text = result.stdout.partition("\n\n")
    assert usage.startswith("Usage: ")
    assert "Show this message and exit." in " ".join(text.split())
    for line in text.splitlines():
        assert len(line) <= columns or COPIED in line, line
        assert not line.endswith("..."), line


def examples_of(path: tuple[str, ...]) -> list[str]:
    text = CliRunner().invoke(main, [*path, "--help"], terminal_width=100).stdout
    lines = [line.strip() for line in text.partition("Options:")[0].splitlines()]
    # Two spaces end a command of the list in `et --help`; the rest of the line explains it.
    return [line.partition("  ")[0] for line in lines if line.startswith("et ")]


def cut_rows(path: Path, folder: Path) -> None:
    """Leave one row in a file, and the others in the rescue files of the examples."""
    first, *others = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first)
    path.with_name("metrics.meta.json").unlink()  # of a disk that has no room for it either
    for name in ("expr-tracker-metrics-k3x9q2ab.jsonl", "saved.jsonl"):
        (folder / name).write_bytes(b"".join(others))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which every example has what it speaks of."""
    folder = tmp_path_factory.mktemp("examples")
    checkpoint = folder / "model"
    checkpoint.write_bytes(b"weights")
    et.init(
        project="llm",
        name="sft-1",
        dir=folder / "runs",
        config={"lr": 0.1},
        capture_console=True,
        capture=False,
    )
    for step in range(99, 202):
        with et.span("step"):
            et.log({"loss": 1 / step, "eval/acc": 0.5}, step=step)
    et.log_artifact(checkpoint, aliases=["best"])
    et.finish()
    et.init(project="llm", name="sft-1", dir=folder / "runs", stream="data", capture=False)
    et.log({"ms": 1.0})
    et.finish()
    shutil.copytree(folder / "runs" / "llm" / "sft-1", folder / "backup" / "sft-1")
    et.init(project="llm", name="two", dir=folder / "runs", capture=False)
    et.log({"loss": 0.5})
    et.log({"loss": 0.25})
    et.finish()
    cut_rows(folder / "runs" / "llm" / "two" / "metrics.jsonl", folder)
    checkpoint.unlink()
    return folder


#: The first has none that does anything to see; those of the second need a platform, and run in its tests.
ELSEWHERE = {("completion",), ("push",), ("ui",)}
#: An example with it asks a platform too; it runs in `tests/mapi/follow/proof/test_command.py`.
ON_A_PLATFORM = "--against mapi"


@pytest.mark.parametrize("path", [path for path in paths(main) if path not in ELSEWHERE])
def test_help_teaches_with_examples_that_run(path: tuple[str, ...], prepared: Path) -> None:
    examples = [example for example in examples_of(path) if ON_A_PLATFORM not in example]
    assert len(examples) >= 2
    for example in examples:
        command = example.replace("et ", f"'{sys.executable}' -m expr_tracker ", 1)
        ended = subprocess.run(
            command,
            shell=True,
            cwd=prepared,
            env=os.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, ""), example
