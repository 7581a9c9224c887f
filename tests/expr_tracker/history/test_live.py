"""The store of a live run: its open row, its waiting lines, its points."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.errors import ForkedObjectError
from expr_tracker.history import HistoryStore, read_history
from expr_tracker.options import Options
from expr_tracker.store.files import RunFiles
from expr_tracker.store.journal import write_journal
from expr_tracker.store.lines import encode_line
from expr_tracker.store.live import LiveSnapshot
from expr_tracker.store.lock import StreamLock
from expr_tracker.store.reader import LineFile
from expr_tracker.store.sidecar import load_index, read_sidecar

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]


class Writer:
    """Stands in for the writer: rows in the file, rows that wait, an open row."""

    def __init__(self, path: Path, rows: list[Row]) -> None:
        self.path = path
        path.write_bytes(b"".join(map(encode_line, rows)))
        self.pending: list[bytes] = []
        self.open_row: Row | None = None
        self.flushed: list[bool] = []
        self.is_forked = False

    def snapshot(self) -> LiveSnapshot:
        with LineFile(self.path) as file:
            index = load_index(file, read_sidecar(file.path))
        return LiveSnapshot(index, list(self.pending), self.open_row)

    def guard(self) -> None:
        if self.is_forked:
            raise ForkedObjectError("of the parent")

    def store(self, **options: Any) -> HistoryStore:
        return HistoryStore(
            self.path, self.snapshot, self.flushed.append, Options(**options), self.guard
        )


def rows_to(stop: int) -> list[Row]:
    return [{"_step": i, "_time": float(i), "loss": i / 2} for i in range(stop)]


def test_waiting_lines_and_the_open_row_are_the_newest_steps(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "metrics.jsonl", rows_to(5))
    writer.pending = [encode_line({"_step": 5, "_time": 5.0, "loss": 9})]
    writer.open_row = {"_step": 6, "_time": 6.0, "acc": 1}
    store = writer.store()
    assert [row["_step"] for row in store.query(3)] == [4, 5, 6]
    assert [row["_step"] for row in store.query(3, include_open=False)] == [3, 4, 5]
    assert store.query(1, output_type="polars")["acc"].to_list() == [1]


def test_an_open_row_is_merged_with_the_committed_lines_of_its_step(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "metrics.jsonl", rows_to(5000))
    writer.open_row = {"_step": 3, "_time": 99.0, "acc": 1}
    store = writer.store()
    assert store.query(1) == [{"_step": 3, "_time": 3.0, "loss": 1.5, "acc": 1}]
    assert store.query(-1)[3] == store.query(1)[0]
    assert store.query(1, step_range=(0, 4)) == store.query(1)


def test_what_a_query_returns_is_the_callers_own(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "metrics.jsonl", [])
    writer.open_row = {"_step": 0, "_time": 0.0, "values": [1, {"a": [2]}]}
    store = writer.store()
    row = store.query(1)[0]
    row["values"][1]["a"].append(3)
    row["loss"] = 1
    assert writer.open_row == {"_step": 0, "_time": 0.0, "values": [1, {"a": [2]}]}


def test_points_are_the_newest_numbers_of_a_metric(tmp_path: Path) -> None:
    rows: list[Row] = [*rows_to(6), {"_step": 4, "_time": 9.0, "loss": 7.0}]
    rows += [{"_step": 6, "loss": True}, {"_step": 7, "_time": 7.0, "loss": "text"}]
    rows += [{"_step": 8, "_time": 8.0, "loss": 10**400}]
    store = Writer(tmp_path / "metrics.jsonl", rows).store(alert_window=4)
    assert store.series.points("loss") == (
        (3, 3.0, 1.5),
        (4, 9.0, 7.0),
        (5, 5.0, 2.5),
        (6, 0.0, 1),
    )
    assert store.series.points("nothing") == ()


def test_statistics_count_queries_and_those_that_read_the_file(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "metrics.jsonl", rows_to(3))
    store = writer.store()
    store.query(1)
    store.query(0)
    assert store.statistics() == {"queries": 2, "disk_queries": 1}
    store.flush(commit_open=True)
    assert writer.flushed == [True]


def test_an_unreadable_file_leaves_the_rows_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = Writer(tmp_path / "metrics.jsonl", rows_to(3))
    writer.pending = [encode_line({"_step": 3, "_time": 3.0, "loss": 9})]
    snapshot = writer.snapshot()
    writer.path.unlink()
    store = HistoryStore(writer.path, lambda: snapshot, print, Options(), lambda: None)
    with caplog.at_level(logging.WARNING, logger="expr_tracker"):
        assert [row["_step"] for row in store.query()] == [3]
    assert "rows in memory" in caplog.messages[0]


def test_damage_is_reported_once_not_at_every_query(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = Writer(tmp_path / "metrics.jsonl", rows_to(3))
    with writer.path.open("ab") as file:
        file.write(b"damage\n")
    store = writer.store()
    with caplog.at_level(logging.WARNING, logger="expr_tracker"):
        for _ in range(3):
            store.query()
    assert len(caplog.messages) == 1
    assert "line 4" in caplog.messages[0]


def test_every_method_is_refused_in_a_forked_child(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "metrics.jsonl", rows_to(3))
    store = writer.store()
    writer.is_forked = True
    calls: list[Any] = [store.query, store.flush, store.statistics]
    for call in calls:
        with pytest.raises(ForkedObjectError):
            call()
    with pytest.raises(ForkedObjectError):
        store.series.points("loss")


def test_the_open_row_of_a_dead_writer_is_read_and_of_a_live_one_not(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    Writer(files.metrics, rows_to(3))
    row = {"_step": 3, "_time": 3.0, "loss": 9}
    size = files.metrics.stat().st_size
    write_journal(files.journal, row, ordinal=3, data_size=size)
    lock = StreamLock(files.lock)
    lock.acquire("default")
    assert len(read_history(tmp_path)) == 3
    lock.release()
    assert read_history(tmp_path)[-1] == row
    with files.metrics.open("ab") as file:
        file.write(b'{"_step":4,"_time":4.0}\n')
    assert [row["_step"] for row in read_history(tmp_path)] == [0, 1, 2, 4]


def test_several_streams_are_read_with_the_own_one_as_it_is_in_memory(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "metrics.jsonl", rows_to(2))
    writer.pending = [encode_line({"_step": 2, "_time": 2.0, "loss": 9})]
    writer.open_row = {"_step": 3, "_time": 3.0, "acc": 1}
    (tmp_path / "metrics.data.jsonl").write_bytes(encode_line({"_step": 0, "_time": 0.0, "ms": 5}))
    store = writer.store()

    def found(**arguments: Any) -> list[tuple[str | None, int]]:
        rows = store.query_several(-1, **arguments)
        return [(row["_stream"], row["_step"]) for row in rows]

    own = [(None, step) for step in range(4)]
    assert found(stream="*") == [*own, ("data", 0)]
    assert found(stream=["data", None]) == [("data", 0), *own]
    assert found(stream=[None]) == own
    assert found(stream="*", include_open=False) == [*own[:-1], ("data", 0)]
    assert store.query_several(stream="data") == [{"_step": 0, "_time": 0.0, "ms": 5}]
    frame = store.query_several(1, stream="*", output_type="polars")
    assert frame["_step"].to_list() == [3, 0]
    writer.is_forked = True
    with pytest.raises(ForkedObjectError):
        store.query_several(stream="*")
