"""Whatever is wrong with the words of a command line is one line on standard error, and exit code 2.

The bad inputs are made from the commands themselves, so a new option or command is in the table.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner, Result

from expr_tracker.cli import COMMANDS, main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def commands(
    command: click.Command = main, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from commands(found, (*path, name))


def required(command: click.Command) -> list[str]:
    """Return a word for every argument that the command must have."""
    words = []
    for param in command.params:
        if isinstance(param, click.Argument) and param.required:
            is_choice = isinstance(param.type, click.Choice)
            words.append(param.type.choices[0] if is_choice else "x")  # type: ignore[attr-defined]
    return words


def bad_inputs() -> Iterator[tuple[list[str], str]]:
    """Yield command lines and what has to be said of them."""
    for path, command in commands():
        words = [*path, *required(command)]
        yield [*words, "--qqqqqqqq"], "No such option --qqqqqqqq: there are "
        yield [*words, "-Q"], "No such option -Q: there are "
        if isinstance(command, click.Group):
            yield [*path, "qqqqqqqq"], "No such command 'qqqqqqqq': there are "
            continue
        if len(words) > len(path):
            yield words[:-1], "Missing argument"
        if not any(
            isinstance(p, click.Argument) and (not p.required or p.nargs < 0)
            for p in command.params
        ):
            yield [*words, "extra"], "unexpected extra argument (extra)"
        for param in command.params:
            if isinstance(param, click.Option):
                yield from bad_values(words, param)
            elif isinstance(param.type, click.Choice):
                yield [*path, "qqqqqqqq"], "'qqqqqqqq' is not one of "


def bad_values(words: list[str], option: click.Option) -> Iterator[tuple[list[str], str]]:
    name = max(option.opts, key=len)
    if name.startswith("--"):
        yield [*words, name[:-1] + "q"], f"No such option {name[:-1]}q: did you mean {name[:-1]}"
    if option.is_flag:
        yield [*words, f"{name}=1"], f"'{name}' does not take a value"
        return
    yield [*words, name], f"'{name}' requires an argument"
    if isinstance(option.type, click.Choice):
        yield [*words, name, "qqqqqqqq"], "'qqqqqqqq' is not one of "
    if name == "--rank":
        yield [*words, name, "0,x"], "--rank 0,x: expected a whole number from 0"
        yield [*words, name, " "], "expected a whole number from 0"
        yield [*words, name, "-1"], "--rank -1: expected a whole number from 0"
        yield [*words, name, "x"], "--rank x: expected a whole number from 0"
        yield [*words, name, "٣"], "--rank ٣: expected a whole number from 0"
        yield [*words, name, "9" * 5000], "expected a whole number from 0"


CASES = list(bad_inputs())


def et(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="et")


@pytest.mark.parametrize(("arguments", "text"), CASES, ids=[" ".join(c)[:80] for c, _ in CASES])
def test_a_wrong_command_line_is_one_line_that_names_the_help(
    arguments: list[str], text: str
) -> None:
    result = et(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert text in result.stderr
    if not result.stderr.startswith("Error: --rank"):
        path = [word for word, _ in zip(arguments, range(2), strict=False) if word.islower()]
        known = [path for path, _ in commands()]
        while tuple(path) not in known:
            path.pop()
        assert result.stderr.endswith(f"({' '.join(['et', *path])} --help shows how)\n")


def test_the_table_of_bad_inputs_meets_every_command() -> None:
    assert len(CASES) > 100
    for path, _ in commands():
        assert any(case[: len(path)] == list(path) for case, _ in CASES), path


@pytest.mark.parametrize("path", [[], ["artifact"]])
def test_a_group_without_a_command_shows_its_help(path: list[str]) -> None:
    result = et(*path)
    assert result.exit_code == 0
    assert result.stdout == et(*path, "--help").stdout
    assert "Commands:" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message", "command"),
    [
        (["histroy"], "No such command 'histroy': did you mean history?", "et"),
        (["history"], "Missing argument 'RUN'.", "et history"),
        (
            ["trace", "x", "--sumary"],
            "No such option --sumary: did you mean --summary?",
            "et trace",
        ),
        (["artifact", "lst"], "No such command 'lst': did you mean list?", "et artifact"),
        (["ls", "a", "c\x1b[31m"], "Got unexpected extra argument (c\\x1b[31m)", "et ls"),
    ],
)
def test_the_program_itself_says_the_line_and_ends_with_2(
    arguments: list[str], message: str, command: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "expr_tracker", *arguments],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    line = f"Error: {message} ({command} --help shows how)\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", line)


def test_every_command_of_the_table_exists() -> None:
    assert {path[0] for path, _ in commands() if path} == set(COMMANDS)


def test_the_console_script_is_a_group_that_a_runner_invokes(tmp_path: Path) -> None:
    assert isinstance(main, click.Group)
    assert CliRunner().invoke(main, ["--version"]).output.startswith("et, version ")
    for arguments in (["history", str(tmp_path / "none")], ["nosuch"], ["history", "--nosuch"]):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 2
        assert result.output.startswith("Error: ")
        assert result.output.count("\n") == 1


def test_a_program_adds_commands_to_the_group_and_the_group_to_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @click.command()
    def mine() -> None:
        """Do what only this laboratory does."""
        click.echo("done")

    monkeypatch.setattr(main, "commands", {})
    main.add_command(mine)
    assert CliRunner().invoke(main, ["mine"]).output == "done\n"
    shown = CliRunner().invoke(main, ["--help"]).output
    assert "Do what only this laboratory does." in shown
    assert "Show the rows of a run." in shown
    result = CliRunner().invoke(main, ["mime"])
    assert "did you mean mine?" in result.output

    @click.group()
    def laboratory() -> None:
        """Everything."""

    laboratory.add_command(main)
    result = CliRunner().invoke(laboratory, ["et", "history", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert result.output.startswith("Error: There is no run at ")


#: Arguments and options that are paths without a type of their own.
PATHS = {"where", "against", "output", "run", "file", "directory", "temp_dir"}


def places_of_paths() -> Iterator[list[str]]:
    """Yield command lines with ``LONG`` in each place where a path may stand, dots in the others."""
    for words, command in commands():
        if isinstance(command, click.Group):
            continue
        arguments = [param for param in command.params if isinstance(param, click.Argument)]
        for param in command.params:
            if param.name in PATHS:
                line = [
                    "LONG" if each is param else "."
                    for each in arguments
                    if each.required or each is param
                ]
                option = [param.opts[0], "LONG"] if isinstance(param, click.Option) else []
                needed = ["--format", "csv"] if words == ("export",) else []
                yield [*words, *line, *option, *needed]


@pytest.mark.parametrize("long", ["x" * 5000, "/".join(["x" * 200] * 25)], ids=["name", "path"])
@pytest.mark.parametrize("words", list(places_of_paths()), ids=" ".join)
def test_a_path_that_is_too_long_is_one_line_and_exit_code_2(
    words: list[str], long: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [long if word == "LONG" else word for word in words]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metrics.jsonl").write_text('{"_step":0,"a":1}\n')
    (tmp_path / "artifacts").mkdir()
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 2000


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["rescue", "saved.json", "."], "Did you mean 'saved.jsonl'"),
        (["rescue", "nothing", "."], "There are: metrics.jsonl, runs, saved.jsonl, spans.jsonl."),
        (["ls", "run"], "Did you mean 'runs'?"),
        (["ls", "nothing/below"], "There are: runs."),
        (["trace", ".", "-o", "nothing/trace.json"], "There are: runs."),
        (["trace", ".", "--temp-dir", "run"], "Did you mean 'runs'?"),
    ],
    ids=" ".join,
)
def test_what_is_missing_is_said_with_what_is_there(
    words: list[str], offered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("metrics.jsonl", "saved.jsonl"):
        (tmp_path / name).write_text('{"_step":0,"a":1}\n')
    (tmp_path / "spans.jsonl").write_text('{"name":"a","start":1,"dur_ms":1}\n')
    (tmp_path / "runs").mkdir()
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2, result.output
    assert offered in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "both"),
    [
        *(
            (["history", "RUN", "--attempts", *option], (option[0], "--attempts"))
            for option in (
                ["-n", "3"],
                ["--metrics", "a"],
                ["--metric", "a"],
                ["--step-range", "1:2"],
                ["--dropna"],
                ["--attempt", "1"],
            )
        ),
        *(
            ([command, "RUN/metrics.jsonl", *more, *option], (option[0], "metrics.jsonl"))
            for command, more in (
                ("history", []),
                ("history", ["--attempts"]),
                ("export", ["--format", "csv"]),
                ("trace", []),
                ("console", []),
            )
            for option in (["--stream", "data"], ["--rank", "3"])
        ),
        (["trace", "RUN", "--summary", "-o", "x.json"], ("--output", "--summary")),
        (["ls", "--reverse"], ("--reverse", "--sort")),
    ],
    ids=" ".join,
)
def test_an_option_that_would_do_nothing_beside_another_is_refused_with_both(
    words: list[str], both: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "RUN").mkdir()
    (tmp_path / "RUN" / "metrics.jsonl").write_text('{"_step":0,"a":1}\n')
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2, result.output
    assert all(word in result.stderr for word in both), result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "RUN"]
