"""Content-addressed files: ``media/<2 hex>/<sha256>.<ending>``, each written once.

The name is the SHA-256 of the bytes, so two processes that store the same content write the same
file, and whoever renames last changes nothing. A file is there whole or not at all.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.errors import NameRefusedError, RunNotFoundError
from expr_tracker.row import MediaValue, Row
from expr_tracker.store.bounds import path_within
from expr_tracker.store.documents import replacing
from expr_tracker.store.paths import path_given

if TYPE_CHECKING:
    import os
    from pathlib import Path

__all__ = ["MEDIA_BYTES_MAX", "StoredValue", "check_size", "media_path"]

#: The largest media item. A 4K frame as PNG has 10 to 25 MiB; what is larger is an artifact.
MEDIA_BYTES_MAX: Final = 64 * 1024 * 1024


def check_size(kind: str, size_bytes: int) -> None:
    """Refuse what is too large to be a media item.

    Raises:
        ValueError: ``size_bytes`` is above the limit.
    """
    if size_bytes > MEDIA_BYTES_MAX:
        raise ValueError(
            f"{kind} of {size_bytes} bytes: the limit of a media item is {MEDIA_BYTES_MAX} bytes "
            "(64 MiB). Make it smaller, or keep it with log_artifact."
        )


class StoredValue(MediaValue):
    """A media value whose bytes are ready: what images, figures and tables have in common."""

    #: The ``_type`` of the reference.
    kind: str

    def __init__(self, content: bytes, ending: str, described: Row) -> None:
        check_size(self.kind, len(content))
        self._content = content
        self._ending = ending
        self._described = described
        # Now, not by functools.cached_property: until Python 3.12 that has one lock for all values,
        # which a fork may copy while it is held. A MiB takes a millisecond.
        self._digest = hashlib.sha256(content).hexdigest()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} .{self._ending}, {len(self._content)} bytes>"

    @property
    def content(self) -> bytes:
        """The bytes that a run keeps; a table names the files of images in it."""
        return self._content

    def describe(self, folder: str) -> Row:
        """Return the reference that a row holds, without writing anything.

        Args:
            folder: the name of the media folder within the run.
        """
        name = f"{self._digest}.{self._ending}"
        return {
            "_type": self.kind,
            "path": f"{folder}/{self._digest[:2]}/{name}",
            "sha256": self._digest,
            "bytes": len(self._content),
            **self._described,
        }

    def reference(self, directory: Path) -> Row:
        """Write the content below ``directory``, the run's media folder, once per content.

        Raises:
            OSError: it could not be written.
        """
        described = self.describe(directory.name)
        _write_once(directory.parent / described["path"], self._content)
        return described


def _write_once(path: Path, content: bytes) -> None:
    try:
        if path.stat().st_size == len(content):
            return
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def media_path(run_directory: str | os.PathLike[str], reference: dict[str, Any] | str) -> Path:
    """Return the file that a reference of a row points to.

    Args:
        run_directory: the run's directory.
        reference: the reference as it was read from the row, or its ``path``.

    Raises:
        NameRefusedError: one of them is no path, or it leads out of the run's directory.
        RunNotFoundError: there is no such file.
    """
    path = reference.get("path") if isinstance(reference, dict) else reference
    if not isinstance(path, str) or not path or "\0" in path:
        raise NameRefusedError(
            f"media reference {reference!r}: expected a reference with the text 'path'."
        )
    directory = path_given(
        run_directory, "run_directory", NameRefusedError, expected="a run's directory"
    )
    target = path_within(directory, path)
    if target is None:
        raise NameRefusedError(
            f"media path {path!r} leads out of the run's directory; it was not opened."
        )
    if not target.is_file():
        raise RunNotFoundError(
            f"No media file {path!r} in {run_directory}: it was deleted, or not copied along with "
            "the run's files."
        )
    return target
