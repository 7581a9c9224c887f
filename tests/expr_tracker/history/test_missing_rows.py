"""Rows that a file had and has no longer: every reader says so, and so it stays after a resume."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

import expr_tracker as et
from expr_tracker.history import read_history, verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 300


@pytest.fixture
def path(tmp_path: Path) -> Path:
    et.init(project="p", name="r", dir=tmp_path, capture=False)
    for step in range(ROWS):
        et.log({"loss": step / 2})
    et.finish(quiet=True)
    return tmp_path / "p" / "r" / "metrics.jsonl"


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def cut(path: Path) -> int:
    path.write_bytes(b"".join(lines_of(path)[:200]))
    return 100


def emptied(path: Path) -> int:
    path.write_bytes(b"")
    return ROWS


def without_the_middle(path: Path) -> int:
    lines = lines_of(path)
    path.write_bytes(b"".join(lines[:100] + lines[150:]))
    return 50


def written_anew(path: Path) -> int:
    path.write_bytes(b'{"_step":0,"_time":1.0,"loss":1.0}\n')
    return ROWS - 1


CASES = [cut, emptied, without_the_middle, written_anew]


@pytest.mark.parametrize("damage", CASES)
@pytest.mark.parametrize("kind", ["dict", "polars", "arrow", "pandas"])
def test_every_reader_says_how_many_rows_are_gone(
    path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], int], kind: str
) -> None:
    gone = damage(path)
    with caplog.at_level(logging.WARNING):
        found: Any = read_history(path.parent, -1, output_type=kind)
    assert len(found) == ROWS - gone
    assert f"{gone} rows that the file had are gone" in caplog.text


@pytest.mark.parametrize("damage", CASES)
def test_verify_counts_them_also_after_a_resume_which_warns(
    path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], int]
) -> None:
    gone = damage(path)
    assert verify(path.parent).streams[0].missing_rows == gone
    with caplog.at_level(logging.WARNING):
        et.init(project="p", name="r", dir=path.parents[2], capture=False)
    assert f"{gone} rows that the file had are gone" in caplog.text
    assert et.info()["loss"]["degraded"] == {"missing rows of metrics.jsonl": gone}
    et.log({"loss": 7.0})
    et.finish(quiet=True)
    report = verify(path.parent)
    assert report.streams[0].missing_rows == gone
    assert any(f"{gone} rows that the file had are gone" in text for text in report.problems)


def test_nothing_is_missing_of_a_run_that_was_resumed_rewound_and_killed(tmp_path: Path) -> None:
    for _ in range(3):
        run = et.init(project="p", name="r", dir=tmp_path, capture=False)
        for _ in range(50):
            et.log({"loss": 1.0})
        run.rewind(run.step - 10)
        et.log({"loss": 2.0})
        et.finish(quiet=True)
    assert verify(tmp_path / "p" / "r").problems == []


def test_a_torn_last_line_is_told_of_once(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = path.read_bytes()
    last_row = content.rindex(b'{"_step"')
    path.write_bytes(content[: content.index(b"\n", last_row) - 7])
    report = verify(path.parent).streams[0]
    assert (report.torn_bytes > 0, report.missing_rows) == (True, 0)
    et.init(project="p", name="r", dir=path.parents[2], capture=False)
    et.finish(quiet=True)
    assert "that the file had" not in caplog.text
    assert verify(path.parent).problems == []


def test_a_digit_that_flipped_is_found_by_verify_with_its_lines(path: Path) -> None:
    content = bytearray(path.read_bytes())
    at = content.index(b'"loss":100.0') + len(b'"loss":')
    content[at] = ord("9")
    path.write_bytes(bytes(content))
    report = verify(path.parent).streams[0]
    assert report.unreadable == 0
    assert report.changed_lines is not None
    first, last = report.changed_lines
    assert first <= 201 <= last
    assert last - first < 150
    assert any("not those that were written" in text for text in report.problems)


def test_zeros_where_lines_were_are_told_of_by_every_reader(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = lines_of(path)
    gone = b"".join(lines[100:150])
    path.write_bytes(b"".join(lines[:100]) + bytes(len(gone)) + b"".join(lines[150:]))
    for kind in ("dict", "polars", "arrow", "pandas"):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            found: Any = read_history(path.parent, -1, output_type=kind)
        assert len(found) == ROWS - 50
        assert f"{len(gone)} zero bytes stood where lines were" in caplog.text
    problems = verify(path.parent).problems
    assert any(
        f"{len(gone)} zero bytes where lines were, in front of line" in text for text in problems
    )
