"""Parts that are gone: every reader says so, once, and reads what is left."""

from __future__ import annotations

import logging
import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from expr_tracker.cli import export as export_command
from expr_tracker.cli import history as history_command
from expr_tracker.cli import ls as ls_command
from expr_tracker.cli import trace as trace_command
from expr_tracker.cli import verify as verify_command
from expr_tracker.console import read_console
from expr_tracker.history import compare, export, follow, list_attempts, read_history, verify
from expr_tracker.history.answer import answer
from expr_tracker.history.location import producers_of
from expr_tracker.history.question import ask
from expr_tracker.history.source import Source
from expr_tracker.history.status import overview_of
from expr_tracker.notices import Notices
from expr_tracker.options import make_options
from expr_tracker.store.documents import write_once
from expr_tracker.store.files import RunFiles, parts_of
from expr_tracker.store.live import LiveSnapshot
from expr_tracker.store.writer import LineWriter
from expr_tracker.testing import ManualClock
from expr_tracker.trace import build_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import click

WORD = "000002.jsonl is missing, with it 2 rows of steps within 0 to 3"


def writer_of(path: Path) -> LineWriter:
    options = make_options({"max_file_bytes": 2 * len(b'{"_step":0,"_time":0.0,"x":0.0}\n')})
    return LineWriter(
        path, options, lock=threading.RLock(), clock=ManualClock(), notices=Notices()
    )


def put(writer: LineWriter, steps: range) -> None:
    for step in steps:
        writer.append_row({"_step": step, "_time": float(step), "x": step / 2}, step)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "runs" / "p" / "one"
    directory.mkdir(parents=True)
    files = RunFiles(directory)
    write_once(files.identity, {"id": "1", "created": 5.0, "project": "p", "name": "one"})
    writer = writer_of(files.metrics)
    put(writer, range(9))
    writer.close({})
    return directory


@pytest.fixture
def broken(run: Path) -> Path:
    (parts_of(run / "metrics.jsonl") / "000002.jsonl").unlink()
    return run


READERS: dict[str, Callable[[Path, Path], Any]] = {
    "the newest rows": lambda run, _: read_history(run, 2),
    "all rows": lambda run, _: read_history(run, -1),
    "rows of other steps": lambda run, _: read_history(run, 5, step_range=(7, 9)),
    "several streams": lambda run, _: read_history(run, -1, stream="*"),
    "polars": lambda run, _: read_history(run, -1, output_type="polars"),
    "arrow": lambda run, _: read_history(run, -1, output_type="arrow"),
    "pandas": lambda run, _: read_history(run, -1, output_type="pandas"),
    "an export": lambda run, other: export(run, other / "out.jsonl"),
    "a follower": lambda run, _: follow(run).poll(),
    "attempts": lambda run, _: list_attempts(run),
    "an overview": lambda run, _: overview_of(run),
    "a timeline": lambda run, _: build_trace(run, metrics=["x"]),
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_warns_once_of_a_part_that_is_gone(
    broken: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    READERS[name](broken, tmp_path)
    assert [record.getMessage().count(WORD) for record in caplog.records] == [1]


@pytest.mark.parametrize("name", READERS)
def test_no_reader_warns_of_a_whole_run(
    run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    READERS[name](run, tmp_path)
    assert caplog.records == []


def test_what_is_left_is_read(broken: Path) -> None:
    rows = read_history(broken, -1)
    assert [row["_step"] for row in rows] == [0, 1, 4, 5, 6, 7, 8]


def test_comparing_with_a_run_that_has_lost_a_part_warns_of_it(
    broken: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other"
    shutil.copytree(broken, other)
    assert compare(broken, other) == []
    assert [WORD in record.getMessage() for record in caplog.records] == [True, True]


def test_verifying_names_the_part_and_blames_the_sidecar_for_nothing(broken: Path) -> None:
    report = verify(broken)
    assert report.problems == [f"default: part {WORD}"]


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (history_command.command, []),
        (history_command.command, ["--attempts"]),
        (export_command.command, ["--format", "jsonl", "-o", "{other}/out.jsonl"]),
        (trace_command.command, ["-o", "{other}/trace.json", "--metrics", "x"]),
    ],
)
def test_a_command_says_it_in_one_line_on_standard_error(
    broken: Path, tmp_path: Path, command: click.Command, arguments: list[str]
) -> None:
    words = [word.format(other=tmp_path) for word in arguments]
    result = CliRunner().invoke(command, [str(broken), *words])
    assert result.exit_code == 0, result.output
    assert [WORD in line for line in result.stderr.splitlines()] == [True]


def test_a_list_of_runs_says_which_has_lost_rows(broken: Path) -> None:
    result = CliRunner().invoke(ls_command.command, [str(broken.parent)])
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert str(broken) in line
    assert WORD in line


def test_verify_ends_with_1_and_names_the_part(broken: Path) -> None:
    result = CliRunner().invoke(verify_command.command, [str(broken)])
    assert result.exit_code == 1
    assert f"wrong: default: part {WORD}" in result.stdout


def test_lost_parts_of_captured_output_are_known_by_their_numbers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "console.jsonl"
    path.write_bytes(b'{"_time":1.0,"source":"stdout","text":"a"}\n')
    parts_of(path).mkdir()
    (parts_of(path) / "000002.jsonl").write_bytes(b'{"_time":0.0,"text":"b"}\n')
    assert [line["text"] for line in read_console(path)] == ["b", "a"]
    assert "000001.jsonl is missing" in caplog.text


def test_a_live_reader_reads_what_is_left_and_says_it_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "metrics.jsonl"
    writer = writer_of(path)
    writer.index.block_lines = 1
    put(writer, range(9))
    (parts_of(path) / "000002.jsonl").unlink()
    with Source.live(path, LiveSnapshot(writer.index.copy(), [], None)) as source:
        rows = source.rows(0, source.size)
        chosen = answer(source, ask(-1, step_range=(6, 8)))
        source.report()
    assert [row["_step"] for row in chosen] == [6, 7]
    assert [row["_step"] for row in rows] == [0, 1, 4, 5, 6, 7, 8]
    assert ["000002.jsonl is missing" in record.getMessage() for record in caplog.records] == [
        True
    ]
    writer.close({})


def test_a_follower_says_again_only_what_is_new(
    run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    follower = follow(run)
    assert len(follower.poll()) == 9
    assert caplog.records == []
    (parts_of(run / "metrics.jsonl") / "000002.jsonl").unlink()
    follower.poll()
    follower.poll()
    assert [WORD in record.getMessage() for record in caplog.records] == [True]


def test_a_part_alone_is_read_as_it_is(broken: Path, caplog: pytest.LogCaptureFixture) -> None:
    part = parts_of(broken / "metrics.jsonl") / "000003.jsonl"
    assert [row["_step"] for row in read_history(part, -1)] == [4, 5]
    assert caplog.records == []
    assert producers_of(part)[0].path == part
