"""The lock that keeps a second live writer out: real processes, really killed."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.errors import StreamInUseError
from expr_tracker.store import lock as lock_module
from expr_tracker.store.lock import StreamLock, beginning_in, is_locked

if TYPE_CHECKING:
    from collections.abc import Iterator

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

HOLD = """
import os, sys
from pathlib import Path
from expr_tracker.store.lock import StreamLock
lock = StreamLock(Path(sys.argv[1]))
lock.acquire("default")
if sys.argv[2] == "with-child" and os.fork() == 0:
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
if sys.argv[2] == "alone":
    print(os.getpid(), flush=True)
sys.stdin.read()
"""


class Holder:
    """A process that holds the lock until it is killed or its input ends."""

    def __init__(self, path: Path, how: str = "alone") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(path), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.shown_pid = int(self.process.stdout.readline())

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def close(self) -> None:
        self.process.kill()
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process.wait(30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.lock"


@pytest.fixture
def holder(path: Path) -> Iterator[Holder]:
    process = Holder(path)
    yield process
    process.close()


def test_a_second_process_is_refused_with_pid_host_start_and_the_way_out(
    path: Path, holder: Holder
) -> None:
    with pytest.raises(StreamInUseError) as refusal:
        StreamLock(path).acquire("data")
    text = str(refusal.value)
    for part in ("'data'", str(holder.pid), socket.gethostname(), "started 20", "stream="):
        assert part in text
    assert "is gone" not in text
    assert is_locked(path)


def test_a_second_lock_of_the_same_process_is_refused_too(path: Path) -> None:
    first, second = StreamLock(path), StreamLock(path)
    first.acquire("default")
    with pytest.raises(StreamInUseError, match=str(os.getpid())):
        second.acquire("default")
    first.release()
    second.acquire("default")
    second.release()


def test_kill_frees_the_lock_at_once(path: Path, holder: Holder) -> None:
    holder.kill()
    assert not is_locked(path)
    lock = StreamLock(path)
    lock.acquire("default")
    assert json.loads(path.read_bytes())["pid"] == os.getpid()
    lock.release()


def test_release_frees_it_and_a_second_one_does_nothing(path: Path) -> None:
    lock = StreamLock(path)
    lock.acquire("default")
    assert is_locked(path)
    lock.release()
    lock.release()
    assert not is_locked(path)


@fork
def test_a_dead_holder_whose_child_still_has_the_file_is_named_as_dead(path: Path) -> None:
    holder = Holder(path, "with-child")
    try:
        holder.kill()
        with pytest.raises(StreamInUseError) as refusal:
            StreamLock(path).acquire("default")
        assert str(holder.pid) in str(refusal.value)
        assert "is gone" in str(refusal.value)
    finally:
        os.kill(holder.shown_pid, signal.SIGKILL)
        holder.close()


def _abandon(lock: StreamLock, pipe: Any) -> None:
    lock.abandon_in_child()
    pipe.send("abandoned")
    pipe.recv()


@fork
def test_a_forked_child_that_let_go_does_not_keep_the_lock(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    lock = StreamLock(path)
    lock.acquire("default")
    here, there = context.Pipe()
    child = context.Process(target=_abandon, args=(lock, there))
    child.start()
    assert here.recv() == "abandoned"
    assert is_locked(path), "the child's close must not free the parent's lock"
    lock.release()
    assert not is_locked(path), "the child still runs, and holds nothing"
    here.send("end")
    child.join(30)
    assert child.exitcode == 0


@fork
def test_a_child_that_has_not_let_go_yet_keeps_no_lock_that_was_released(path: Path) -> None:
    """Between the fork of a command and the begin of its program no hook of ours runs."""
    readable, writable = os.pipe()
    lock = StreamLock(path)
    lock.acquire("default")
    child = os.fork()
    if child == 0:
        os.close(writable)
        os.read(readable, 1)
        os._exit(0)
    os.close(readable)
    lock.release()
    assert not is_locked(path)
    os.close(writable)
    os.waitpid(child, 0)


def test_a_lock_file_that_was_removed_is_made_again_and_held(path: Path) -> None:
    lock = StreamLock(path)
    lock.acquire("default")
    assert lock.keep_place("default") == "kept"
    path.unlink()
    assert lock.keep_place("default") == "remade"
    assert is_locked(path)
    assert json.loads(path.read_bytes())["pid"] == os.getpid()
    lock.release()
    assert not is_locked(path)
    assert lock.keep_place("default") == "kept"


def test_a_lock_that_another_process_took_meanwhile_is_left_to_it(path: Path) -> None:
    lock = StreamLock(path)
    lock.acquire("default")
    path.unlink()
    other = Holder(path)
    try:
        assert lock.keep_place("default") == "taken"
    finally:
        other.close()
    assert lock.keep_place("default") == "remade"
    lock.release()


def test_a_lock_that_nobody_keeps_is_given_back(path: Path) -> None:
    lock = StreamLock(path)
    lock.acquire("default")
    del lock
    assert not is_locked(path)


def test_looking_does_not_make_a_lock_file(path: Path) -> None:
    assert not is_locked(path)
    assert not path.exists()


def test_a_reader_that_looks_never_makes_a_writer_fail(path: Path) -> None:
    path.touch()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            is_locked(path)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(200):
            lock = StreamLock(path)
            lock.acquire("default")
            lock.release()
    finally:
        stop.set()
        for reader in readers:
            reader.join()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff", b'{"since": "x"}']
)
def test_a_damaged_lock_file_is_refused_with_what_is_known(
    path: Path, holder: Holder, content: bytes
) -> None:
    path.write_bytes(content)
    with pytest.raises(StreamInUseError, match="is being written by"):
        StreamLock(path).acquire("default")
    assert holder.process.poll() is None


def test_where_the_file_system_has_no_locks_the_stream_opens_without_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    lock = StreamLock(path)
    lock.acquire("default")
    assert not lock.is_supported
    lock.release()


def test_a_folder_that_is_missing_raises_and_leaves_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    with pytest.raises(FileNotFoundError):
        StreamLock(tmp_path / "no" / "metrics.lock").acquire("default")
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    assert before == after


def test_a_refused_lock_leaves_no_descriptor(path: Path, holder: Holder) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for _ in range(3):
        with pytest.raises(StreamInUseError):
            StreamLock(path).acquire("default")
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    assert before == after
    assert holder.process.poll() is None


# -- a descriptor that the program closed --------------------------------------------------------------


def test_a_closed_lock_is_taken_again_once(path: Path) -> None:
    lock = StreamLock(path)
    lock.acquire("default")
    assert lock._fd is not None
    os.close(lock._fd)
    assert not is_locked(path)
    assert lock.keep_place("default") == "reopened"
    assert is_locked(path)
    assert lock.keep_place("default") == "kept", "the new descriptor may have the old number"
    lock.release()
    assert not is_locked(path)


@pytest.mark.parametrize(
    ("between", "place"),
    [
        ({"pid": 1, "host": "elsewhere"}, "regained"),
        ({"pid": os.getpid(), "host": "elsewhere"}, "regained"),
        (None, "reopened"),
    ],
)
def test_a_lock_that_is_taken_again_tells_whether_another_process_had_it(
    path: Path, between: dict[str, Any] | None, place: str
) -> None:
    lock = StreamLock(path)
    lock.acquire("default")
    assert lock._fd is not None
    os.close(lock._fd)
    path.write_text("" if between is None else json.dumps(between))
    assert lock.keep_place("default") == place
    assert lock.holder_before == (between or {})
    lock.release()


def test_a_file_that_has_the_locks_number_is_neither_closed_nor_written(
    path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "checkpoint.pt"
    lock, second = StreamLock(path), StreamLock(path)
    lock.acquire("default")
    assert lock._fd is not None
    with other.open("wb") as file:
        os.dup2(file.fileno(), lock._fd)
        stolen = lock._fd
        second.acquire("default")
        assert lock.keep_place("default") == "taken"
        lock.release()
        assert os.fstat(stolen).st_ino == other.stat().st_ino
        os.close(stolen)
    assert other.read_bytes() == b""
    second.release()


def test_release_does_not_raise_for_a_descriptor_that_is_gone(path: Path) -> None:
    lock = StreamLock(path)
    lock.acquire("default")
    assert lock._fd is not None
    os.close(lock._fd)
    lock.release()
    lock.release()


# -- what is no lock file ------------------------------------------------------------------------------

NOTES = "notes of mine, and many lines of them\n" * 5


def test_a_link_is_refused_with_its_name_and_what_it_leads_to_stays(
    path: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text(NOTES)
    path.symlink_to(notes)
    with pytest.raises(OSError, match="it is a symbolic link") as refusal:
        StreamLock(path).acquire("default")
    assert refusal.value.filename == str(path)
    assert notes.read_text() == NOTES


@pytest.mark.parametrize("content", [NOTES, ""])
def test_a_file_with_a_second_name_is_locked_and_not_written(
    path: Path, tmp_path: Path, content: str
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text(content)
    path.hardlink_to(notes)
    lock = StreamLock(path)
    lock.acquire("default")
    assert is_locked(path)
    with pytest.raises(StreamInUseError, match="written by another process"):
        StreamLock(path).acquire("default")
    lock.release()
    assert notes.read_text() == content


def test_a_file_with_other_content_is_locked_and_not_written(path: Path) -> None:
    path.write_text(NOTES)
    lock = StreamLock(path)
    lock.acquire("default")
    assert is_locked(path)
    lock.release()
    assert path.read_text() == NOTES


@pytest.mark.parametrize("content", [b"", b"\0" * 57, b'{"pid": 1, "host": "h", "since": 1.0}'])
def test_what_a_lock_left_is_written_anew(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    lock = StreamLock(path)
    lock.acquire("default")
    assert json.loads(path.read_bytes())["pid"] == os.getpid()
    lock.release()


def test_a_pipe_or_a_folder_is_refused_with_its_name(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(OSError, match="it is no regular file") as refusal:
        StreamLock(path).acquire("default")
    assert refusal.value.filename == str(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError) as refusal:
        StreamLock(path).acquire("default")
    assert str(refusal.value.filename) == str(path)


# -- beginning a stream --------------------------------------------------------------------------------


def test_who_begins_a_stream_waits_for_another_who_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    is_inside, may_leave = threading.Event(), threading.Event()

    def first() -> None:
        with beginning_in(tmp_path):
            is_inside.set()
            may_leave.wait(30)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    is_inside.wait(30)
    # The first leaves when the second waits, and not before.
    monkeypatch.setattr(time, "sleep", lambda _seconds: may_leave.set())
    with beginning_in(tmp_path):
        order.append("second")
    may_leave.set()
    thread.join()
    assert order == ["first", "second"]


def test_who_was_stopped_while_it_began_is_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_module, "_BEGINNING_SECONDS_MAX", 0.01)
    with beginning_in(tmp_path), beginning_in(tmp_path):
        pass


@fork
def test_a_child_forked_meanwhile_keeps_nobody_out(tmp_path: Path) -> None:
    readable, writable = os.pipe()
    with beginning_in(tmp_path):
        child = os.fork()
        if child == 0:
            os.close(writable)
            os.read(readable, 1)
            os._exit(0)
    os.close(readable)
    began = time.monotonic()
    with beginning_in(tmp_path):
        pass
    assert time.monotonic() - began < 0.9
    os.close(writable)
    os.waitpid(child, 0)


@pytest.mark.parametrize("before", [b"", b'{"pid": 1, "host": "h", "since": 1.0}'])
def test_a_full_disk_keeps_nobody_from_a_lock_and_names_nobody_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    path = tmp_path / "metrics.lock"
    path.write_bytes(before)

    def full(*_args: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    lock = StreamLock(path)
    lock.acquire("default")
    with pytest.raises(StreamInUseError, match="another process"):
        StreamLock(path).acquire("default")
    lock.release()
    assert path.read_bytes() == b""
