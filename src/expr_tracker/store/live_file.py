"""The open file that a writer appends to: its descriptor, where it begins, and its rotation.

Offsets count over all set-aside parts; ``start`` is where the live file begins among them. The
writer decides when; this module does it so that an exception from a signal handler between any two
calls can be made good later.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
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

__all__ = ["LiveFile"]

#: Of macOS, which has no fdatasync and whose fsync stops at the drive's own cache.
_FULL_SYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)


class LiveFile:
    """One file, open for appending.

    Attributes:
        fd: the descriptor; -1 once closed.
        start: the offset of the file's first byte, in bytes over all parts.
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
        self.limit = options.max_file_bytes
        self.start = 0
        if parts_of(path).is_dir():  # also where rotation was switched off since
            with LineFile(path) as file:
                self.start = file.live_start
        self.is_rotating = False
        self._copy: Copy | None = None

    def end(self) -> int:
        """Return the offset behind the file's last byte.

        Raises:
            OSError: it cannot be asked.
        """
        return os.fstat(self.fd).st_size + self.start

    def cut_back(self, size: int) -> int:
        """Remove a part of a line behind offset ``size``.

        Where that is impossible, the part is ended, so that the next line is a whole one.

        Returns:
            Bytes that stay in the file as a line that nobody can read.
        """
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
        old, self.fd = self.fd, fd
        self.start = end
        self.is_rotating = False
        os.close(old)

    def settle_rotation(self, end: int) -> None:
        """Finish a rotation that an exception left: the file at the path is the live one."""
        try:
            if not is_same_file(self.fd, self.path):
                fd = open_for_append(self.path)
                old, self.fd = self.fd, fd
                self.start = end
                os.close(old)
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
            old, self.fd = self.fd, fd  # no call before it: what is put back is put back once
            os.close(old)
            return
        copy = self._copy
        if copy is None or not copy.is_of(self.fd):
            self.drop_copy()
            copy = self._copy = Copy(self.fd, self.path, 0)
            copy.fill()
        copy.take_place()
        old, self.fd, copy.target = self.fd, copy.target, -1  # no call between, as above
        os.close(old)

    def begin_copy(self, end: int) -> Copy | None:
        """Return a copy to be filled where the file was removed, for `put_back`; else ``None``.

        Rows may go on into the file without a name meanwhile: `put_back` adds them.

        Args:
            end: the offset up to which nobody changes the file any more.

        Raises:
            OSError: it cannot be asked, or no more files can be opened.
        """
        if self.fd < 0 or self.path.exists():
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
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def _sync(fd: int) -> None:
    if _FULL_SYNC is None:
        os.fdatasync(fd)
    else:
        fcntl.fcntl(fd, _FULL_SYNC)
