from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from expr_tracker.cli import main
from expr_tracker.store.lines import encode_line
from expr_tracker.store.lock import StreamLock
from expr_tracker.store.markers import end_marker

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [encode_line({"_step": step, "_time": 5.0 + step, "a": 1}) for step in range(3)]
END = encode_line(end_marker(1, "failed", time=9.0))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "runs" / "p" / "r"
    directory.mkdir(parents=True)
    (directory / "metrics.jsonl").write_bytes(ROWS[0])
    (directory / "run.json").write_bytes(encode_line({"id": "1", "created": 5.0}))
    return directory


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "expr-tracker-metrics-k3x9q2ab.jsonl"
    path.write_bytes(b"".join([*ROWS[1:], END]))
    return path


def et(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["rescue", *map(str, arguments)], prog_name="et")


def test_it_says_what_it_did_and_that_the_file_may_go(run: Path, saved: Path) -> None:
    path = run / "metrics.jsonl"
    added = f"back into {path}, behind those of attempt 1; with 1 marker\n"
    dry = et(saved, run, "--dry-run")
    assert (dry.exit_code, dry.output) == (0, f"2 rows would be put {added}")
    assert path.read_bytes() == ROWS[0]
    kept = f"{saved} is kept; it may be deleted now\n"
    result = et(saved, run)
    assert (result.exit_code, result.output) == (0, f"2 rows put {added}{kept}")
    assert path.read_bytes() == b"".join([*ROWS, END])
    again = et(saved, run)
    nothing = f"nothing to add: {path} has every line of {saved}\n"
    assert (again.exit_code, again.output) == (0, nothing + kept)


def test_damaged_lines_are_numbered_and_end_with_1(run: Path, saved: Path) -> None:
    saved.write_bytes(b"".join([*ROWS[1:], b"damage\n" * 12, END]))
    result = et(saved, run)
    assert result.exit_code == 1
    numbers = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 2 more"
    assert f"damaged lines of {saved}, left out: {numbers}\n" in result.output
    assert "is kept, for its damaged lines too" in result.output


def test_a_part_that_is_there_already_is_counted(run: Path, saved: Path) -> None:
    assert "already" not in et(saved, run, "--dry-run").output
    for row, count in ((ROWS[1], "1 line"), (ROWS[2], "2 lines")):
        with (run / "metrics.jsonl").open("ab") as file:
            file.write(row)
        lines = et(saved, run, "--dry-run").output.splitlines()
        assert lines[1:] == [f"{saved}: {count} already there"]
    assert f"{saved}: 2 lines already there" in et(saved, run).output.splitlines()


def test_what_is_refused_is_one_line_and_exit_code_2(
    run: Path, saved: Path, tmp_path: Path
) -> None:
    lock = StreamLock(run / "metrics.lock")
    lock.acquire("default")
    try:
        held = et(saved, run)
    finally:
        lock.release()
    (tmp_path / "config.json").write_text("{}")
    cases = [
        (held, "is being written by process"),
        (et(tmp_path / "none", run), f"{tmp_path / 'none'}: No such file"),
        (et(tmp_path, run), f"{tmp_path}: Is a directory"),
        (et(tmp_path / "config.json", run), "is no rescue file"),
        (et(saved, tmp_path / "none"), "There is no run at"),
        (et(saved, run, "--stream", "data"), "rows of 'default', not of 'data'"),
        (et("", run), "FILE '' is empty"),
    ]
    for result, text in cases:
        assert result.exit_code == 2, result.output
        assert result.output.startswith("Error: ")
        assert result.output.count("\n") == 1
        assert text in result.output
    assert (run / "metrics.jsonl").read_bytes() == ROWS[0]
