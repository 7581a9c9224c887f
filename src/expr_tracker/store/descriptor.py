"""Whether a descriptor that is kept open is still ours.

A descriptor is a number, and the program may close any number: twice by mistake, with ``os.closerange``,
or all of them as it becomes a daemon. The next file that it opens then gets the number, and who goes
on trusting it writes into that file and closes it in the end. So whoever keeps a descriptor remembers
what it was opened for, and compares before anything but a plain write.

It also keeps away from the numbers that come next (`set_apart`): then a closed one mostly stays free,
and a write finds out at once.
"""

from __future__ import annotations

import fcntl
import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from expr_tracker.interruption import is_from_signal

__all__ = ["OpenFile", "close_own", "identity_of", "is_own", "name_of", "set_apart"]

#: How a file was opened; a reader of the same file is another descriptor.
_ACCESS: Final = os.O_ACCMODE | os.O_APPEND
#: Files get the lowest free number, and few programs have so many open. From 64 on Linux enlarges the
#: process's table, for which a program with threads waits 10 ms. In turn, for when all are closed at
#: once: what is opened again first must not get the number that another of ours still trusts.
_NUMBERS: Final = itertools.cycle(range(32, 64))


@dataclass(frozen=True, slots=True)
class OpenFile:
    """What a descriptor was opened for."""

    device: int
    inode: int
    access: int
    """Reading, writing or both, and whether every write is appended."""

    def is_same_file(self, other: OpenFile) -> bool:
        """Say whether both are descriptors of one file."""
        return (self.device, self.inode) == (other.device, other.inode)


def identity_of(fd: int) -> OpenFile | None:
    """Return what a descriptor is open for; ``None`` where it is not open."""
    try:
        status = os.fstat(fd)
        access = fcntl.fcntl(fd, fcntl.F_GETFL) & _ACCESS
    except OSError as error:
        if is_from_signal(error):
            raise
        return None
    return OpenFile(status.st_dev, status.st_ino, access)


def set_apart(fd: int) -> int:
    """Give an open file a number that other files do not soon get; return it."""
    try:
        apart = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, next(_NUMBERS))
    except OSError as error:  # the limit of open files: it stays what it is
        if is_from_signal(error):
            raise
        return fd
    os.close(fd)
    return apart


def is_own(fd: int, identity: OpenFile | None) -> bool:
    """Say whether ``fd`` is open and what it was opened for.

    Args:
        fd: the number.
        identity: what it was; ``None`` where an exception came before anyone could ask: any open
            descriptor is then taken for it.
    """
    now = identity_of(fd)
    return now is not None and identity in {None, now}


def close_own(fd: int, identity: OpenFile | None) -> None:
    """Close ``fd`` if it is ours; what the system says to that is of no use to anyone."""
    if not is_own(fd, identity):
        return
    try:
        os.close(fd)
    except OSError as error:  # Linux has closed it nevertheless: close(2)
        if is_from_signal(error):
            raise


def name_of(fd: int) -> str | None:
    """Return the path of what ``fd`` is open for; ``None`` where nobody can say."""
    try:
        return str(Path(f"/proc/self/fd/{fd}").readlink())
    except OSError as error:
        if is_from_signal(error):
            raise
        return None
