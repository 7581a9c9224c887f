"""The document of a summary, and whether it still says what was logged last.

``{NAME: VALUE, ..., "_pinned": [NAME, ...], "_covers": {"attempt": NUMBER, "bytes": SIZE}}``

A run ends with its rows: the marker of the end is written before the summary, which a full disk or a
kill may keep from being written at all, and `et rescue` puts rows into a run that has one. So a summary
says which attempt and how many bytes of the file it knows, and its values are believed for exactly that;
pins, which no row holds, always are. ``_covers`` is ``null`` where the values are not all there. Older
versions left it out: theirs is believed while it is no older than the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.documents import read_document, write_document
from expr_tracker.store.parts import parts_as_found

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from expr_tracker.row import Row
    from expr_tracker.store.files import RunFiles
    from expr_tracker.store.index import StreamIndex

__all__ = ["Covered", "StoredSummary", "covered_by", "read_summary", "write_summary"]

_PINNED: Final = "_pinned"
_COVERS: Final = "_covers"


@dataclass(frozen=True)
class Covered:
    """What of a metrics file a summary knows."""

    attempt: int
    """The number of the newest attempt."""
    size: int
    """The bytes of the file and its parts."""


@dataclass(frozen=True)
class StoredSummary:
    """A summary as it was found in its file."""

    values: Row
    """The last values; those that are pinned as well."""
    pins: frozenset[str]
    """The names that are pinned."""
    says_coverage: bool
    """Whether it says what it covers, be it nothing: older versions did not."""
    covers: Covered | None
    """What it covers; ``None``: nothing, or it does not say."""

    def is_current(self, files: RunFiles, index: StreamIndex) -> bool:
        """Say whether its values are those of the file that ``index`` is of."""
        if self.says_coverage:
            return self.covers == covered_by(
                replace(index, parts=parts_as_found(files.metrics, index.parts))
            )
        return not _is_older(files.summary, files.metrics)


def covered_by(index: StreamIndex) -> Covered:
    """Return what a summary covers that is made of everything in a file.

    Parts that are gone count as if they were there: the summary knows them.
    """
    gone = sum(part.size - part.covered for part in index.parts)
    return Covered(index.attempts[-1].number, index.size + gone)


def read_summary(path: Path) -> StoredSummary:
    """Return the summary at ``path``; an empty one where there is none that can be read."""
    stored = read_document(path) or {}
    pinned = stored.pop(_PINNED, None)
    says_coverage = _COVERS in stored
    covers = stored.pop(_COVERS, None)
    names = pinned if isinstance(pinned, list) else []
    return StoredSummary(
        values=stored,
        pins=frozenset(name for name in names if isinstance(name, str) and name in stored),
        says_coverage=says_coverage,
        covers=_covered(covers),
    )


def write_summary(
    path: Path, values: Mapping[str, Any], *, pins: Iterable[str], covers: Covered | None
) -> None:
    """Replace the summary at ``path``.

    Raises:
        OSError: it could not be written; the old one stays.
    """
    document = dict(values)
    if names := sorted(pins):
        document[_PINNED] = names
    document[_COVERS] = covers and {"attempt": covers.attempt, "bytes": covers.size}
    write_document(path, document)


def _covered(member: Any) -> Covered | None:
    if not isinstance(member, dict):
        return None
    attempt, size = member.get("attempt"), member.get("bytes")
    if type(attempt) is not int or type(size) is not int:
        return None
    return Covered(attempt, size)


def _is_older(path: Path, than: Path) -> bool:
    try:
        return path.stat().st_mtime_ns < than.stat().st_mtime_ns
    except OSError as error:
        if is_from_signal(error):
            raise
        return True
