"""The lock that keeps a second live writer out of a stream.

`flock` on a file of its own, never on the data file: a copy of the data must not drag a lock along.
The operating system frees it when the process dies, however it dies. The file tells who holds it.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from typing import TYPE_CHECKING, Any, Final, Literal

from expr_tracker.errors import StreamInUseError
from expr_tracker.store.place import is_same_file
from expr_tracker.store.regular import open_regular

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["StreamLock", "is_locked"]

_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN})
#: Readers that look (`is_locked`) hold a shared lock for microseconds; they are waited for.
_READERS_SECONDS_MAX: Final = 1.0
_READERS_PAUSE_SECONDS: Final = 0.001


class StreamLock:
    """An exclusive lock on one stream, held from `acquire` to `release`."""

    _fd: int | None = None

    def __init__(self, path: Path) -> None:
        self._path = path
        #: False where the file system has no locks: the caller says so once.
        self.is_supported = True

    def acquire(self, label: str) -> None:
        """Take the lock without waiting for another writer.

        Args:
            label: the stream's name, for the message.

        Raises:
            StreamInUseError: another live writer has it.
            OSError: the lock file cannot be made at all.
        """
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._lock(fd, label)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        holder = {"pid": os.getpid(), "host": _host(), "since": time.time()}
        if self.is_supported:
            os.ftruncate(fd, 0)
            os.pwrite(fd, json.dumps(holder).encode(), 0)

    def _lock(self, fd: int, label: str) -> None:
        give_up_at = time.monotonic() + _READERS_SECONDS_MAX
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _BUSY:
                    self.is_supported = False
                    return
            else:
                return
            if not _is_held_by_readers(fd) or time.monotonic() >= give_up_at:
                raise StreamInUseError(_in_use(label, _holder(fd)))
            time.sleep(_READERS_PAUSE_SECONDS)

    def keep_place(self, label: str) -> Literal["kept", "remade", "taken"]:
        """Make the lock file again where someone removed it, with the run directory or alone.

        ``taken`` is the answer where another process has begun to write the stream meanwhile.

        Args:
            label: the stream's name, for the message.

        Raises:
            OSError: the lock file cannot be made.
        """
        fd = self._fd
        if fd is None or is_same_file(fd, self._path):
            return "kept"
        fresh = StreamLock(self._path)
        try:
            fresh.acquire(label)
        except StreamInUseError:
            return "taken"
        self._fd, fresh._fd = fresh._fd, None
        os.close(fd)
        return "remade"

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def __del__(self) -> None:
        # A signal's exception may fall between `acquire` and whoever keeps the object.
        self.release()

    def abandon_in_child(self) -> None:
        """Close the inherited descriptor after a fork, so the parent alone decides the lock's end.

        The lock belongs to the open file, which parent and child share: a child that kept it open
        would hold the stream after the parent's death.
        """
        self.release()


def is_locked(path: Path) -> bool:
    """Say whether a live process holds the lock at ``path``, without taking it."""
    try:
        fd = open_regular(path)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _BUSY
    finally:
        os.close(fd)
    return False


def _is_held_by_readers(fd: int) -> bool:
    """Say whether the lock that was in the way is gone or shared: no writer's."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return True


def _holder(fd: int) -> dict[str, Any]:
    try:
        holder = json.loads(os.pread(fd, 4096, 0) or b"{}")
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


def _in_use(label: str, holder: dict[str, Any]) -> str:
    pid, host = holder.get("pid"), holder.get("host")
    who = f"process {pid} on {host}" if pid is not None else "another process"
    since = holder.get("since")
    if isinstance(since, (int, float)):
        who += time.strftime(", started %Y-%m-%d %H:%M:%S", time.localtime(since))
    if isinstance(pid, int) and host == _host() and not _is_alive(pid):
        who += " (that process is gone, but one it started still holds the file)"
    return (
        f"Stream {label!r} of this run is being written by {who}. Two writers of one stream would "
        "mix their steps: give this process a stream of its own (stream='...'), another run name, "
        "or set ET_STREAM_IN_USE=new to have one made."
    )


def _host() -> str:
    return os.uname().nodename  # what gethostname says, without 5 ms for loading sockets


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
