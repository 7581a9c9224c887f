"""Bytes on their way: hashed while they are read, written whole or not at all.

One buffer of a mebibyte moves files of any size, so memory stays constant. Trouble with the source
is the caller's (`ArtifactError`); trouble with the target stays an `OSError`, because a full disk is
no mistake of the program that logs.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import secrets
import stat
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from expr_tracker.errors import ArtifactError, ArtifactNotFoundError
from expr_tracker.interruption import is_from_signal, suppress_own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = [
    "Content",
    "Progress",
    "append_line",
    "copy_file",
    "digest_of",
    "replace_by_copy",
    "sync_directory",
    "sync_file",
]

#: Beyond a mebibyte the copy gets no faster (hashing dominates); below 64 KiB it does.
_CHUNK_BYTES: Final = 1024 * 1024
#: Less than this is copied and hashed within a second, before anyone wonders.
_PROGRESS_BYTES_MIN: Final = 256 * 1024 * 1024
#: Five updates a second read as movement and cost nothing.
_PROGRESS_SECONDS: Final = 0.2


class Content(NamedTuple):
    """What was read: its size in bytes and its digest, ``sha256:`` first."""

    size: int
    digest: str


class Progress:
    """One line on a terminal while many bytes move; nothing anywhere else."""

    def __init__(
        self,
        label: str,
        total_bytes: int,
        *,
        stream: TextIO | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._label = label
        self._total = total_bytes
        self._done = 0
        self._stream = sys.stderr if stream is None else stream
        self._monotonic = monotonic
        self._next = 0.0
        self._width = 0
        self._is_shown = total_bytes >= _PROGRESS_BYTES_MIN and _is_terminal(self._stream)

    def advance(self, size: int) -> None:
        """Count ``size`` more bytes, and show it when it is time."""
        self._done += size
        if self._is_shown and self._monotonic() >= self._next:
            self._next = self._monotonic() + _PROGRESS_SECONDS
            # A file that grew meanwhile must not show 103 %.
            percent = min(100, 100 * self._done // self._total)
            self._draw(
                f"{self._label}: {_gibibytes(self._done)} of {_gibibytes(self._total)} "
                f"({percent} %)"
            )

    def close(self) -> None:
        """Remove the line."""
        if self._width:
            self._draw("")
            self._draw("")
        self._is_shown = False

    def _draw(self, text: str) -> None:
        try:
            self._stream.write("\r" + text.ljust(self._width))
            self._stream.flush()
        except (OSError, ValueError) as error:
            if is_from_signal(error):
                raise
            self._is_shown = False
        self._width = len(text)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError) as error:
        if is_from_signal(error):
            raise
        return False


def _gibibytes(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"


def copy_file(
    source: Path, target: Path, progress: Progress | None = None, *, follow: bool = True
) -> Content:
    """Copy ``source`` to the new file ``target`` and return what was copied.

    The target is in the operating system's hands, not yet on the medium: `sync_file` does that.

    Args:
        source: a regular file.
        target: must not exist.
        progress: told of every chunk.
        follow: whether ``source`` may be a symbolic link.

    Raises:
        ArtifactError: the source is missing, no regular file or cannot be read.
        OSError: the target cannot be written; what there is of it stays.
    """
    with _opened(source, follow=follow) as (reading, status):
        # Programs stay programs; everything else about access is the store's own umask.
        mode = 0o666 | (status.st_mode & 0o111)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        writing = os.open(target, flags, mode)
        try:
            content = _pump(source, reading, writing=writing, progress=progress)
            written = os.fstat(writing).st_size
        finally:
            os.close(writing)
    if written != content.size:
        raise OSError(
            errno.EIO, f"{written} of {content.size} bytes arrived in the copy", str(target)
        )
    return content


def digest_of(file: Path, progress: Progress | None = None, *, follow: bool = True) -> Content:
    """Return size and digest of a regular file.

    Raises:
        ArtifactError: it is missing, no regular file or cannot be read.
    """
    with _opened(file, follow=follow) as (reading, _):
        return _pump(file, reading, writing=None, progress=progress)


def replace_by_copy(
    source: Path,
    target: Path,
    digest: str | None,
    *,
    progress: Progress | None = None,
    follow: bool = True,
    durable: bool = False,
) -> Content:
    """Put a copy of ``source`` at ``target`` in one step, whatever is there.

    Args:
        source: a regular file.
        target: a link there is replaced, never followed.
        digest: what the content must have; a copy that has another one is thrown away.
        progress: told of every chunk.
        follow: whether ``source`` may be a symbolic link.
        durable: whether to wait until the copy is on the medium.

    Raises:
        ArtifactError: the source cannot be read, or has other content.
        OSError: the target cannot be written; the old one stays.
    """
    temporary = target.with_name(f".{secrets.token_hex(8)}.new")
    try:
        content = copy_file(source, temporary, progress, follow=follow)
        if digest is not None and content.digest != digest:
            raise ArtifactError(
                f"{source} has changed: its content is {content.digest}, and {digest} was logged."
            )
        if durable:
            sync_file(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return content


@contextmanager
def _opened(file: Path, *, follow: bool) -> Iterator[tuple[int, os.stat_result]]:
    # A pipe must not block the open, a link is followed only where that is wanted.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(file, flags)
    except FileNotFoundError as error:
        raise ArtifactNotFoundError(f"{file} is gone: it was there when it was added.") from error
    except OSError as error:
        if is_from_signal(error):
            raise
        what = "is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise ArtifactError(f"{file} cannot be read: {what}.") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ArtifactError(f"{file} is no regular file; its content cannot be stored.")
        yield descriptor, status
    finally:
        os.close(descriptor)


def _pump(
    source: Path, reading: int, *, writing: int | None, progress: Progress | None
) -> Content:
    hashing = hashlib.sha256()
    # A byte more than the file has, to see its end; making a mebibyte costs 100 us, too much for
    # each of 10 000 small files.
    buffer = memoryview(bytearray(min(os.fstat(reading).st_size + 1, _CHUNK_BYTES)))
    size = 0
    # The descriptor stays the caller's: FileIO is here for reading into one buffer.
    with io.FileIO(reading, closefd=False) as file:
        while True:
            try:
                count = file.readinto(buffer)
            except OSError as error:
                if is_from_signal(error):
                    raise
                raise ArtifactError(f"{source} cannot be read: {error.strerror}.") from error
            if not count:
                break
            hashing.update(buffer[:count])
            if writing is not None:
                _write(writing, buffer[:count])
            size += count
            if progress is not None:
                progress.advance(count)
    return Content(size, "sha256:" + hashing.hexdigest())


def _write(descriptor: int, data: memoryview | bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def sync_file(file: Path) -> None:
    """Wait until a file's content is on the medium.

    Raises:
        OSError: it is not.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Wait until a directory's names are on the medium, where the platform can."""
    # Some network file systems do not sync them.
    with suppress_own(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def append_line(file: Path, line: bytes, *, exclusive: bool) -> None:
    """Append one line.

    A torn line of a process that died is closed first, so that only that one is unreadable.

    Args:
        file: made if it is missing.
        line: its end included.
        exclusive: whether the caller holds the lock of this file: then the line is also waited for
            until it is on the medium, and taken back when that fails. Without a lock a failed line
            stays torn, because cutting it off could cut another process's line.

    Raises:
        OSError: it could not be written.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        before = os.fstat(descriptor).st_size
        if before:
            os.lseek(descriptor, before - 1, os.SEEK_SET)
            if os.read(descriptor, 1) != b"\n":
                line = b"\n" + line
        try:
            # One write: whole lines of several processes do not mix.
            _write(descriptor, line)
            if exclusive:
                os.fsync(descriptor)
        except OSError:
            if exclusive:
                with suppress_own(OSError):
                    os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)
