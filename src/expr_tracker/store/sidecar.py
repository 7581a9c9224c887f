"""The sidecar: a stream's index beside its file, and what it says of the file's parts.

It is a hint that can be made again from the file. Where it fits the file, a reader starts from it;
where it does not, it is still believed in one thing: a part that it names was there.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.notices import logger
from expr_tracker.store.documents import read_document, write_document
from expr_tracker.store.files import sidecar_of
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.parts import Part, lost_parts, lost_parts_text

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.row import Row
    from expr_tracker.store.reader import LineFile

__all__ = ["load_index", "parts_said", "save_index", "tail_checksum", "warn_of_lost_parts"]

_TAIL_BYTES: Final = 64
#: A scan of so many bytes takes 20 ms: who polls a file without a fresh sidecar pays it once.
_REMEMBERED_BYTES_MIN: Final = 4 << 20
#: An index is about a megabyte at most.
_REMEMBERED_MAX: Final = 8
_recent: dict[Path, tuple[StreamIndex, int]] = {}


def tail_checksum(file: LineFile, size: int) -> int:
    """Return the CRC-32 of the last bytes before ``size``: it tells one file from another."""
    return zlib.crc32(file.read(max(0, size - _TAIL_BYTES), size))


def load_index(file: LineFile) -> StreamIndex:
    """Return the index of an open line file, its newest lines included.

    The sidecar is used as far as it holds; what was appended since is scanned.
    """
    said = _said(file.path)
    index = said[0].copy() if said is not None and _is_of(*said, file) else None
    remembered = _recent.get(file.path)
    if remembered is not None:
        known, tail = remembered
        is_further = index is None or known.size > index.size
        if is_further and known.size <= file.size and tail_checksum(file, known.size) == tail:
            index = known.copy()
    if index is None:
        index = StreamIndex()
    if said is not None:
        # Also of a file that it does not fit any more: that is how a lost part is known.
        index.parts, index.live_size = said[0].parts[:], said[0].live_size
    began_at = index.size
    index.scan(file)
    if index.size - began_at >= _REMEMBERED_BYTES_MIN:
        _remember(file, index)
    return index


def _remember(file: LineFile, index: StreamIndex) -> None:
    # Whatever threads do at once, an entry is whole or not there.
    for oldest in list(_recent)[: max(0, len(_recent) + 1 - _REMEMBERED_MAX)]:
        _recent.pop(oldest, None)
    _recent[file.path] = (index.copy(), tail_checksum(file, index.size))


def _said(path: Path) -> tuple[StreamIndex, Any] | None:
    """Return what the sidecar holds, and the checksum of the file's last bytes that it covers."""
    document = read_document(sidecar_of(path))
    if document is None:
        return None
    try:
        return StreamIndex.from_document(document), document.get("tail")
    except ValueError:
        return None


def _is_of(index: StreamIndex, tail: Any, file: LineFile) -> bool:
    return index.size <= file.size and tail == tail_checksum(file, index.size)


def parts_said(path: Path) -> tuple[list[Part], int]:
    """Return what the sidecar of ``path`` says of its parts, and how large the live file was."""
    said = _said(path)
    return ([], 0) if said is None else (said[0].parts, said[0].live_size)


def warn_of_lost_parts(path: Path) -> None:
    """Log one warning if parts of the file at ``path`` are gone, as far as anything tells of them.

    For readers that open no index.
    """
    parts, live_size = parts_said(path)
    lost = lost_parts(path, parts, live_size=live_size)
    if lost:
        logger.warning("%s: rows are lost: %s.", path, lost_parts_text(lost))


def save_index(index: StreamIndex, file: LineFile, run: Row) -> None:
    """Write the sidecar beside ``file``.

    Raises:
        OSError: it could not be written; readers scan the file instead.
    """
    path: Path = sidecar_of(file.path)
    write_document(path, index.document(run, tail_checksum(file, index.size)), indent=None)
