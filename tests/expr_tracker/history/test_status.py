from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import expr_tracker as et
from expr_tracker.errors import QueryError, RunNotFoundError
from expr_tracker.history import status_of
from expr_tracker.history.glimpse import is_run, keys_seen, metrics_seen
from expr_tracker.history.source import Source
from expr_tracker.history.status import find_runs, overview_of, overviews
from expr_tracker.store.documents import write_document
from expr_tracker.store.files import RunFiles, StreamKey, parts_of
from expr_tracker.store.lines import encode_line
from expr_tracker.store.lock import StreamLock
from expr_tracker.store.summary_document import write_summary

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.history.conftest import Runs

    from expr_tracker.history.location import Producer


Row = dict[str, Any]


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        (["succeeded", "succeeded"], "succeeded"),
        (["succeeded", "cancelled"], "cancelled"),
        (["cancelled", "failed"], "failed"),
        (["failed", None], "lost"),
        (["strange", "succeeded"], "lost"),
    ],
)
def test_a_run_is_what_its_worst_stream_is(
    runs: type[Runs], tmp_path: Path, ends: list[str | None], status: str
) -> None:
    for name, end in zip([None, "data"], ends, strict=True):
        marker = None if end is None else {**runs.END, "_status": end}
        runs.make(tmp_path, runs.rows_to(2), StreamKey(name), marker)
    assert status_of(tmp_path) == status
    lock = StreamLock(RunFiles(tmp_path, StreamKey("data")).lock)
    lock.acquire("data")
    assert status_of(tmp_path) == "running"
    lock.release()


def test_only_the_newest_attempt_counts(runs: type[Runs], tmp_path: Path) -> None:
    marker = {"_attempt": 2, "_time": 1.0}
    end = {**runs.END, "_attempt_end": 2}
    runs.make(
        tmp_path,
        [*runs.rows_to(2), {**runs.END, "_status": "failed"}, marker, *runs.rows_to(3)],
        end=end,
    )
    assert status_of(tmp_path) == "succeeded"
    runs.make(tmp_path, [*runs.rows_to(2), runs.END, marker, *runs.rows_to(3)], end=None)
    assert status_of(tmp_path) == "lost"


def test_runs_are_found_below_a_root_with_what_they_hold(runs: type[Runs], tmp_path: Path) -> None:
    files = runs.make(tmp_path / "p" / "one", [*runs.rows_to(4), {"_step": 1, "acc": 0.5}])
    runs.make(tmp_path / "p" / "two", runs.rows_to(2), StreamKey("data", 1))
    (tmp_path / "p" / "artifacts").mkdir()
    runs.make(tmp_path / "p" / "artifacts" / "no", runs.rows_to(1))
    found = list(find_runs(tmp_path))
    assert [path.name for path in found] == ["one", "two"]
    one = overview_of(found[0], "acc")
    assert (one.project, one.name, one.status, one.rows, one.last_step) == (
        "p",
        "one",
        "succeeded",
        5,
        3,
    )
    assert (one.started, one.values, one.streams) == (5.0, {"acc": 0.5}, ("default",))
    write_document(files.summary, {"acc": 0.75})
    assert overview_of(found[0], "acc").values == {"acc": 0.75}
    assert overview_of(found[1], "acc").values == {"acc": None}
    assert overview_of(found[1]).streams == ("data rank 1",)


def test_a_run_of_which_only_parts_are_left_is_one(runs: type[Runs], tmp_path: Path) -> None:
    """A kill between the rename of a full file and the new one leaves this."""
    files = runs.make(tmp_path / "p" / "r", runs.rows_to(4), StreamKey("data"), end=None)
    parts_of(files.metrics).mkdir()
    files.metrics.rename(parts_of(files.metrics) / "000001.jsonl")
    [run] = overviews(tmp_path)
    assert (run.path, run.status, run.rows) == (files.directory, "lost", 4)
    assert is_run(files.directory)
    assert keys_seen(files.directory) == [files.key]
    assert metrics_seen(files.directory, files.key) == {"loss"}


def test_a_foreign_file_in_the_place_of_the_parts_costs_a_run_nothing(
    runs: type[Runs], tmp_path: Path
) -> None:
    files = runs.make(tmp_path / "p" / "r", runs.rows_to(4))
    parts_of(files.metrics).write_text("mine")
    [run] = overviews(tmp_path)
    assert (run.status, run.rows) == ("succeeded", 4)


def test_a_run_that_ends_while_it_is_looked_at_is_not_lost(
    runs: type[Runs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = runs.make(tmp_path, runs.rows_to(3), end=None)
    lock = StreamLock(files.lock)
    opened = Source.offline

    def opened_then_ended(producer: Producer) -> Source:
        found = opened(producer)
        with files.metrics.open("ab") as file:
            file.write(encode_line(runs.END))
        lock.release()
        return found

    monkeypatch.setattr(Source, "offline", opened_then_ended)
    lock.acquire("default")
    assert status_of(tmp_path) == "running"
    lock.acquire("default")
    assert overview_of(tmp_path).status == "running"
    monkeypatch.undo()
    assert status_of(tmp_path) == "succeeded"


def test_a_run_that_begins_while_it_is_looked_at_is_not_lost(
    runs: type[Runs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = runs.make(tmp_path, runs.rows_to(3))
    lock = StreamLock(files.lock)
    opened = Source.offline

    def begun_then_opened(producer: Producer) -> Source:
        lock.acquire("default")
        with files.metrics.open("ab") as file:
            file.write(encode_line({"_attempt": 2, "_time": 1.0}))
        return opened(producer)

    monkeypatch.setattr(Source, "offline", begun_then_opened)
    assert status_of(tmp_path) == "running"
    lock.release()


def test_a_run_that_cannot_be_read_is_listed_as_such_beside_the_others(
    runs: type[Runs], tmp_path: Path
) -> None:
    runs.make(tmp_path / "p" / "good", runs.rows_to(2))
    (tmp_path / "p" / "bad" / "metrics.jsonl").mkdir(parents=True)
    runs.make(tmp_path / "p" / "gone", runs.rows_to(2))
    found = overviews(tmp_path)
    bad = next(found)
    assert (bad.project, bad.name, bad.status, bad.rows) == ("p", "bad", "unreadable", 0)
    assert "irectory" in str(bad.problem)
    # `find_runs` stands at the run, which is removed before it is read.
    for path in (tmp_path / "p" / "gone").iterdir():
        path.unlink()
    (tmp_path / "p" / "gone").rmdir()
    assert [overview.name for overview in found] == ["good"]


@pytest.mark.parametrize(
    ("root", "error", "text"),
    [
        ("", QueryError, "^root='': expected the folder that holds the runs"),
        (5, QueryError, r"^root=5 \(int\)"),
        ("missing", RunNotFoundError, "^missing is no directory"),
    ],
)
def test_a_root_that_is_no_folder_is_refused_by_the_call(
    root: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        overviews(root)


def test_the_summary_of_a_killed_attempt_is_believed_for_its_pins_alone(
    runs: type[Runs], tmp_path: Path
) -> None:
    rows: list[Row] = [{"_step": 0, "acc": 0.5, "best": 1}, runs.END]
    rows += [{"_attempt": 2, "_time": 1.0}, {"_step": 1, "acc": 0.9, "best": 2}]
    files = runs.make(tmp_path, rows, end=None)
    write_document(files.summary, {"acc": 0.5, "best": 7, "_pinned": ["best"]})
    assert overview_of(tmp_path, "acc").values == {"acc": 0.9}
    assert overview_of(tmp_path, "best").values == {"best": 7}
    runs.make(tmp_path, rows, end={**runs.END, "_attempt_end": 2})
    write_document(files.summary, {"acc": 0.7, "best": 7, "_pinned": ["best"]})
    assert overview_of(tmp_path, "acc").values == {"acc": 0.7}


@pytest.mark.parametrize(("is_whole", "value"), [(True, 0.5), (False, 0.9)])
def test_of_a_summary_that_is_not_whole_only_the_pins_are_believed(
    runs: type[Runs], tmp_path: Path, is_whole: bool, value: float
) -> None:
    files = runs.make(tmp_path, [{"_step": 0, "acc": 0.9}])
    write_summary(files.summary, {"acc": 0.5, "best": 7}, pins=["best"], is_whole=is_whole)
    assert overview_of(tmp_path, ("acc", "best")).values == {"acc": value, "best": 7}


def test_a_summary_is_believed_while_it_is_no_older_than_the_rows(
    runs: type[Runs], tmp_path: Path
) -> None:
    files = runs.make(tmp_path, [{"_step": 0, "acc": 0.9}])
    write_document(files.summary, {"acc": 0.5})
    assert overview_of(tmp_path, "acc").values == {"acc": 0.5}
    os.utime(files.summary, (1, 1))
    assert overview_of(tmp_path, "acc").values == {"acc": 0.9}


def test_a_summary_that_knows_a_part_which_is_gone_is_believed(tmp_path: Path) -> None:
    run = et.init("p", run_dir=tmp_path / "r", capture=False, max_file_bytes=4096)
    run.log({"early": 1})
    for step in range(200):
        run.log({"loss": step})
    run.finish(quiet=True)
    (tmp_path / "r" / "metrics.jsonl.parts" / "000001.jsonl").unlink()
    assert overview_of(tmp_path / "r", "early").values == {"early": 1}
