"""A run stays where it was opened, wherever the program goes from there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from expr_tracker.history import list_streams, read_history, status_of, verify
from expr_tracker.history.status import find_runs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.conftest import Start

pytestmark = pytest.mark.acceptance

#: Everything that a run writes behind `init`: parts, spans, media, artifacts, console, system stream,
#: summary, definitions, journal and index of the keeper's rounds.
LOGS_EVERYTHING = """
import expr_tracker as et
import os, sys, threading

os.makedirs("elsewhere")
open("model.txt", "w").write("weights")
run = et.init("p", "n", capture_console=True, system_metrics=True, max_file_bytes=2_000)
artifact = et.Artifact("model").add_file("model.txt")

def log(first):
    os.chdir(os.path.dirname(first))
    for step in range(100):
        with run.span("step"):
            run.log({"x": step})

et.log({"x": -1})
os.chdir("elsewhere")
print("printed behind the change")
thread = threading.Thread(target=log, args=(os.path.abspath(__file__),))
thread.start()
thread.join()
os.chdir("elsewhere")
et.log({"picture": et.Image([[0.0, 1.0]])})
et.define_metric("x", unit="m")
et.log_artifact(artifact)
run.flush(commit_open=True)
assert len(et.history(-1)) == 102
assert et.use_artifact("model").download().joinpath("model.txt").read_text() == "weights"
assert os.path.isabs(run.dir)
et.finish()
"""


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_program_that_changes_its_directory_writes_one_whole_run(
    run_program: Start, tmp_path: Path
) -> None:
    program = run_program(LOGS_EVERYTHING)
    directory = tmp_path / "runs" / "p" / "n"
    assert list(find_runs(tmp_path)) == [directory]
    assert files_below(tmp_path / "elsewhere") == []
    report = verify(directory)
    assert report.problems == []
    assert status_of(directory) == "succeeded"
    assert [row["_step"] for row in read_history(directory, -1)] == list(range(102))
    assert list_streams(directory) == [None, "system"]
    written = files_below(directory)
    for name in ("about.json", "artifacts.jsonl", "console.jsonl", "environment.json"):
        assert name in written, program.errors
    assert "printed behind the change" in (directory / "console.jsonl").read_text()
    assert any(name.startswith("media/") for name in written)
    assert any(name.startswith("metrics.jsonl.parts/") for name in written)


def test_the_environment_is_that_of_the_directory_in_which_the_run_began(
    run_program: Start, tmp_path: Path
) -> None:
    run_program(
        """
        import os, threading
        import expr_tracker as et
        from expr_tracker.run import companions

        os.makedirs("elsewhere")
        may_look = threading.Event()
        capture = companions.Companions._capture
        companions.Companions._capture = lambda self: (may_look.wait(), capture(self))
        et.init("p", "n")
        os.chdir("elsewhere")
        may_look.set()
        et.finish()
        """
    )
    environment = (tmp_path / "runs" / "p" / "n" / "environment.json").read_text()
    assert f'"directory": "{tmp_path}"' in environment


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_that_changed_its_directory_joins_the_run_by_its_path(
    run_program: Start, forking: str, tmp_path: Path
) -> None:
    script = """
run = et.init("p", "n", capture=False)
os.makedirs("elsewhere")

def stays():
    child = et.init("p", "n", stream="stays", capture=False)
    os.chdir("elsewhere")
    child.log({"x": 1})
    et.log({"x": 2})
    et.finish()

def goes():
    os.chdir("elsewhere")
    et.init("p", run_dir=run.dir, stream="goes", capture=False)
    et.log({"x": 1})
    et.log({"x": 2})
    et.finish()

assert in_child(stays) == 0
assert in_child(goes) == 0
os.chdir("elsewhere")
et.log({"x": 0})
et.finish()
"""
    run_program(forking + script)
    directory = tmp_path / "runs" / "p" / "n"
    assert list(find_runs(tmp_path)) == [directory]
    report = verify(directory)
    assert report.problems == []
    assert {stream.label: stream.rows for stream in report.streams} == {
        "default": 1,
        "goes": 2,
        "stays": 2,
    }


def test_the_lines_of_a_run_name_it_as_it_is_seen_from_where_the_program_stands(
    run_program: Start, tmp_path: Path
) -> None:
    program = run_program(
        """
        import logging, os
        import expr_tracker as et

        logging.basicConfig(level=logging.INFO)
        et.init("p", "n", capture=False)
        os.makedirs("elsewhere")
        os.chdir("elsewhere")
        et.finish()
        """
    )
    assert "is logged to runs/p/n." in program.errors
    assert f"pending 0 bytes. {tmp_path}/runs/p/n" in program.errors


def test_a_follower_keeps_to_its_run(run_program: Start) -> None:
    run_program(
        """
        import os
        import expr_tracker as et
        from expr_tracker.history import follow

        run = et.init("p", "n", capture=False)
        follower = follow("runs/p/n")
        os.makedirs("elsewhere")
        os.chdir("elsewhere")
        et.log({"x": 1})
        run.flush()
        assert [row["x"] for row in follower.poll()] == [1]
        et.finish()
        """
    )
