"""Opening what is a regular file, and nothing that could make a reader wait.

Whoever may write in a run's folder can put a named pipe under any name there: opened the plain way
it holds its reader until someone writes into it, and a device may give bytes without an end.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.enclosure import LeadsOutError, open_enclosed

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["open_regular", "read_regular"]


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open ``path`` and return the descriptor.

    Args:
        path: the file.
        flags: what for, by default for reading; a file that they make has the usual mode. With
            ``O_NOFOLLOW`` a link is refused: what it leads to may be of no run.

    Raises:
        IsADirectoryError: it is a directory.
        LeadsOutError: it lies outside of where this thread reads; see `enclosure`.
        OSError: it cannot be opened, or is a pipe, a socket or a device.
    """
    # Without waiting: of a pipe, `open` itself waits; regular files know no such thing.
    try:
        fd = open_enclosed(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
    except OSError as error:
        is_link = error.errno == errno.ELOOP and not isinstance(error, LeadsOutError)
        if is_from_signal(error) or not flags & os.O_NOFOLLOW or not is_link:
            raise
        raise OSError(errno.ELOOP, "it is a symbolic link; move it away", str(path)) from None
    try:
        _refuse_others(os.fstat(fd).st_mode, path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _refuse_others(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no regular file; move it away", str(path))


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file; see `open_regular`."""
    # No file object around the descriptor: an interrupt before its `with` would leave one open.
    fd = open_regular(path)
    try:
        return _read_to_end(fd)
    finally:
        os.close(fd)


def _read_to_end(fd: int) -> bytes:
    pieces = []
    # One byte more than there is: a file that does not grow meanwhile takes two reads.
    while piece := os.read(fd, os.fstat(fd).st_size + 1):
        pieces.append(piece)
    return b"".join(pieces)
