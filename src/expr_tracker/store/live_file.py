"""The open file that a writer appends to: its descriptor, where it begins, and its rotation.

Offsets count over all set-aside parts; ``start`` is where the live file begins among them. The
writer decides when; this module does it so that an exception from a signal handler between any two
calls can be made good later.

The descriptor is compared with what it was opened for (`descriptor`) before anything but a write of a
row: that one trusts the number, as asking costs a row 0.5 us, a fifth of a ``log``.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.descriptor import OpenFile, close_own, identity_of, is_own, name_of
from expr_tracker.store.files import parts_of
from expr_tracker.store.place import (
    Copy,
    add_since,
    is_same_file,
    open_for_append,
    set_part_aside,
)
from expr_tracker.store.reader import LineFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from expr_tracker.notices import Notices
    from expr_tracker.options import Options
    from expr_tracker.store.parts import Part

__all__ = ["LiveFile", "Reopening"]

#: Of macOS, which has no fdatasync and whose fsync stops at the drive's own cache.
_FULL_SYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)


@dataclass(frozen=True)
class Reopening:
    """That the file had to be opened again, as the program had closed its descriptor."""

    stranger: str | None
    """The file that has the descriptor's number now, where it is open and its name is known."""
    is_same: bool
    """Whether the file that was opened is the one that was open before."""


class LiveFile:
    """One file, open for appending.

    Wherever another descriptor takes over, one assignment without a call changes ``fd`` and makes
    ``_identity`` ``None``, with which `descriptor` takes it for ours; the old one is closed last. So
    whichever step an exception from a signal handler follows, ``fd`` is the file that rows go on into,
    and nothing is put back or set aside twice.

    Attributes:
        fd: the descriptor; -1 once closed, or while a lost one cannot be replaced.
        start: the offset of the file's first byte, in bytes over all parts.
        reopening: that `reopen_if_closed` opened the file again, until the writer has accounted for it.
    """

    def __init__(
        self,
        path: Path,
        options: Options,
        *,
        notices: Notices,
        write: Callable[[int, bytes], int],
    ) -> None:
        self.path = path
        self._notices = notices
        self._write = write
        self.fd = open_for_append(path)
        self._identity: OpenFile | None = identity_of(self.fd)
        self._is_closed = False
        self._stranger: str | None = None
        self.reopening: Reopening | None = None
        self.limit = options.max_file_bytes
        self.start = 0
        if parts_of(path).is_dir():  # also where rotation was switched off since
            with LineFile(path) as file:
                self.start = file.live_start
        self.is_rotating = False
        self._copy: Copy | None = None

    def end(self) -> int:
        """Return the offset behind the file's last byte; `reopen_if_closed` has been called.

        Raises:
            OSError: it cannot be asked.
        """
        return os.fstat(self.fd).st_size + self.start

    def reopen_if_closed(self) -> None:
        """Open the file again if its descriptor is not ours any more; say so in ``reopening``.

        The number is neither written nor closed from then on, whoever has it.

        Raises:
            OSError: the file cannot be opened; another call tries again.
        """
        if self._is_closed:
            return
        if self.fd >= 0:
            if is_own(self.fd, self._identity):
                return
            self._stranger = name_of(self.fd)
            self.fd = -1
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_there = self.path.exists()  # a new file may well get the inode of the removed one
        fd = open_for_append(self.path)
        before, identity = self._identity, identity_of(fd)
        is_same = before is None or identity is None or identity.is_same_file(before)
        reopening = Reopening(self._stranger, is_there and is_same)
        self.fd, self._identity, self.reopening = fd, identity, reopening

    def cut_back(self, size: int) -> int:
        """Remove a part of a line behind offset ``size``.

        Where that is impossible, the part is ended, so that the next line is a whole one.

        Returns:
            Bytes that stay in the file as a line that nobody can read.
        """
        if not is_own(self.fd, self._identity):
            return 0  # it is looked at when the file is opened again
        try:
            os.ftruncate(self.fd, size - self.start)
        except OSError as error:
            if is_from_signal(error):
                raise
            try:
                rest = self.end() - size
                if self._write(self.fd, b"\n") == 1:
                    return rest + 1
            except OSError as again:
                if is_from_signal(again):
                    raise
                self._notices.count("degraded", f"torn lines in {self.path.name}")
        return 0

    def sync(self) -> None:
        """Wait until the disk has it; a failure is counted, for the rows are with the system."""
        try:
            _sync(self.fd)
        except OSError as error:
            if is_from_signal(error):
                raise
            self._notices.count("degraded", f"writes of {self.path.name} that fsync failed on")
            self._notices.once(
                ("sync", self.path),
                f"{self.path}: fsync failed ({error.strerror}). Its rows are with the operating "
                "system, but a power loss may take them.",
            )

    def rotate_before(self, size: int, end: int, known: Sequence[Part]) -> None:
        """Set the file aside if ``size`` more bytes behind offset ``end`` would take it too far.

        Args:
            size: bytes that are about to be written.
            end: where the file ends.
            known: the parts there were.
        """
        live = end - self.start
        if self.limit is None or live == 0 or live + size <= self.limit:
            return
        if not is_own(self.fd, self._identity):
            return  # what is in the file is not what has been counted
        self.is_rotating = True
        try:
            fd = set_part_aside(self.path, known)
        except OSError as error:
            if is_from_signal(error):
                raise
            self.is_rotating = False
            self._notices.once(
                ("rotation", self.path),
                f"{self.path} could not be set aside: {error}; it grows on.",
            )
            return
        old, was, self.fd, self._identity = self.fd, self._identity, fd, None
        self.start = end
        self.is_rotating = False
        self._identity = identity_of(fd)
        close_own(old, was)

    def settle_rotation(self, end: int) -> None:
        """Finish a rotation that an exception left: the file at the path is the live one."""
        try:
            if not is_own(self.fd, self._identity):
                self.reopen_if_closed()
                if self.reopening is not None and not self.reopening.is_same:
                    self.start = end
            elif not is_same_file(self.fd, self.path):
                fd = open_for_append(self.path)
                old, was, self.fd, self._identity = self.fd, self._identity, fd, None
                self.start = end
                self._identity = identity_of(fd)
                close_own(old, was)
        except OSError as error:
            if is_from_signal(error):
                raise
            return
        self.is_rotating = False

    def is_in_place(self) -> bool:
        """Say whether the path still names this file.

        Raises:
            OSError: it cannot be asked.
        """
        return is_same_file(self.fd, self.path)

    def put_back(self, checked: int) -> None:
        """Give the contents their name back; what is behind offset ``checked`` at the least.

        A missing file is made again with all its contents, which the descriptor still reaches: most
        of them are in a copy that was begun before, or all are copied now.

        Raises:
            OSError: the place cannot be written; nothing has changed.
        """
        if self.path.exists():
            fd = add_since(self.fd, self.path, max(0, checked - self.start))
            old, was, self.fd, self._identity = self.fd, self._identity, fd, None
            self._identity = identity_of(fd)
            close_own(old, was)
            return
        copy = self._copy
        if copy is None or not copy.is_of(self.fd):
            self.drop_copy()
            copy = self._copy = Copy(self.fd, self.path, 0)
            copy.fill()
        copy.take_place()
        old, was, self.fd, self._identity = self.fd, self._identity, copy.target, None
        copy.target = -1  # no call between
        self._identity = identity_of(self.fd)
        close_own(old, was)

    def begin_copy(self, end: int) -> Copy | None:
        """Return a copy to be filled where the file was removed, for `put_back`; else ``None``.

        Rows may go on into the file without a name meanwhile: `put_back` adds them.

        Args:
            end: the offset up to which nobody changes the file any more.

        Raises:
            OSError: it cannot be asked, or no more files can be opened.
        """
        if self.path.exists() or not is_own(self.fd, self._identity):
            return None
        self._copy = Copy(self.fd, self.path, end - self.start)
        return self._copy

    @property
    def is_copying(self) -> bool:
        """Whether a removed file is being copied to its place."""
        return self._copy is not None

    def drop_copy(self) -> None:
        """Remove what is left of a copy."""
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.close()

    def close(self) -> None:
        """Let go of the descriptor; a second call does nothing."""
        self._is_closed = True
        if self.fd >= 0:
            close_own(self.fd, self._identity)
            self.fd = -1  # behind it: left by an exception, a second call closes what is ours


def _sync(fd: int) -> None:
    if _FULL_SYNC is None:
        os.fdatasync(fd)
    else:
        fcntl.fcntl(fd, _FULL_SYNC)
