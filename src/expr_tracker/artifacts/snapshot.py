"""The moment of logging: sources become the files of a version, hashed as they are taken."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from expr_tracker.artifacts.copying import (
    Content,
    Progress,
    copy_file,
    digest_of,
    replace_by_copy,
)
from expr_tracker.artifacts.entries import Entry, EntryFolder, is_inside, local_path_of
from expr_tracker.artifacts.verification import StoredVersion, content_problems, total_size
from expr_tracker.errors import ArtifactError
from expr_tracker.interruption import is_from_signal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["Snapshot", "StoreMode", "repair"]

StoreMode = Literal["copy", "link", "reference"]


class Snapshot:
    """Takes the sources of one version.

    Args:
        name: the artifact's name, for messages.
        files: an empty folder that the content goes to.
        mode: how it gets there.
        warn: told, with ``(kind, text)``, of a file that changed while it was read.
    """

    def __init__(
        self, name: str, files: Path, *, mode: StoreMode, warn: Callable[[str, str], object]
    ) -> None:
        self._name = name
        self._folder = EntryFolder(files)
        self._mode = mode
        self._warn = warn

    def take(self, sources: Iterable[Entry]) -> tuple[Entry, ...]:
        """Store the content of ``sources`` and return the entries, sorted by path.

        Raises:
            ArtifactError: a source cannot be read, is no longer in the directory that was added,
                or has other content than a stored version lists.
            OSError: a file cannot be written.
        """
        ordered = sorted(sources, key=lambda entry: entry.path)
        progress = Progress(f"storing {self._name}", total_size(ordered))
        try:
            return tuple(self._taken(entry, progress) for entry in ordered)
        finally:
            progress.close()

    def _taken(self, entry: Entry, progress: Progress) -> Entry:
        source = entry.source
        if source is None:
            return _reference(entry, progress)
        _check_within(source, entry.within)
        before = _fingerprint(source)
        content = self._content(entry, source, progress)
        if _fingerprint(source) != before:
            self._warn(
                f"artifact source {source}",
                f"{source} was written to while artifact {self._name!r} was taken from it: what "
                "is stored is what was read, which may be half of each. Log it when it is closed.",
            )
        if entry.digest is not None and content.digest != entry.digest:
            raise ArtifactError(
                f"{source} has changed: its content is {content.digest}, and {entry.digest} was "
                "logged. Log the original instead."
            )
        ref = entry.ref
        if ref is None and self._mode == "reference":
            ref = source.as_uri()
        return Entry(entry.path, content.size, content.digest, ref)

    def _content(self, entry: Entry, source: Path, progress: Progress) -> Content:
        if entry.ref is not None or self._mode == "reference":
            return digest_of(source, progress)
        place = self._folder.place_for_writing(entry.path)
        if self._mode == "link":
            return _link(source, place, progress)
        return copy_file(source, place, progress)


def _reference(entry: Entry, progress: Progress) -> Entry:
    """Return a reference with the content that it has now, where that is on this machine."""
    assert entry.ref is not None, "an entry has a source or a reference"
    local = local_path_of(entry.ref)
    if local is None or not local.is_file():
        return Entry(entry.path, entry.size, entry.digest, entry.ref)
    content = digest_of(local, progress)
    return Entry(entry.path, content.size, content.digest, entry.ref)


def _check_within(source: Path, within: Path | None) -> None:
    """Look again whether a file of an added directory still lies in it: links can be changed."""
    if within is not None and not is_inside(os.path.realpath(source), within):
        raise ArtifactError(
            f"{source} leads out of {within} since that directory was added. "
            "Add what it names by itself: add_file(path, name=...)."
        )


def _fingerprint(source: Path) -> tuple[int, int, int] | None:
    try:
        status = source.stat()
    except OSError as error:
        if is_from_signal(error):
            raise
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _link(source: Path, place: Path, progress: Progress) -> Content:
    try:
        # The file itself, not a link to it.
        os.link(os.path.realpath(source), place)
    except OSError as error:
        if is_from_signal(error):
            raise
        # Another file system, one without hard links, or a file that may not be linked.
        return copy_file(source, place, progress)
    return digest_of(place, progress, follow=False)


def repair(version: StoredVersion, files: Path, warn: Callable[[str, str], object]) -> None:
    """Replace the damaged files of a version by the same content, which was just logged again.

    Raises:
        OSError: a file cannot be written.
    """
    stored = {entry.path: entry for entry in version.entries if entry.ref is None}
    fresh = EntryFolder(files)
    progress = Progress(f"checking {version.name}", total_size(stored.values()))
    try:
        checked = StoredVersion(version.name, version.folder, list(stored.values()))
        for problem in list(content_problems(checked, progress)):
            warn(
                f"artifact repair {version.name}",
                f"{problem}; it is repaired from what was logged now.",
            )
            replace_by_copy(
                fresh.place(problem.path),
                version.folder.place_for_writing(problem.path),
                stored[problem.path].digest,
                durable=True,
            )
    finally:
        progress.close()
