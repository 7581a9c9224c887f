"""The lock that keeps a second live writer out of a stream.

`flock` on a file of its own, never on the data file: a copy of the data must not drag a lock along.
The operating system frees it when the process dies, however it dies. The file tells who holds it;
what stands under its name and is no lock file of ours (a link, another program's text) is not written.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from typing import TYPE_CHECKING, Any, Final, Literal

from expr_tracker.errors import StreamInUseError
from expr_tracker.interruption import is_from_signal, suppress_own
from expr_tracker.store.descriptor import OpenFile, close_own, identity_of, is_own, set_apart
from expr_tracker.store.documents import read_document
from expr_tracker.store.holders import HOLDERS_KEPT, holders_in
from expr_tracker.store.place import is_same_file
from expr_tracker.store.regular import open_regular
from expr_tracker.store.seconds import seconds_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["StreamLock", "beginning_in", "is_locked", "refuse_if_locked"]

_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN})
#: Readers that look (`is_locked`) hold a shared lock for microseconds; they are waited for.
_READERS_SECONDS_MAX: Final = 1.0
_READERS_PAUSE_SECONDS: Final = 0.001
#: Who begins a stream holds the directory for a millisecond; one that was stopped in it is passed.
_BEGINNING_SECONDS_MAX: Final = 1.0
_HOLDER_BYTES_MAX: Final = 4096
#: How what stands in a lock file begins, in every version.
_HOLDER_BEGINNING: Final = b'{"pid"'
#: What `StreamLock.keep_place` found.
Place = Literal["kept", "remade", "reopened", "regained", "taken"]
#: What a second writer can do.
_ADVICE: Final = (
    "Two writers of one stream would mix their steps: give this process a stream of its own "
    "(stream='...'), another run name, or set ET_STREAM_IN_USE=new to have one made."
)


class StreamLock:
    """An exclusive lock on one stream, held from `acquire` to `release`."""

    _fd: int | None = None
    _identity: OpenFile | None = None

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Who held it last, as the file said when it was taken; empty where it said nothing.
        self.holder_before: dict[str, Any] = {}
        #: False where the file system has no locks: the caller says so once.
        self.is_supported = True

    def acquire(self, label: str, advice: str = _ADVICE) -> None:
        """Take the lock without waiting for another writer.

        Args:
            label: the stream's name, for the message.
            advice: what the caller can do where it is taken, as well.

        Raises:
            StreamInUseError: another live writer has it.
            OSError: the lock file cannot be made at all, or something else has its name.
        """
        fd = self._open()
        try:
            identity = identity_of(fd)
            self._lock(fd, label, advice)
            self.holder_before = _holder(fd)
        except BaseException:
            _unlock(fd)
            os.close(fd)
            raise
        self._fd, self._identity = fd, identity
        if self.is_supported:
            with suppress_own(OSError):  # the lock holds all the same
                _note_holder(fd)

    def _open(self) -> int:
        try:
            return set_apart(open_regular(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW))
        except OSError as error:
            if is_from_signal(error) or error.errno != errno.ELOOP or not self._path.is_symlink():
                raise
            text = "it is a symbolic link, and a lock is taken on a file itself; move it away"
            raise OSError(errno.ELOOP, text, str(self._path)) from None

    def _lock(self, fd: int, label: str, advice: str) -> None:
        give_up_at = time.monotonic() + _READERS_SECONDS_MAX
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if is_from_signal(error):
                    raise
                if error.errno not in _BUSY:
                    self.is_supported = False
                    return
            else:
                return
            if not _is_held_by_readers(fd) or time.monotonic() >= give_up_at:
                raise StreamInUseError(_in_use(label, _holder(fd), advice))
            time.sleep(_READERS_PAUSE_SECONDS)

    def keep_place(self, label: str) -> Place:
        """Make the lock file again where someone removed it, with the run directory or alone.

        ``reopened`` is the answer where the program had closed the lock's descriptor, which gives
        the lock up; ``regained`` where another process has had it since then (`holder_before`);
        ``taken`` where one writes the stream now.

        Args:
            label: the stream's name, for the message.

        Raises:
            OSError: the lock file cannot be made.
        """
        fd, identity = self._fd, self._identity
        if fd is None:
            return "kept"
        was_ours = is_own(fd, identity)
        if was_ours and is_same_file(fd, self._path):
            return "kept"
        fresh = StreamLock(self._path)
        try:
            fresh.acquire(label)
        except StreamInUseError:
            return "taken"
        self._fd, self._identity, fresh._fd = fresh._fd, fresh._identity, None
        if not was_ours:  # the new descriptor may well have the old one's number
            self.holder_before = before = fresh.holder_before
            is_others = bool(before) and _whose(before) != (os.getpid(), _host())
            return "regained" if is_others else "reopened"
        close_own(fd, identity)
        return "remade"

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        fd = self._fd
        if fd is not None:
            if is_own(fd, self._identity):
                _unlock(fd)
            self._let_go()

    def _let_go(self) -> None:
        if self._fd is not None:
            close_own(self._fd, self._identity)
            self._fd = None  # behind it: left by an exception, a second call closes what is ours

    def __del__(self) -> None:
        # A signal's exception may fall between `acquire` and whoever keeps the object.
        self.release()

    def abandon_in_child(self) -> None:
        """Close the inherited descriptor after a fork, so the parent alone decides the lock's end.

        The lock belongs to the open file, which parent and child share: a child that kept it open
        would hold the stream after the parent's death.
        """
        self._let_go()


@contextlib.contextmanager
def beginning_in(directory: Path) -> Iterator[None]:
    """Keep others from beginning a stream in ``directory``, while it is looked whether ours may.

    By a lock on the directory itself. Where the file system has none (NFS wants a lock's file open
    for writing), nobody is kept out.

    Raises:
        OSError: the directory cannot be opened.
    """
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        give_up_at = time.monotonic() + _BEGINNING_SECONDS_MAX
        while not _may_begin(fd) and time.monotonic() < give_up_at:
            time.sleep(_READERS_PAUSE_SECONDS)
        try:
            yield
        finally:
            _unlock(fd)
    finally:
        os.close(fd)


def _may_begin(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if is_from_signal(error):
            raise
        return error.errno not in _BUSY
    return True


def is_locked(path: Path) -> bool:
    """Say whether a live process holds the lock at ``path``, without taking it."""
    try:
        fd = open_regular(path)
    except OSError as error:
        if is_from_signal(error):
            raise
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if is_from_signal(error):
            raise
        return error.errno in _BUSY
    finally:
        os.close(fd)
    return False


def refuse_if_locked(path: Path, label: str, advice: str) -> None:
    """Raise what `StreamLock.acquire` would, and take nothing.

    Raises:
        StreamInUseError: a live process holds the lock at ``path``.
    """
    if is_locked(path):
        raise StreamInUseError(_in_use(label, read_document(path) or {}, advice))


def _unlock(fd: int) -> None:
    """Give up the lock of an open file, as closing it does not where another process shares it.

    A process that was forked meanwhile does, until it ends or begins its own program.
    """
    with suppress_own(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)


def _is_held_by_readers(fd: int) -> bool:
    """Say whether the lock that was in the way is gone or shared: no writer's."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if is_from_signal(error):
            raise
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return True


def _holder(fd: int) -> dict[str, Any]:
    """Return who holds the lock, as the file says; nothing where it is not ours to say it in."""
    if not _is_ours_to_write(fd):
        return {}
    try:
        holder = json.loads(os.pread(fd, _HOLDER_BYTES_MAX, 0) or b"{}")
    except ValueError as error:
        if is_from_signal(error):
            raise
        return {}
    return holder if isinstance(holder, dict) else {}


def _whose(holder: dict[str, Any]) -> tuple[Any, Any]:
    return holder.get("pid"), holder.get("host")


def _note_holder(fd: int) -> None:
    """Write who holds the lock; where that does not fit, nobody is named.

    What stands there is overwritten first: its room may be all that a full disk has.
    """
    if not _is_ours_to_write(fd):
        return
    own = {"pid": os.getpid(), "host": _host(), "since": time.time()}
    holder = json.dumps({**own, "before": holders_in(_holder(fd))[:HOLDERS_KEPT]}).encode()
    written = 0
    try:
        written = os.pwrite(fd, holder, 0)
    finally:
        os.ftruncate(fd, written if written == len(holder) else 0)


def _is_ours_to_write(fd: int) -> bool:
    """Say whether the file has one name and holds nothing but what a lock file holds.

    Another name may be that of a program's file, or of the same lock in a copy made of hard links.
    """
    if os.fstat(fd).st_nlink != 1:
        return False
    content = os.pread(fd, _HOLDER_BYTES_MAX, 0).strip(b"\0")  # what a power loss leaves
    return not content or content.startswith(_HOLDER_BEGINNING)


def _in_use(label: str, holder: dict[str, Any], advice: str) -> str:
    pid, host = holder.get("pid"), holder.get("host")
    who = f"process {pid} on {host}" if pid is not None else "another process"
    since = seconds_in(holder.get("since"))
    if since is not None:
        with suppress_own(OverflowError, ValueError, OSError):  # a time that no calendar has
            who += time.strftime(", started %Y-%m-%d %H:%M:%S", time.localtime(since))
    if isinstance(pid, int) and host == _host() and not _is_alive(pid):
        who += " (that process is gone, but one it started still holds the file)"
    return f"Stream {label!r} of this run is being written by {who}. {advice}"


def _host() -> str:
    return os.uname().nodename  # what gethostname says, without 5 ms for loading sockets


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # or no process can have that number
        return False
    except PermissionError:
        return True
    return True
