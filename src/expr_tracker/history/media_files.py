"""The media files that rows refer to: whether each is there and has its hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.bounds import path_within
from expr_tracker.store.lines import decode_line
from expr_tracker.store.regular import open_regular, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from expr_tracker.row import Row

__all__ = ["MediaFound", "checked", "references"]

_HASH_BYTES: Final = 1 << 20
#: Twice what a table may have when it is logged; a larger file is read for its hash only.
_TABLE_BYTES_MAX: Final = 128 << 20


def references(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the path and SHA-256 of every media reference in a row."""
    if isinstance(value, dict):
        path, digest = value.get("path"), value.get("sha256")
        if isinstance(path, str) and isinstance(digest, str) and path.startswith("media/"):
            yield path, digest
            return
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            if isinstance(item, (dict, list)):
                yield from references(item)


@dataclass
class MediaFound:
    """What became of the files that rows refer to, by their paths below the run's directory."""

    count: int = 0
    """How many were referred to."""
    missing: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    """Those that do not have their hash."""
    unreadable: list[str] = field(default_factory=list)
    """Those that are there and that the system does not read, each with its reason."""


def checked(directory: Path, media: dict[str, str]) -> MediaFound:
    """Compare media files with their hashes; pictures in a table count like those in a row.

    Args:
        directory: the run's directory.
        media: the SHA-256 that is expected, by path below it.
    """
    known = dict(media)
    found = MediaFound()
    unread = sorted(known.items())
    while unread:
        name, expected = unread.pop()
        path = path_within(directory, name)
        if path is None or not _is_file(path):
            found.missing.append(name)
            continue
        try:
            if _sha256(path) != expected.removeprefix("sha256:"):
                found.changed.append(name)
                continue
            table = _table(path) if name.endswith(".table.json") else None
        except OSError as error:
            if is_from_signal(error):
                raise
            found.unreadable.append(f"{name}: {error.strerror}")
            continue
        for inner, digest in references(table):
            if inner not in known:
                known[inner] = digest
                unread.append((inner, digest))
    found.count = len(known)
    for names in (found.missing, found.changed, found.unreadable):
        names.sort()
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:  # a name that is too long for any file
        if is_from_signal(error):
            raise
        return False


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(open_regular(path), "rb") as file:  # noqa: PTH123 - a descriptor
        while piece := file.read(_HASH_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _table(path: Path) -> Row | None:
    return decode_line(read_regular(path)) if path.stat().st_size <= _TABLE_BYTES_MAX else None
