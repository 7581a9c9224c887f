"""The document of a summary, and whether it still says what was logged last.

``{NAME: VALUE, ..., "_pinned": [NAME, ...], "_whole": false}``; ``_pinned`` stands there where something
is pinned, ``_whole`` only where the values are not all there.

A run ends with its rows: the marker of the end is written before the summary, which a full disk or a
kill may keep from being written at all, and `et rescue` puts rows into a run that has one. So the values
are believed while the summary is whole and no older than the file; pins, which no row holds, always are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.documents import read_document, write_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from expr_tracker.row import Row
    from expr_tracker.store.files import RunFiles

__all__ = ["StoredSummary", "read_summary", "write_summary"]

_PINNED: Final = "_pinned"
_WHOLE: Final = "_whole"


@dataclass(frozen=True)
class StoredSummary:
    """A summary as it was found in its file."""

    values: Row
    """The last values; those that are pinned as well."""
    pins: frozenset[str]
    """The names that are pinned."""
    is_whole: bool
    """Whether every last value is among them, as far as it says."""

    def is_current(self, files: RunFiles) -> bool:
        """Say whether its values are those of the rows."""
        return self.is_whole and not _is_older(files.summary, files.metrics)


def read_summary(path: Path) -> StoredSummary:
    """Return the summary at ``path``; an empty one where there is none that can be read."""
    stored = read_document(path) or {}
    pinned = stored.pop(_PINNED, None)
    is_whole = stored.pop(_WHOLE, True) is True
    names = pinned if isinstance(pinned, list) else []
    return StoredSummary(
        values=stored,
        pins=frozenset(name for name in names if isinstance(name, str) and name in stored),
        is_whole=is_whole,
    )


def write_summary(
    path: Path, values: Mapping[str, Any], *, pins: Iterable[str], is_whole: bool
) -> None:
    """Replace the summary at ``path``.

    Raises:
        OSError: it could not be written; the old one stays.
    """
    document = dict(values)
    if names := sorted(pins):
        document[_PINNED] = names
    if not is_whole:
        document[_WHOLE] = False
    write_document(path, document)


def _is_older(path: Path, than: Path) -> bool:
    try:
        return path.stat().st_mtime_ns < than.stat().st_mtime_ns
    except OSError as error:
        if is_from_signal(error):
            raise
        return True
