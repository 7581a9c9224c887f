"""Appending: every row once and in order, durable at once, and the end."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
import threading
from typing import TYPE_CHECKING

from expr_tracker.store import live_file
from expr_tracker.store import writer as writer_module
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import sidecar_of
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.lines import encode_line
from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from tests.expr_tracker.store.conftest import Desk

LINE = len(encode_line({"_step": 0, "t": "x"}))


# -- durable at once ----------------------------------------------------------------------------------


def test_a_row_is_in_the_file_when_append_returns(make: Callable[..., Desk]) -> None:
    desk = make()
    for step in range(5):
        desk.put(step)
        assert desk.steps() == list(range(step + 1))
        assert desk.writer.index.size == desk.path.stat().st_size
    assert desk.writer.durability == "process"
    assert desk.writer.pending_lines() == []


def test_a_row_costs_one_write(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.put(*range(10))
    assert desk.disk.calls == 10


def test_fsync_reaches_the_disk_before_append_returns(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.fstat(fd).st_size))
    desk = make(durability="fsync")
    desk.put(1, 2)
    with desk.lock:
        desk.writer.append_line(b"{}\n")
    assert synced == [LINE, 2 * LINE, 2 * LINE + 3]
    assert desk.writer.durability == "fsync"


def test_where_there_is_a_sync_that_passes_the_drives_cache_it_is_that_one(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    full_sync, real = 51, fcntl.fcntl

    def control(fd: int, operation: int, *arguments: int) -> int:
        if operation != full_sync:
            return real(fd, operation, *arguments)
        synced.append(fd)
        return 0

    monkeypatch.delattr(os, "fdatasync")
    monkeypatch.setattr(live_file, "_FULL_SYNC", full_sync)
    monkeypatch.setattr(fcntl, "fcntl", control)
    desk = make(durability="fsync")
    desk.put(1)
    assert synced == [desk.writer.file.fd]


def test_a_failing_sync_is_the_trackers_trouble_not_the_callers(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fail)
    desk = make(durability="fsync")
    desk.put(1, 2)
    with desk.lock:
        desk.writer.append_line(b"{}\n")
    assert desk.steps() == [1, 2]
    assert "Input/output error" in desk.said()
    assert sum(desk.notices.counts("degraded").values()) >= 1


def test_a_row_over_the_limit_is_refused_counted_and_spares_the_others(
    make: Callable[..., Desk],
) -> None:
    desk = make(max_record_bytes=200)
    desk.put(1)
    with desk.lock:
        assert not desk.writer.append_row({"_step": 2, "t": "x" * 300}, 2)
        desk.writer.append_line(b"y" * 300 + b"\n")
    desk.put(3)
    assert desk.steps() == [1, 3]
    assert desk.notices.counts("refused") == {"rows over max_record_bytes": 2}
    assert desk.said().count("was refused") == 1, "counted each time, said once"


# -- the end ------------------------------------------------------------------------------------------


def test_close_leaves_a_sidecar_that_covers_the_file(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.put(*range(5))
    desk.writer.close({"project": "p", "name": "n"})
    document = read_document(sidecar_of(desk.path))
    assert document is not None
    assert (document["size"], document["rows"]) == (desk.path.stat().st_size, 5)
    assert document["run"] == {"project": "p", "name": "n"}


def test_lines_that_nobody_asks_for_by_step_have_no_sidecar_and_are_not_read(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("console lines are not looked at")

    monkeypatch.setattr(StreamIndex, "scan", refuse)
    content = b""
    for subject in ("other", "other"):
        desk = make(subject=subject)
        with desk.lock:
            desk.writer.append_line(b'{"text": "a"}\n')
        content += b'{"text": "a"}\n'
        with desk.path.open("ab") as file:
            file.write(b"[]\n")
        content += b"[]\n"
        desk.writer.check_place()
        desk.writer.close({})
        assert desk.writer.index.size == len(content)
        assert desk.path.read_bytes() == content
        assert not sidecar_of(desk.path).exists()


def test_a_sidecar_that_cannot_be_written_is_counted(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(writer_module, "save_index", refuse)
    desk = make()
    desk.put(0)
    desk.writer.close({})
    assert desk.notices.counts("degraded") == {"index files that could not be written": 1}


def test_an_abandoned_writer_touches_no_lock_and_writes_nothing(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_interval=None)
    desk.put(0, 1)
    size = desk.path.stat().st_size
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with desk.lock, desk.writer._io:
            is_held.set()
            may_go.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(30)
    desk.writer.abandon_in_child()
    desk.writer.abandon_in_child()
    may_go.set()
    thread.join()
    assert desk.path.stat().st_size == size


def test_close_does_not_wait_for_a_hanging_write_and_rescues_what_waits(
    desk_at: Callable[..., Desk], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rescue = tmp_path / "rescue"
    rescue.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(rescue))
    desk = desk_at(path, durability="buffered", buffer_interval=None, finish_timeout=0.05)
    desk.put(0, 1, 2)
    is_in, may_go = threading.Event(), threading.Event()

    def hang(fd: int, data: bytes) -> int:
        is_in.set()
        may_go.wait(30)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    desk.writer._write = hang
    thread = threading.Thread(target=desk.writer.flush)
    thread.start()
    assert is_in.wait(30)
    assert desk.writer.close({}) == 3
    (kept,) = rescue.iterdir()
    assert [row["_step"] for row in whole_rows(kept) if "_step" in row] == [0, 1, 2]
    may_go.set()
    thread.join()


def test_many_threads_and_a_flusher_keep_every_row_once(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_size=7, buffer_interval=None)
    is_done = threading.Event()

    def put(first: int) -> None:
        for step in range(first, first + 300):
            with desk.lock:
                desk.writer.append_row({"_step": step}, step)

    def flush() -> None:
        while not is_done.is_set():
            desk.writer.flush()
            desk.writer.check_place()

    threads = [threading.Thread(target=put, args=(first,)) for first in (0, 1000, 2000)]
    flusher = threading.Thread(target=flush)
    flusher.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    is_done.set()
    flusher.join()
    desk.writer.close({})
    steps = desk.steps()
    assert sorted(steps) == sorted([*range(300), *range(1000, 1300), *range(2000, 2300)])
    for first in (0, 1000, 2000):
        own = [step for step in steps if first <= step < first + 1000]
        assert own == sorted(own)
