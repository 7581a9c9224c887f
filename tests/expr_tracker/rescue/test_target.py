"""What is no rescue file, or of another run or stream, is refused by name and nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.errors import NameRefusedError, QueryError, RescueError, RunNotFoundError
from expr_tracker.rescue import put_back
from expr_tracker.store.files import StreamKey
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.expr_tracker.rescue.conftest import CutRun


def cut(run: CutRun) -> list[bytes]:
    """Write the rows that found room and return the others."""
    kept, lost = run.rows(0), [*run.rows(1), run.end(1)]
    run.write(kept)
    return lost


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is no rescue file"),
        (b"\x00\x01 not a line\n", "is no rescue file"),
        (b'{"loss": 1}\n', "is no rescue file"),
        (b'{"_rescued": {"file": "/r/metrics.jsonl"}}\n', "is no rescue file"),
    ],
)
def test_a_file_without_rows_is_refused(
    cut_run: Callable[..., CutRun], content: bytes, text: str
) -> None:
    run = cut_run()
    cut(run)
    saved = run.old_rescue([content])
    before = run.snapshot()
    with pytest.raises(RescueError, match=text) as refused:
        put_back(saved, run.directory)
    assert str(saved) in str(refused.value)
    assert run.snapshot() == before


def test_what_is_missing_or_no_file_is_refused(
    cut_run: Callable[..., CutRun], tmp_path: Path
) -> None:
    run = cut_run()
    saved = run.rescue(cut(run))
    with pytest.raises(FileNotFoundError):
        put_back(tmp_path / "none.jsonl", run.directory)
    with pytest.raises(IsADirectoryError):
        put_back(tmp_path, run.directory)
    with pytest.raises(RunNotFoundError):
        put_back(saved, tmp_path / "p" / "nothing")
    with pytest.raises(RescueError, match="is no run of these rows"):
        put_back(saved, tmp_path)


@pytest.mark.parametrize("path", ["", 5, None, b"saved.jsonl", "a\0b"])
def test_what_can_be_no_path_is_refused_by_the_name_of_its_argument(
    cut_run: Callable[..., CutRun], path: Any
) -> None:
    run = cut_run()
    saved = run.rescue(cut(run))
    with pytest.raises(RescueError, match=r"^file="):
        put_back(path, run.directory)
    with pytest.raises(QueryError, match=r"^run="):
        put_back(saved, path)


@pytest.mark.parametrize("rank", ["x", "0", -1, 1.0, True])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_rank_that_is_no_whole_number_from_0_is_refused(
    cut_run: Callable[..., CutRun], rank: Any, *, is_named: bool
) -> None:
    run = cut_run()
    lost = cut(run)
    saved = run.rescue(lost) if is_named else run.old_rescue(lost)
    before = run.snapshot()
    with pytest.raises(QueryError, match=rf"^rank={rank!r}: expected a whole number from 0"):
        put_back(saved, run.directory, stream="default", rank=rank)
    assert run.snapshot() == before


def test_rows_of_another_stream_or_rank_are_refused(cut_run: Callable[..., CutRun]) -> None:
    run = cut_run(key=StreamKey("data"))
    saved = run.rescue(cut(run))
    with pytest.raises(RescueError, match="rows of 'data', not of 'main'"):
        put_back(saved, run.directory, stream="main")
    with pytest.raises(RescueError, match="rows of 'data', not of 'default'"):
        put_back(saved, run.directory, stream="default")
    with pytest.raises(RescueError, match="not of 'data rank 2'"):
        put_back(saved, run.directory, rank=2)
    (run.directory / "metrics.jsonl").write_bytes(b"")
    with pytest.raises(RescueError, match=r"rows of metrics\.data\.jsonl, not of metrics\.jsonl"):
        put_back(saved, run.directory / "metrics.jsonl")
    assert put_back(saved, run.path, stream="data", rank=0).rows == 1


def test_rows_of_another_run_are_refused_wherever_it_can_be_told(
    cut_run: Callable[..., CutRun], tmp_path: Path
) -> None:
    run, other = cut_run("run"), cut_run("other")
    lost = cut(run)
    cut(other)
    with pytest.raises(RescueError, match="which is another run than"):
        put_back(run.rescue(lost), other.directory)
    # A run that was moved is the same run.
    saved = run.rescue(lost)
    run.directory.rename(tmp_path / "p" / "moved")
    assert put_back(saved, tmp_path / "p" / "moved").rows == 1


def test_without_a_first_line_the_attempts_tell_another_run(
    cut_run: Callable[..., CutRun],
) -> None:
    run = cut_run()
    run.write([*run.rows(0), run.end(1)])
    before = run.snapshot()
    with pytest.raises(RescueError, match=r"that attempt has its end \('succeeded'\)"):
        put_back(run.old_rescue([*run.rows(1), run.end(1)]), run.directory)
    with pytest.raises(RescueError, match=r"of attempt 3, and .* has attempt 1: .* another run"):
        put_back(run.old_rescue([*run.rows(1), run.end(3)]), run.directory)
    assert {**run.snapshot(), "metrics.lock": b""} == {**before, "metrics.lock": b""}


def test_a_renamed_file_of_an_older_version_needs_the_stream_where_there_are_several(
    cut_run: Callable[..., CutRun],
) -> None:
    run = cut_run()
    lost = cut(run)
    saved = run.old_rescue(lost, "renamed")
    (run.directory / "metrics.data.rank2.jsonl").write_bytes(b"")
    with pytest.raises(RescueError, match=r"--stream.* of: default, data rank 2\."):
        put_back(saved, run.directory)
    with pytest.raises(RescueError, match="has no rows of 'data'"):
        put_back(saved, run.directory, stream="data")
    with pytest.raises(NameRefusedError):
        put_back(saved, run.directory, stream="a/b")
    assert put_back(saved, run.directory, stream="default").path == run.path
    (run.directory / "metrics.data.rank2.jsonl").unlink()
    assert put_back(saved, run.directory).lines == 0


def test_damaged_lines_are_left_out_and_named(cut_run: Callable[..., CutRun]) -> None:
    run = cut_run()
    lost = cut(run)
    torn = [lost[0], b"damage\n", b"\0\0\n", b'{"foreign": 1}\n', *lost[1:], b'{"_step": 9, "_t']
    saved = run.old_rescue(torn)
    report = put_back(saved, run.directory)
    assert report.damaged == [2, 3, 4, 6]
    assert (report.rows, report.lines) == (1, 2)
    assert run.content().endswith(b"".join(lost))
    assert put_back(saved, run.directory).lines == 0


def test_a_torn_file_that_says_no_attempt_goes_by_its_times(
    cut_run: Callable[..., CutRun],
) -> None:
    run = cut_run()
    first, lost = run.rows(0), run.rows(1)
    second = [run.begin(2), *run.rows(2)]
    last = run.rows(3)
    run.write([*first, *second])
    put_back(run.old_rescue(lost), run.directory)
    put_back(run.old_rescue(last), run.directory)
    assert run.content() == b"".join([*first, *lost, *second, *last])
    timeless = run.old_rescue([encode_line({"_step": 5, "t": "x"})])
    with pytest.raises(RescueError, match="does not say which attempt"):
        put_back(timeless, run.directory)


def test_rows_of_an_attempt_that_the_file_has_no_marker_of_are_refused(
    cut_run: Callable[..., CutRun],
) -> None:
    run = cut_run()
    run.write([*run.rows(0), run.begin(2), *run.rows(1)])
    before = run.content()
    with pytest.raises(
        RescueError, match=r"began at 5\.5 in process 7, and .* has no marker of it"
    ):
        put_back(run.rescue(run.rows(2), number=2, began=5.5), run.directory)
    assert run.content() == before
