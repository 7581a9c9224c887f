"""``-o`` of every command: a file keeps its mode; where nothing can be written, a line says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from expr_tracker.artifacts import ArtifactStore
from expr_tracker.cli import main
from expr_tracker.errors import ArtifactError, QueryError
from expr_tracker.history import export
from expr_tracker.trace import write_trace


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "runs" / "p" / "n"
    directory.mkdir(parents=True)
    (directory / "metrics.jsonl").write_text('{"_step":0,"_time":1.0,"loss":0.5}\n')
    (directory / "spans.jsonl").write_text(
        '{"_step":0,"name":"s","depth":0,"track":1,"start":1.0,"dur_ms":2.0}\n'
    )
    (tmp_path / "model.txt").write_text("weights")
    ArtifactStore(directory.parent / "artifacts").log(tmp_path / "model.txt", name="model")
    Path("here").mkdir()
    Path("loop").symlink_to("loop")
    Path("nowhere").symlink_to("missing/file.csv")
    os.chdir("here")
    return directory


def et(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": None}).invoke(main, [str(word) for word in arguments])


WRONG = [
    "",
    ".",
    "..",
    "../here",
    "../here/",
    "../loop",
    "../loop/x.csv",
    "../nowhere",
    "no/x.csv",
]


@pytest.mark.parametrize("output", WRONG)
@pytest.mark.parametrize(
    "command",
    [
        ["trace"],
        ["trace", "--metrics", "loss"],
        ["export"],
        ["export", "--format", "csv"],
        ["export", "--format", "jsonl", "--stream", "default"],
    ],
    ids=" ".join,
)
def test_an_output_that_can_be_no_file_is_refused_in_one_line_that_names_it(
    run: Path, command: list[str], output: str
) -> None:
    result = et(*command, run, "-o", output)
    assert result.exit_code in ({1} if output == "../loop" else {2}), result.exception
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "names no format" not in result.stderr
    assert (output.rstrip("/") or "''") in result.stderr or "no such folder" in result.stderr
    assert os.listdir() == []


@pytest.mark.parametrize("output", WRONG)
def test_the_library_refuses_the_same_outputs(run: Path, output: str) -> None:
    with pytest.raises((QueryError, OSError)):
        export(run, output, "csv")
    with pytest.raises((QueryError, OSError)):
        write_trace(run, output)
    assert os.listdir() == []


def test_an_artifact_is_not_copied_to_a_folder_without_a_name(run: Path) -> None:
    result = et("artifact", "get", run.parent, "model", "-o", "")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: -o '': ")
    with pytest.raises(ArtifactError, match="root=''"):
        ArtifactStore(run.parent / "artifacts").find("model").download("")
    assert os.listdir() == []
    assert et("artifact", "get", run.parent, "model", "-o", ".").exit_code == 0
    assert os.listdir() == ["model.txt"]


def test_a_working_directory_that_was_removed_is_named(run: Path) -> None:
    Path("gone").mkdir()
    os.chdir("gone")
    Path("../gone").rmdir()
    for command in (
        ["history", "x"],
        ["export", run, "-o", "x.csv"],
        ["export", "x", "--format", "csv"],
        ["trace", run],
        ["artifact", "list", "x"],
    ):
        result = et(*command)
        assert result.exit_code == 2
        assert "working directory" in result.stderr
        assert "was removed" in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_run_that_is_a_link_to_nowhere_is_said_to_be_one(run: Path) -> None:
    for command in (["history"], ["verify"], ["trace"], ["export", "--format", "csv"]):
        for link, target in (("../loop", "loop"), ("../nowhere", "missing/file.csv")):
            result = et(*command, link)
            assert result.exit_code == 2
            assert f"no run at {link}: it is a link to {target}" in result.stderr
            assert "Did you mean" not in result.stderr
    result = et("ls", Path("..", "loop"))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert et("ls", run.parent).exit_code == 0


@pytest.mark.parametrize("command", [["trace"], ["export", "--format", "csv"]], ids=" ".join)
def test_a_file_that_is_replaced_keeps_its_mode_and_a_new_one_has_the_usual(
    run: Path, command: list[str]
) -> None:
    there = Path("there.out")
    there.write_text("old")
    there.chmod(0o640)
    before = os.umask(0o027)
    try:
        for name in ("there.out", "new.out"):
            assert et(*command, run, "-o", name).exit_code == 0
    finally:
        os.umask(before)
    there.chmod(0o604)
    assert et(*command, run, "-o", "there.out").exit_code == 0
    assert there.read_text() != "old"
    assert there.stat().st_mode & 0o777 == 0o604
    assert Path("new.out").stat().st_mode & 0o777 == 0o640
