"""The sidecar: a stream's index beside its file, and what it says of the file's parts.

It is a hint that can be made again from the file. Where it fits the file, a reader starts from it;
where it does not, it is still believed in one thing: a part that it names was there.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import counted, logger
from expr_tracker.store.checkpoints import extended
from expr_tracker.store.documents import read_document, write_document
from expr_tracker.store.files import sidecar_of
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.index_document import document_of, index_from, size_said_before
from expr_tracker.store.parts import Part, lost_parts, lost_parts_text

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.row import Row
    from expr_tracker.store.reader import LineFile

__all__ = [
    "Sidecar",
    "load_index",
    "missing_rows",
    "missing_rows_text",
    "parts_said",
    "read_sidecar",
    "save_index",
    "tail_checksum",
    "warn_of_lost_parts",
]

_TAIL_BYTES: Final = 64
#: A scan of so many bytes takes 20 ms: who polls a file without a fresh sidecar pays it once.
_REMEMBERED_BYTES_MIN: Final = 4 << 20
#: An index is about a megabyte at most.
_REMEMBERED_MAX: Final = 8
_recent: dict[Path, tuple[StreamIndex, int]] = {}


def tail_checksum(file: LineFile, size: int) -> int:
    """Return the CRC-32 of the last bytes before ``size``: it tells one file from another."""
    return zlib.crc32(file.read(max(0, size - _TAIL_BYTES), size))


def missing_rows_text(count: int) -> str:
    """Return what a message says of rows that a sidecar counted and its file has no longer."""
    verb = "is" if count == 1 else "are"
    return (
        f"{counted(count, 'row')} that the file had {verb} gone: it was cut, emptied or "
        "replaced, or copied while it grew"
    )


@dataclass(frozen=True, slots=True)
class Sidecar:
    """What the sidecar of a line file says; read before the file, it never knows more of it."""

    exists: bool = False
    index: StreamIndex | None = None
    """``None`` where there is none, or one that cannot be used."""
    tail: Any = None
    """The checksum of the last bytes that it covers."""
    size_before: int | None = None
    """The bytes that it covers where an older version wrote it, in a form that is not read any more."""

    def fits(self, file: LineFile) -> bool:
        """Say whether the file still begins with what the sidecar covers, as far as that tells."""
        index = self.index
        return (
            index is not None
            and index.size <= file.size
            and self.tail == tail_checksum(file, index.size)
        )


def read_sidecar(path: Path) -> Sidecar:
    """Return what the sidecar of the line file ``path`` says."""
    place = sidecar_of(path)
    document = read_document(place)
    if document is None:
        return Sidecar(exists=place.exists())
    try:
        return Sidecar(exists=True, index=index_from(document), tail=document.get("tail"))
    except ValueError as error:
        if is_from_signal(error):
            raise
        return Sidecar(exists=True, size_before=size_said_before(document))


def load_index(file: LineFile, said: Sidecar, *, has_torn: bool = False) -> StreamIndex:
    """Return the index of an open line file, its newest lines included.

    The sidecar is used as far as it holds; what was appended since is scanned. Rows that it counted
    and that the file has no longer are counted in `StreamIndex.missing_rows`.

    Args:
        file: the file.
        said: its sidecar, read before the file was opened: a writer goes on meanwhile.
        has_torn: whether a torn last line was cut off it; that one is told of by itself.
    """
    known = said.index
    fits = said.fits(file)
    index = known.copy() if known is not None and fits else None
    remembered = _recent.get(file.path)
    if remembered is not None:
        recent, tail = remembered
        is_further = index is None or recent.size > index.size
        if is_further and recent.size <= file.size and tail_checksum(file, recent.size) == tail:
            index = recent.copy()
    if index is None:
        index = StreamIndex()
    if known is not None:
        # Also of a file that it does not fit any more: that is how what is lost is known.
        index.parts, index.live_size = known.parts[:], known.live_size
        index.changed_lines = known.changed_lines
        # Also of one whose end has changed: what was written before it is still to be proved. Where
        # a part is gone, everything lies elsewhere.
        are_in_place = not lost_parts(file.path, known.parts, live_size=known.live_size)
        index.checkpoints = [
            each for each in known.checkpoints if are_in_place and each[0] <= file.size
        ]
    began_at = index.size
    index.scan(file)
    if known is not None:
        index.missing_rows = (
            known.missing_rows if fits else missing_rows(known, index, file, has_torn=has_torn)
        )
    if index.size - began_at >= _REMEMBERED_BYTES_MIN:
        _remember(file, index)
    return index


def missing_rows(
    known: StreamIndex, index: StreamIndex, file: LineFile, *, has_torn: bool = False
) -> int:
    """Return how many rows a file had once and has no longer.

    Where a line is damaged its row is told of as that: what is missing has no line.

    Args:
        known: what was in the file, and what was missing of it then.
        index: what is in it.
        file: the file.
        has_torn: whether a torn last line was cut off it.
    """
    if lost_parts(file.path, known.parts, live_size=known.live_size):
        return known.missing_rows  # those say what is gone with them
    torn = bool(has_torn or file.torn_bytes)
    gone = known.missing_rows - torn
    return max(0, min(known.rows - index.rows, known.lines - index.lines) + gone)


def _remember(file: LineFile, index: StreamIndex) -> None:
    # Whatever threads do at once, an entry is whole or not there.
    for oldest in list(_recent)[: max(0, len(_recent) + 1 - _REMEMBERED_MAX)]:
        _recent.pop(oldest, None)
    _recent[file.path] = (index.copy(), tail_checksum(file, index.size))


def parts_said(path: Path) -> tuple[list[Part], int]:
    """Return what the sidecar of ``path`` says of its parts, and how large the live file was."""
    known = read_sidecar(path).index
    return ([], 0) if known is None else (known.parts, known.live_size)


def warn_of_lost_parts(path: Path) -> None:
    """Log one warning if parts of the file at ``path`` are gone, as far as anything tells of them.

    For readers that open no index.
    """
    parts, live_size = parts_said(path)
    lost = lost_parts(path, parts, live_size=live_size)
    if lost:
        logger.warning("%s: rows are lost: %s.", path, lost_parts_text(lost))


def save_index(index: StreamIndex, file: LineFile, run: Row) -> None:
    """Write the sidecar beside ``file``, and bring the checkpoints of ``index`` up to its end.

    Raises:
        OSError: it could not be written; readers scan the file instead.
    """
    path: Path = sidecar_of(file.path)
    index.checkpoints = extended(index.checkpoints, file, index.size)
    write_document(path, document_of(index, run, tail_checksum(file, index.size)), indent=None)
