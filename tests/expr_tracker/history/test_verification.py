"""Proof: what is wrong is found, and equal runs are equal whatever their files look like."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import compare, read_history, source, status_of, verify
from expr_tracker.history.location import producers_of
from expr_tracker.history.source import Source
from expr_tracker.history.status import find_runs, overview_of, overviews
from expr_tracker.store.documents import write_document, write_once
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.lines import encode_line
from expr_tracker.store.lock import StreamLock
from expr_tracker.store.reader import LineFile
from expr_tracker.store.sidecar import load_index, save_index

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.history.location import Producer

Row = dict[str, Any]
DEFAULT = StreamKey()
END: Row = {"_attempt_end": 1, "_status": "succeeded", "_time": 9.0}


def make(run: Path, rows: list[Row], key: StreamKey = DEFAULT, end: Row | None = END) -> RunFiles:
    run.mkdir(parents=True, exist_ok=True)
    files = RunFiles(run, key)
    write_once(files.identity, {"id": "1", "created": 5.0})
    lines = [*rows, end] if end is not None else rows
    files.metrics.write_bytes(b"".join(map(encode_line, lines)))
    return files


def rows_to(stop: int) -> list[Row]:
    return [{"_step": i, "_time": float(i), "loss": i / 2} for i in range(stop)]


def save_sidecar(files: RunFiles) -> None:
    with LineFile(files.metrics) as file:
        save_index(load_index(file), file, {})


def test_a_sound_run_has_no_problems(tmp_path: Path) -> None:
    files = make(tmp_path, [*rows_to(5), {"_step": 2, "acc": 1}])
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


def test_every_kind_of_damage_is_found(tmp_path: Path) -> None:
    media = b"picture"
    good = {"path": "media/a.png", "sha256": hashlib.sha256(media).hexdigest()}
    gone = {"path": "media/b.png", "sha256": "0" * 64}
    outside = {"path": "media/../../x", "sha256": "0" * 64}
    changed = {"path": "media/c.png", "sha256": "0" * 64}
    rows: list[Row] = [
        {"_step": 0, "image": good},
        {"_step": 1, "images": [gone, changed, outside]},
    ]
    files = make(tmp_path, [*rows, *rows_to(20)])
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


def test_attempts_are_counted_apart(tmp_path: Path) -> None:
    rows = [*rows_to(6), {"_attempt": 2, "_from_step": 3, "_time": 1.0}, *rows_to(5)[3:]]
    make(tmp_path, rows)
    (stream,) = verify(tmp_path).streams
    assert [(a.number, a.from_step, a.rows) for a in stream.attempts] == [(1, None, 6), (2, 3, 2)]
    assert (stream.rows, stream.steps) == (8, 5)


def test_equal_rows_have_equal_hashes_whatever_the_file_looks_like(tmp_path: Path) -> None:
    make(tmp_path / "a", rows_to(5))
    make(tmp_path / "b", [rows_to(5)[i] for i in (3, 1, 0, 4, 2)])
    make(tmp_path / "c", [{"_step": 0, "_time": 0.0}, *rows_to(5)])
    hashes = {verify(tmp_path / name).streams[0].sha256 for name in "abc"}
    assert len(hashes) == 1
    assert compare(tmp_path / "a", tmp_path / "b") == []


def test_what_differs_is_named(tmp_path: Path) -> None:
    make(tmp_path / "a", rows_to(5))
    make(tmp_path / "a", rows_to(1), StreamKey("data"))
    make(tmp_path / "b", [*rows_to(3), {"_step": 3, "_time": 3.0, "loss": 7, "acc": 1}])
    make(tmp_path / "b", rows_to(1), StreamKey(None, 1))
    found = compare(tmp_path / "a", tmp_path / "b")
    assert found == [
        "default: step 3: 'loss' 1.5 != 7; 'acc' only on the other side",
        "default: step 4: missing on the other side",
        f"default rank 1: only in {tmp_path / 'b'}",
        f"data: only in {tmp_path / 'a'}",
    ]
    make(tmp_path / "c", [])
    assert (
        compare(tmp_path / "a", tmp_path / "c")[-2] == "default: step 4: missing on the other side"
    )


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
    tmp_path: Path, ends: list[str | None], status: str
) -> None:
    for name, end in zip([None, "data"], ends, strict=True):
        marker = None if end is None else {**END, "_status": end}
        make(tmp_path, rows_to(2), StreamKey(name), marker)
    assert status_of(tmp_path) == status
    lock = StreamLock(RunFiles(tmp_path, StreamKey("data")).lock)
    lock.acquire("data")
    assert status_of(tmp_path) == "running"
    lock.release()


def test_only_the_newest_attempt_counts(tmp_path: Path) -> None:
    marker = {"_attempt": 2, "_time": 1.0}
    end = {**END, "_attempt_end": 2}
    make(tmp_path, [*rows_to(2), {**END, "_status": "failed"}, marker, *rows_to(3)], end=end)
    assert status_of(tmp_path) == "succeeded"
    make(tmp_path, [*rows_to(2), END, marker, *rows_to(3)], end=None)
    assert status_of(tmp_path) == "lost"


def test_runs_are_found_below_a_root_with_what_they_hold(tmp_path: Path) -> None:
    files = make(tmp_path / "p" / "one", [*rows_to(4), {"_step": 1, "acc": 0.5}])
    make(tmp_path / "p" / "two", rows_to(2), StreamKey("data", 1))
    (tmp_path / "p" / "artifacts").mkdir()
    make(tmp_path / "p" / "artifacts" / "no", rows_to(1))
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
    assert (one.started, one.value, one.streams) == (5.0, 0.5, ("default",))
    write_document(files.summary, {"acc": 0.75})
    assert overview_of(found[0], "acc").value == 0.75
    assert overview_of(found[1], "acc").value is None
    assert overview_of(found[1]).streams == ("data rank 1",)


def test_verifying_changes_nothing(tmp_path: Path) -> None:
    make(tmp_path, rows_to(3))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    verify(tmp_path)
    read_history(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_run_that_ends_while_it_is_looked_at_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = make(tmp_path, rows_to(3), end=None)
    lock = StreamLock(files.lock)
    opened = Source.offline

    def opened_then_ended(producer: Producer) -> Source:
        found = opened(producer)
        with files.metrics.open("ab") as file:
            file.write(encode_line(END))
        lock.release()
        return found

    monkeypatch.setattr(Source, "offline", opened_then_ended)
    lock.acquire("default")
    assert status_of(tmp_path) == "running"
    lock.acquire("default")
    assert overview_of(tmp_path).status == "running"
    monkeypatch.undo()
    assert status_of(tmp_path) == "succeeded"


def test_a_line_that_is_completed_while_it_is_looked_at_is_not_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = make(tmp_path, rows_to(3), end=None)
    lock = StreamLock(files.lock)
    lock.acquire("default")
    with files.metrics.open("ab") as file:
        file.write(b'{"_step":3')

    def opened_then_ended(path: Path) -> LineFile:
        opened = LineFile(path)
        with files.metrics.open("ab") as file:
            file.write(b"}\n" + encode_line(END))
        lock.release()
        return opened

    monkeypatch.setattr(source, "LineFile", opened_then_ended)
    (producer,) = producers_of(tmp_path)
    with Source.offline(producer) as found:
        assert found.torn_bytes == 0
    monkeypatch.undo()
    assert verify(tmp_path).problems == []


def test_a_run_that_begins_while_it_is_looked_at_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = make(tmp_path, rows_to(3))
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


def test_a_run_that_cannot_be_read_is_listed_as_such_beside_the_others(tmp_path: Path) -> None:
    make(tmp_path / "p" / "good", rows_to(2))
    (tmp_path / "p" / "bad" / "metrics.jsonl").mkdir(parents=True)
    make(tmp_path / "p" / "gone", rows_to(2))
    found = overviews(tmp_path)
    bad = next(found)
    assert (bad.project, bad.name, bad.status, bad.rows) == ("p", "bad", "unreadable", 0)
    assert "irectory" in str(bad.problem)
    # `find_runs` stands at the run, which is removed before it is read.
    for path in (tmp_path / "p" / "gone").iterdir():
        path.unlink()
    (tmp_path / "p" / "gone").rmdir()
    assert [overview.name for overview in found] == ["good"]


def test_the_summary_of_a_killed_attempt_is_believed_for_its_pins_alone(tmp_path: Path) -> None:
    rows: list[Row] = [{"_step": 0, "acc": 0.5, "best": 1}, END]
    rows += [{"_attempt": 2, "_time": 1.0}, {"_step": 1, "acc": 0.9, "best": 2}]
    files = make(tmp_path, rows, end=None)
    write_document(files.summary, {"acc": 0.5, "best": 7, "_pinned": ["best"]})
    assert overview_of(tmp_path, "acc").value == 0.9
    assert overview_of(tmp_path, "best").value == 7
    make(tmp_path, rows, end={**END, "_attempt_end": 2})
    assert overview_of(tmp_path, "acc").value == 0.5


def test_a_media_file_behind_a_link_out_of_the_run_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    run = tmp_path / "run"
    (run / "media").mkdir(parents=True)
    digest = hashlib.sha256(b"secret").hexdigest()
    (run / "media" / "link").symlink_to(tmp_path)
    (run / "media" / "file").symlink_to(tmp_path / "secret")
    names = ["media/link/secret", "media/file"]
    make(run, [{"_step": i, "x": {"path": n, "sha256": digest}} for i, n in enumerate(names)])
    assert sorted(verify(run).streams[0].media_missing) == ["media/file", "media/link/secret"]


def test_pictures_in_a_table_are_checked_like_those_in_a_row(tmp_path: Path) -> None:
    def stored(name: str, content: bytes) -> Row:
        path = tmp_path / "media" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return {"path": f"media/{name}", "sha256": hashlib.sha256(content).hexdigest()}

    def table(name: str, cells: list[Row]) -> Row:
        return stored(
            name, encode_line({"columns": ["image"], "data": [[cell] for cell in cells]})
        )

    inner = table("inner.table.json", [stored("d.png", b"d")])
    cells = [stored("a.png", b"a"), stored("b.png", b"b"), stored("c.png", b"c"), inner]
    make(tmp_path, [{"_step": 0, "samples": table("t.table.json", cells), "image": cells[0]}])
    assert verify(tmp_path).problems == []
    assert verify(tmp_path).streams[0].media == 6
    (tmp_path / "media" / "b.png").unlink()
    (tmp_path / "media" / "c.png").write_bytes(b"changed")
    (tmp_path / "media" / "d.png").unlink()
    (stream,) = verify(tmp_path).streams
    assert stream.media_missing == ["media/b.png", "media/d.png"]
    assert stream.media_changed == ["media/c.png"]


def test_progress_never_runs_backwards_and_ends_at_the_whole(tmp_path: Path) -> None:
    make(tmp_path, [*rows_to(9000), *rows_to(3000)])
    make(tmp_path, rows_to(10), StreamKey("data"))
    make(tmp_path, [], StreamKey("empty"), end=None)
    told: list[tuple[int, int]] = []
    verify(tmp_path, progress=lambda done, total: told.append((done, total)))
    whole = 2 * sum(path.stat().st_size for path in tmp_path.glob("metrics*.jsonl"))
    assert {total for _, total in told} == {whole}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == whole
    assert len({done for done, _ in told}) > 3
