"""Rows that a file had and has no longer: every reader says so, and so it stays after a resume."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

import expr_tracker as et
from expr_tracker.history import read_history, verify
from expr_tracker.history import source as source_module
from expr_tracker.store.reader import LineFile

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


def resume(path: Path, rows: int = 1) -> None:
    et.init(project="p", name="r", dir=path.parents[2], capture=False)
    for _ in range(rows):
        et.log({"loss": 7.0})
    et.finish(quiet=True)


def test_nothing_is_missing_once_the_rows_are_back(path: Path) -> None:
    whole = path.read_bytes()
    cut(path)
    resume(path)
    later = path.read_bytes()[len(b"".join(whole.splitlines(keepends=True)[:200])) :]
    assert verify(path.parent).streams[0].missing_rows == 100
    path.write_bytes(whole + later)
    assert verify(path.parent).streams[0].missing_rows == 0


def test_a_changed_byte_is_told_after_a_resume_also_where_it_stood_last(path: Path) -> None:
    content = bytearray(path.read_bytes())
    at = content.rindex(b'"loss":1') + len(b'"loss":')
    content[at] = ord("9")
    path.write_bytes(bytes(content))
    assert verify(path.parent).streams[0].changed_lines is not None
    resume(path)
    assert verify(path.parent).streams[0].changed_lines is not None
    cut(path)
    resume(path)
    # What was cut off is missing; the change was in it, and is gone with it.
    assert verify(path.parent).streams[0].missing_rows > 0


def test_a_change_before_a_cut_is_told_after_it(path: Path) -> None:
    content = path.read_bytes().replace(b'"loss":10.0', b'"loss":90.0')
    path.write_bytes(content)
    cut(path)
    resume(path)
    first, last = verify(path.parent).streams[0].changed_lines or (0, 0)
    assert first <= 21 <= last


@pytest.mark.parametrize("how", ["cut", "copied over", "renamed over"])
def test_rows_that_a_live_run_loses_are_told_by_verify_afterwards(
    tmp_path: Path, how: str
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, capture=False)
    path = tmp_path / "p" / "r" / "metrics.jsonl"
    for _ in range(100):
        et.log({"loss": 1.0})
    older = path.read_bytes()
    for _ in range(100):
        et.log({"loss": 1.0})
    if how == "renamed over":
        beside = path.with_name("older")
        beside.write_bytes(older)
        beside.replace(path)
    else:
        with path.open("r+b") as file:
            file.write(older)
            file.truncate()
    run.history.flush()
    run._upkeep.keep_places()
    et.log({"loss": 2.0})
    et.finish(quiet=True)
    if how == "renamed over":
        # The file that was open is the run's, and comes back under its name.
        assert verify(path.parent).streams[0].rows == 201
    else:
        assert verify(path.parent).streams[0].missing_rows == 100


def test_a_sound_run_that_is_written_meanwhile_has_no_problem(tmp_path: Path) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, capture=False)
    for _ in range(50):
        for _ in range(40):
            et.log({"loss": 1.0})
        run._stream.writer.save_index(run._stream.run_row)
        et.log({"loss": 1.0})
        assert verify(tmp_path / "p" / "r").problems == []
    et.finish(quiet=True)


def test_a_reader_that_stops_behind_the_sidecar_misses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, capture=False)
    et.log({"loss": 1.0})

    def slowly(path: Path) -> Any:
        file = LineFile(path)
        for _ in range(100):  # the writer goes on, and writes its sidecar
            et.log({"loss": 1.0})
        run._stream.writer.save_index(run._stream.run_row)
        return file

    monkeypatch.setattr(source_module, "LineFile", slowly)
    with caplog.at_level(logging.WARNING):
        read_history(tmp_path / "p" / "r", -1)
    assert "that the file had" not in caplog.text
    et.finish(quiet=True)


def test_one_damage_is_one_problem(path: Path) -> None:
    content = path.read_bytes()
    at = content.rindex(b'{"_step"')
    path.write_bytes(content[: at + 2] + b"X" + content[at + 3 :])
    assert [text.partition(":")[2] for text in verify(path.parent).problems if "row" in text] == []
    problems = verify(path.parent).problems
    assert any("without a valid _step" in text for text in problems)
    assert not any("sidecar" in text for text in problems)
