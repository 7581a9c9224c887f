"""Opening, repairing, setting aside and putting back the file that a writer appends to."""

from __future__ import annotations

import errno
import itertools
import os
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import suppress_own
from expr_tracker.notices import counted
from expr_tracker.store.descriptor import OpenFile, close_own, identity_of, is_own, set_apart
from expr_tracker.store.documents import beside
from expr_tracker.store.files import parts_of, torn_of
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.lines import decode_line
from expr_tracker.store.parts import (
    PART_NUMBER_MAX,
    Part,
    lost_parts,
    lost_parts_text,
    next_number,
    part_name,
    parts_as_found,
)
from expr_tracker.store.reader import LineFile, part_paths
from expr_tracker.store.regular import open_regular
from expr_tracker.store.seconds import seconds_in
from expr_tracker.store.sidecar import Sidecar, load_index, missing_rows_text, read_sidecar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from expr_tracker.notices import Notices

__all__ = [
    "Copy",
    "add_since",
    "is_same_file",
    "open_for_append",
    "prepare",
    "read_on",
    "say_lost",
    "set_part_aside",
]

#: More of a torn tail is no row: it is a block that the file system filled after a power loss.
_TORN_BYTES_KEPT: Final = 1 << 20
#: Lines at the end of a file that are searched for a time; damaged ones have none.
_LINES_LOOKED_AT: Final = 100
_COPY_BYTES: Final = 1 << 20
#: A line that is longer is not searched for: rows are then in the file twice, with equal values.
_TAIL_BYTES: Final = 1 << 20
#: What a second of heavy logging writes between two looks at the file's place, and some more.
_SEARCHED_BYTES_MAX: Final = 64 << 20


def open_for_append(path: Path) -> int:
    """Open ``path`` for appending, make it where it is missing, and return the descriptor.

    It can be read through too: `Copy` reads a file that has no name any more.
    """
    return set_apart(open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND))


def prepare(path: Path, notices: Notices, *, is_indexed: bool = True) -> StreamIndex:
    """Make an existing line file ready for appending and return its index.

    A torn tail (a line without its end, or the zeros that a power loss leaves) is cut off and kept
    beside the file; a last line that only lacks its end is completed.

    Args:
        path: the line file.
        notices: where a repair is said.
        is_indexed: whether the lines are looked at; if not, the index knows the size only.

    Raises:
        OSError: it cannot be read or repaired.
    """
    _adopt_following_parts(path)
    said = read_sidecar(path)
    try:
        file = LineFile(path)
    except FileNotFoundError:
        return StreamIndex()
    with file:
        index = None
        if file.torn_bytes:
            tail = file.read(file.size, file.size + file.torn_bytes)
            _repair_tail(path, file.size - file.live_start, tail, notices=notices)
            if decode_line(tail) is not None:
                with LineFile(path) as repaired:
                    index = _index_of(repaired, said, is_indexed=is_indexed)
        if index is None:
            index = _index_of(file, said, is_indexed=is_indexed)
    _say_missing(path, index, notices)
    say_lost(path, index.parts, notices, live_size=index.live_size)
    index.parts, index.live_size = parts_as_found(path, index.parts), 0
    return index


def _say_missing(path: Path, index: StreamIndex, notices: Notices) -> None:
    """Say that rows are gone that the file had when its sidecar was written."""
    if index.missing_rows:
        notices.say(
            f"{path}: {missing_rows_text(index.missing_rows)}. The run goes on without them; a backup "
            "may have them."
        )
        notices.count("degraded", f"missing rows of {path.name}", index.missing_rows)


def say_lost(path: Path, known: list[Part], notices: Notices, *, live_size: int = 0) -> bool:
    """Say which parts of a file that is written are gone; return whether any is."""
    lost = lost_parts(path, known, live_size=live_size)
    if lost:
        notices.say(
            f"{path} has lost rows: {lost_parts_text(lost)}. The run goes on without them."
        )
        notices.count("degraded", f"lost parts of {path.name}", sum(each.count for each in lost))
    return bool(lost)


def _index_of(file: LineFile, said: Sidecar, *, is_indexed: bool) -> StreamIndex:
    if not is_indexed:
        return StreamIndex(size=file.size)
    index = load_index(file, said)
    index.last_time = _newest_time(file)
    return index


def read_on(path: Path, index: StreamIndex, *, is_indexed: bool = True) -> None:
    """Bring ``index`` up to the last whole line of the file; see `prepare`.

    Raises:
        OSError: it cannot be read.
    """
    with LineFile(path) as file:
        if is_indexed:
            index.scan(file)
        else:
            index.size = file.size


def _newest_time(file: LineFile) -> float | None:
    """Return ``_time`` of the last line that has one, near the end of the file."""
    for _, line in itertools.islice(file.lines_backward(), _LINES_LOOKED_AT):
        row = decode_line(line)
        seconds = seconds_in(row.get("_time")) if row is not None else None
        if seconds is not None:
            return seconds
    return None


def _repair_tail(path: Path, size: int, tail: bytes, *, notices: Notices) -> None:
    fd = open_for_append(path)
    try:
        if decode_line(tail) is not None:
            os.write(fd, b"\n")
            return
        written = tail.strip(b"\0")
        if written:
            # For reading too: a pipe that is only written to waits for its reader, or has none.
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            with open(open_regular(torn_of(path), flags), "ab") as kept:  # noqa: PTH123 - a descriptor
                kept.write(written[:_TORN_BYTES_KEPT] + b"\n")
        os.ftruncate(fd, size)
    finally:
        os.close(fd)
    where = f"kept in {torn_of(path).name}" if written else "zeros only"
    notices.say(
        f"{path} ended in {counted(len(tail), 'byte')} without a whole row (an interrupted write): "
        f"they were cut off ({where}); every row before them is intact."
    )


def _adopt_following_parts(path: Path) -> None:
    """Rename the parts that older programs continued in, so that the live file is the last one.

    Every step leaves a readable run, and a repeated call finishes what an interrupted one began.
    """
    before, after = part_paths(path)
    if not after:
        return
    number = int(before[-1].stem) if before else 0  # not their count: one may be gone
    for part in [*([path] if path.exists() else []), *after[:-1]]:
        number += 1
        part.rename(parts_of(path) / part_name(number))
    after[-1].rename(path)


def set_part_aside(path: Path, known: Sequence[Part] = ()) -> int:
    """Rename the live file to the next part, begin a new one and return its descriptor.

    Args:
        path: the live file.
        known: the parts there were: also of those that are gone no number is given again.

    Raises:
        OSError: the file could not be renamed (it stays live) or the new one not made.
    """
    folder = parts_of(path)
    folder.mkdir(exist_ok=True)
    number = next_number(path, known)
    if number > PART_NUMBER_MAX:
        raise OSError(
            errno.EMLINK,
            f"its parts have numbers up to {PART_NUMBER_MAX}, as far as their names can count",
        )
    part = folder / part_name(number)
    path.rename(part)
    try:
        return open_for_append(path)
    except OSError:
        part.rename(path)
        raise


def is_same_file(fd: int, path: Path) -> bool:
    """Say whether ``path`` still names the open file."""
    try:
        named = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    opened = os.fstat(fd)
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)


class Copy:
    """A copy of a file that lost its name, made beside its place.

    Its name is another one until it is whole: a part of the file under the file's own would pass for
    what another program left. As a context manager it leaves nothing behind that has no use.

    Args:
        fd: the open file; a descriptor of its own is used, so that it may be closed meanwhile.
        path: its place.
        size: bytes at the file's beginning that nobody changes any more.

    Attributes:
        target: the descriptor of the copy; -1 where there is none, or where it is another's.

    Raises:
        OSError: no more files can be opened.
    """

    def __init__(self, fd: int, path: Path, size: int) -> None:
        self._path = path
        self._beside = beside(path)
        self._size = size
        self.target = -1
        self._target_identity: OpenFile | None = None
        self._source = os.dup(fd)
        self._source_identity = identity_of(self._source)

    def fill(self) -> None:
        """Copy what nobody changes any more; others may append to the file meanwhile.

        Raises:
            OSError: the place cannot be written.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.target = open_for_append(self._beside)
        self._target_identity = identity_of(self.target)
        _copy(self._source, 0, self.target, stop=self._size)

    def take_place(self) -> None:
        """Copy what came since, and give the copy the file's name; nobody may append meanwhile.

        Raises:
            OSError: the place cannot be written.
        """
        _copy(self._source, self._size, self.target)
        self._beside.rename(self._path)

    def is_of(self, fd: int) -> bool:
        """Say whether this is a copy of the open file, and as far as `fill` goes."""
        return (
            self.target >= 0
            and is_own(self.target, self._target_identity)
            and is_own(self._source, self._source_identity)
            and os.path.samestat(os.fstat(fd), os.fstat(self._source))
        )

    def close(self) -> None:
        """Let go of the descriptors, and of the copy unless it is in use; twice is once."""
        target, self.target = self.target, -1
        if target >= 0 and is_own(target, self._target_identity):
            if is_same_file(
                target, self._path
            ):  # a signal's exception behind the rename: begin again
                self._path.unlink(missing_ok=True)
            close_own(target, self._target_identity)
        source, self._source = self._source, -1
        if source >= 0:
            close_own(source, self._source_identity)
            self._beside.unlink(missing_ok=True)


def add_since(fd: int, path: Path, checked: int) -> int:
    """Add to another file at ``path`` what was written to ``fd`` since; return its descriptor.

    Where another file took the place of ours (an editor, a sync program), only what was written after
    ``checked`` bytes is added to it, and of that only what follows its last line: the rest is what
    that program has seen and meant to keep.

    Raises:
        OSError: the place cannot be written.
    """
    new = open_for_append(path)
    size = os.fstat(new).st_size
    try:
        if size and os.pread(new, 1, size - 1) != b"\n":
            _write_fully(new, b"\n")
        _copy(fd, checked + _bytes_seen(fd, checked, new), new)
    except BaseException:
        with suppress_own(OSError):
            os.ftruncate(new, size)
        os.close(new)
        raise
    return new


def _bytes_seen(fd: int, checked: int, new: int) -> int:
    """Return how much of what follows ``checked`` the program that wrote ``new`` has seen."""
    size = os.fstat(new).st_size
    tail = os.pread(new, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    line = tail[tail.rfind(b"\n", 0, -1) + 1 :]
    written = os.pread(fd, _SEARCHED_BYTES_MAX, checked)
    at = written.rfind(line) if line else -1
    return 0 if at < 0 else at + len(line)


def _copy(source: int, start: int, target: int, *, stop: int | None = None) -> None:
    size = _COPY_BYTES
    while stop is None or start < stop:
        if stop is not None:
            size = min(_COPY_BYTES, stop - start)
        piece = os.pread(source, size, start)
        if not piece:
            return
        _write_fully(target, piece)
        start += len(piece)


def _write_fully(fd: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[os.write(fd, view) :]
