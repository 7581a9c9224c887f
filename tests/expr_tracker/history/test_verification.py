from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import compare, export, read_history, source, verify
from expr_tracker.history.location import producers_of
from expr_tracker.history.source import Source
from expr_tracker.store.documents import write_document
from expr_tracker.store.files import RunFiles, StreamKey, sidecar_of
from expr_tracker.store.lines import encode_line
from expr_tracker.store.lock import StreamLock
from expr_tracker.store.reader import LineFile
from expr_tracker.store.sidecar import load_index, read_sidecar, save_index

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.history.conftest import Runs


Row = dict[str, Any]


def save_sidecar(files: RunFiles) -> None:
    with LineFile(files.metrics) as file:
        save_index(load_index(file, read_sidecar(file.path)), file, {})


def test_a_sound_run_has_no_problems(runs: type[Runs], tmp_path: Path) -> None:
    files = runs.make(tmp_path, [*runs.rows_to(5), {"_step": 2, "acc": 1}])
    save_sidecar(files)
    report = verify(tmp_path)
    assert report.problems == []
    assert report.status == "succeeded"
    (stream,) = report.streams
    assert (stream.rows, stream.steps, stream.min_step, stream.max_step) == (6, 5, 0, 4)
    assert stream.sidecar == "consistent"
    assert [(a.number, a.rows, a.steps, a.status) for a in stream.attempts] == [
        (1, 6, 5, "succeeded")
    ]


def older_sidecar(files: RunFiles, size: int) -> None:
    """Write a sidecar as versions before 0.5 did."""
    run = {"project": "old", "name": "r", "started_at": 1.0}
    document = {"schema": 2, "size": size, "lines": 3, "index": [[0, 0, 0]], "run": run}
    write_document(sidecar_of(files.metrics), document)


def test_what_an_older_version_wrote_otherwise_is_noted_and_not_wrong(
    runs: type[Runs], tmp_path: Path
) -> None:
    files = runs.make(tmp_path, runs.rows_to(3), end=None)
    files.identity.unlink()
    size = files.metrics.stat().st_size
    for covered in (0, size - 1, size):  # a killed one covers less than there is
        older_sidecar(files, covered)
        report = verify(tmp_path)
        assert report.problems == []
        assert report.streams[0].sidecar == "older"
        assert [note.partition(":")[0] for note in report.notes] == [
            "there is no run.json",
            "default",
        ]
    older_sidecar(files, size + 1)
    assert verify(tmp_path).problems == [
        "run.json is missing",
        "default: the sidecar does not belong to this file (it is rebuilt when it is read)",
    ]
    assert verify(tmp_path).notes == []


def test_a_run_that_a_newer_version_went_on_with_has_its_identity(
    runs: type[Runs], tmp_path: Path
) -> None:
    files = runs.make(tmp_path, runs.rows_to(3))
    older_sidecar(files, 1)
    save_sidecar(runs.make(tmp_path, runs.rows_to(3), StreamKey("new")))
    files.identity.unlink()
    report = verify(tmp_path)
    assert report.problems == ["run.json is missing"]
    assert len(report.notes) == 1


@pytest.mark.parametrize(
    "said", [{"schema": 6, "size": 1}, {"schema": True, "size": 1}, {"schema": 2}, {"size": 1}]
)
def test_a_sidecar_of_no_older_version_that_cannot_be_read_is_wrong(
    runs: type[Runs], tmp_path: Path, said: Row
) -> None:
    write_document(sidecar_of(runs.make(tmp_path, runs.rows_to(3)).metrics), said)
    assert verify(tmp_path).streams[0].sidecar == "wrong"


def test_every_kind_of_damage_is_found(runs: type[Runs], tmp_path: Path) -> None:
    media = b"picture"
    good = {"path": "media/a.png", "sha256": hashlib.sha256(media).hexdigest()}
    gone = {"path": "media/b.png", "sha256": "0" * 64}
    outside = {"path": "media/../../x", "sha256": "0" * 64}
    changed = {"path": "media/c.png", "sha256": "0" * 64}
    rows: list[Row] = [
        {"_step": 0, "image": good},
        {"_step": 1, "images": [gone, changed, outside]},
    ]
    files = runs.make(tmp_path, [*rows, *runs.rows_to(20)])
    files.media.mkdir()
    (files.media / "a.png").write_bytes(media)
    (files.media / "c.png").write_bytes(media)
    (tmp_path / "metrics.jsonl.parts").mkdir()
    part = tmp_path / "metrics.jsonl.parts" / "000003.jsonl"
    part.write_bytes(b'{"_step":-1}\n')
    with files.metrics.open("ab") as file:
        file.write(b'damage\n{"other":1}\n{"_step":9,"lo')
    files.identity.unlink()
    (tmp_path / "metrics.meta.json").write_text('{"schema": 3}')
    report = verify(tmp_path)
    (stream,) = report.streams
    assert stream.unreadable_lines == [25]
    assert stream.foreign_lines == [26]
    assert stream.torn_bytes == 14
    assert [part.name for part in stream.parts_lost] == ["000001.jsonl", "000002.jsonl"]
    assert stream.media == 4
    assert stream.media_missing == ["media/../../x", "media/b.png"]
    assert stream.media_changed == ["media/c.png"]
    assert stream.sidecar == "wrong"
    assert len(report.problems) == 10
    assert "run.json is missing" in report.problems


def test_attempts_are_counted_apart(runs: type[Runs], tmp_path: Path) -> None:
    rows = [*runs.rows_to(6), {"_attempt": 2, "_from_step": 3, "_time": 1.0}, *runs.rows_to(5)[3:]]
    runs.make(tmp_path, rows)
    (stream,) = verify(tmp_path).streams
    assert [(a.number, a.from_step, a.rows) for a in stream.attempts] == [(1, None, 6), (2, 3, 2)]
    assert (stream.rows, stream.steps) == (8, 5)


def test_equal_rows_have_equal_hashes_whatever_the_file_looks_like(
    runs: type[Runs], tmp_path: Path
) -> None:
    runs.make(tmp_path / "a", runs.rows_to(5))
    runs.make(tmp_path / "b", [runs.rows_to(5)[i] for i in (3, 1, 0, 4, 2)])
    runs.make(tmp_path / "c", [{"_step": 0, "_time": 0.0}, *runs.rows_to(5)])
    hashes = {verify(tmp_path / name).streams[0].sha256 for name in "abc"}
    assert len(hashes) == 1
    assert compare(tmp_path / "a", tmp_path / "b") == []


def test_verifying_changes_nothing(runs: type[Runs], tmp_path: Path) -> None:
    runs.make(tmp_path, runs.rows_to(3))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    verify(tmp_path)
    read_history(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_line_that_is_completed_while_it_is_looked_at_is_not_torn(
    runs: type[Runs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = runs.make(tmp_path, runs.rows_to(3), end=None)
    lock = StreamLock(files.lock)
    lock.acquire("default")
    with files.metrics.open("ab") as file:
        file.write(b'{"_step":3')

    def opened_then_ended(path: Path) -> LineFile:
        opened = LineFile(path)
        with files.metrics.open("ab") as file:
            file.write(b"}\n" + encode_line(runs.END))
        lock.release()
        return opened

    monkeypatch.setattr(source, "LineFile", opened_then_ended)
    (producer,) = producers_of(tmp_path)
    with Source.offline(producer) as found:
        assert found.torn_bytes == 0
    monkeypatch.undo()
    assert verify(tmp_path).problems == []


def test_progress_never_runs_backwards_and_ends_at_the_whole(
    runs: type[Runs], tmp_path: Path
) -> None:
    runs.make(tmp_path, [*runs.rows_to(9000), *runs.rows_to(3000)])
    runs.make(tmp_path, runs.rows_to(10), StreamKey("data"))
    runs.make(tmp_path, [], StreamKey("empty"), end=None)
    told: list[tuple[int, int]] = []
    verify(tmp_path, progress=lambda done, total: told.append((done, total)))
    whole = 2 * sum(path.stat().st_size for path in tmp_path.glob("metrics*.jsonl"))
    assert {total for _, total in told} == {whole}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == whole
    assert len({done for done, _ in told}) > 3


def test_a_line_nested_without_an_end_costs_only_itself(runs: type[Runs], tmp_path: Path) -> None:
    files = runs.make(tmp_path, runs.rows_to(3))
    lines = files.metrics.read_bytes().split(b"\n")
    lines[1:1] = [b'{"_step":7,"a":' * 5000, b'{"_step":8,"a":' + b"[" * 5000]
    files.metrics.write_bytes(b"\n".join(lines))
    rows = read_history(tmp_path)
    assert [row["_step"] for row in rows if "loss" in row] == [0, 1, 2]
    (stream,) = verify(tmp_path).streams
    assert stream.unreadable_lines == [2, 3]
    assert read_history(tmp_path, output_type="pandas")["loss"].dropna().tolist() == [0, 0.5, 1]
    for suffix in ("csv", "jsonl", "parquet"):
        export(tmp_path, tmp_path / f"out.{suffix}")
