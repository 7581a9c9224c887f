"""What is stored, compared with what was listed; and references made into files.

Sizes are compared whenever a version is used: that costs one look per file. Digests are compared
when its files are handed out (`materialise`, `CheckedFiles`) and by ``verify``, which read every byte.
"""

from __future__ import annotations

import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.artifacts.copying import Progress, digest_of, replace_by_copy
from expr_tracker.artifacts.entries import Entry, EntryFolder, local_path_of
from expr_tracker.errors import ArtifactError, TrackerError
from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = [
    "CheckedFiles",
    "Problem",
    "StoredVersion",
    "Verification",
    "content_problems",
    "copy_out",
    "materialise",
    "raise_first",
    "size_problems",
    "total_size",
    "version_problems",
]

#: A message is read by a person; a `Verification` has all of them.
_PROBLEMS_SHOWN_MAX: Final = 10
#: A file system may note times as coarsely as this (FAT): what changed within it may look the same.
_TIME_GRAIN_NS: Final = 2_000_000_000
_LOG_AGAIN: Final = "Log the original again: that repairs the version."


@dataclass(frozen=True, slots=True)
class Problem:
    """One file of a version that is not what was listed."""

    artifact: str
    """The version, as ``name:v3``."""
    path: str
    """The entry's path."""
    reason: str
    """What is wrong with it."""

    def __str__(self) -> str:
        return f"{self.artifact}: {self.path!r} {self.reason}"


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """One version on disk."""

    name: str
    """The version, as ``name:v3``."""
    folder: EntryFolder
    """Where its stored files lie."""
    entries: Sequence[Entry]
    """What was listed."""

    @property
    def size_bytes(self) -> int:
        """The bytes of all entries whose size is known."""
        return total_size(self.entries)

    def one(self, entry: Entry) -> StoredVersion:
        """Return the version reduced to one of its entries."""
        return StoredVersion(self.name, self.folder, [entry])


@dataclass(frozen=True, slots=True)
class Verification:
    """What was read, and what of it is not as listed."""

    version_count: int
    file_count: int
    size_bytes: int
    unread_count: int
    """References whose content was not there to be hashed when they were logged."""
    problems: tuple[Problem, ...]
    """The files that are missing or changed."""


def total_size(entries: Iterable[Entry]) -> int:
    """Return the bytes of all entries whose size is known."""
    return sum(entry.size or 0 for entry in entries)


def size_problems(version: StoredVersion) -> Iterator[Problem]:
    """Yield each stored file that is missing, no file, or has another size."""
    for entry in version.entries:
        if entry.ref is None:
            reason = _wrong_size(version.folder, entry)
            if reason is not None:
                yield Problem(version.name, entry.path, reason)


def _wrong_size(folder: EntryFolder, entry: Entry) -> str | None:
    try:
        status = folder.place(entry.path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return f"is missing from {folder.folder}"
    except (TrackerError, OSError) as error:
        if is_from_signal(error):
            raise
        return f"cannot be read: {error}"
    if not stat.S_ISREG(status.st_mode):
        return f"is no regular file any more, in {folder.folder}"
    if status.st_size != entry.size:
        return f"has {status.st_size} bytes in {folder.folder}; {entry.size} were logged"
    return None


def content_problems(version: StoredVersion, progress: Progress) -> Iterator[Problem]:
    """Yield each stored file, and each reference to this machine, with other content than listed.

    Remote references are passed over.
    """
    for entry in version.entries:
        reason = _wrong_content(version.folder, entry, progress)
        if reason is not None:
            yield Problem(version.name, entry.path, reason)


def _wrong_content(folder: EntryFolder, entry: Entry, progress: Progress) -> str | None:
    file: Path | None
    if entry.ref is None:
        reason = _wrong_size(folder, entry)
        if reason is not None:
            return reason
        file = folder.place(entry.path)
    else:
        file = local_path_of(entry.ref)
        if file is None or (entry.digest is None and file.is_dir()):
            return None
    try:
        content = digest_of(file, progress, follow=entry.ref is not None)
    except (TrackerError, OSError) as error:
        if is_from_signal(error):
            raise
        return f"cannot be read: {error}"
    if entry.digest is not None and content.digest != entry.digest:
        return (
            f"has changed: {file} has {content.digest}, and {entry.digest} was logged "
            "(it was written to after logging, or the disk is damaged)"
        )
    return None


def version_problems(versions: Sequence[StoredVersion]) -> Iterator[Problem]:
    """Yield the problems of several versions, with one line of progress for all of them."""
    progress = Progress("verifying artifacts", sum(version.size_bytes for version in versions))
    try:
        for version in versions:
            yield from content_problems(version, progress)
    finally:
        progress.close()


def raise_first(problems: Iterable[Problem]) -> None:
    """Raise if there are any problems.

    Raises:
        ArtifactError: the problems, the first ten in words.
    """
    found = list(problems)
    if not found:
        return
    shown = "; ".join(str(problem) for problem in found[:_PROBLEMS_SHOWN_MAX])
    more = len(found) - _PROBLEMS_SHOWN_MAX
    raise ArtifactError(f"{shown}{f'; and {more} more' if more > 0 else ''}. {_LOG_AGAIN}")


class CheckedFiles:
    """Files whose content was compared with what was listed; they are read again when they look changed."""

    def __init__(self) -> None:
        self._looks: dict[Path, tuple[str | None, tuple[int, ...]]] = {}

    def check(self, version: StoredVersion, entry: Entry) -> Path:
        """Return where the content of an entry of this machine lies, once it is known to be right.

        A local reference that had no content when it was logged is not compared.

        Raises:
            ArtifactError: it is not what was logged.
        """
        file = version.folder.place(entry.path) if entry.ref is None else local_path_of(entry.ref)
        assert file is not None, "a remote reference has no file here"
        if entry.ref is not None and entry.digest is None:
            return file
        look = _look_of(file)
        if look is not None and self._looks.get(file) == (entry.digest, look):
            return file
        now_ns = time.time_ns()
        progress = Progress(f"checking {version.name}", entry.size or 0)
        try:
            raise_first(content_problems(version.one(entry), progress))
        finally:
            progress.close()
        if look is not None and now_ns - max(look[-2:]) > _TIME_GRAIN_NS:
            self._looks[file] = (entry.digest, look)
        return file


def _look_of(file: Path) -> tuple[int, ...] | None:
    """Return what changes with a file's content, its two times last; ``None`` where it cannot be seen."""
    try:
        status = file.stat()
    except OSError as error:
        if is_from_signal(error):
            raise
        return None
    # The time of the last change of status too: programs can set the other one back, not this.
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def materialise(version: StoredVersion) -> None:
    """Check the stored files and bring the referenced ones beside them.

    References to other machines are left out, with a warning.

    Raises:
        ArtifactError: a file is not what was logged, a reference cannot be followed, or all of them
            are to other machines.
        OSError: a referenced file cannot be written here.
    """
    version = _without_remote(version)
    progress = Progress(f"checking {version.name}", version.size_bytes)
    stored = [entry for entry in version.entries if entry.ref is None]
    try:
        raise_first(
            content_problems(StoredVersion(version.name, version.folder, stored), progress)
        )
        for entry in version.entries:
            if entry.ref is not None:
                _fetch(version, entry, folder=version.folder, progress=progress)
    finally:
        progress.close()


def copy_out(version: StoredVersion, target: Path) -> None:
    """Copy every file to ``target``, checked on the way; what is there already is kept.

    References to other machines are left out, with a warning.

    Raises:
        ArtifactError: a file is not what was logged, a reference cannot be followed, all of them
            are to other machines, or a link below ``target`` leads out of it.
        OSError: a file cannot be written.
    """
    version = _without_remote(version)
    raise_first(size_problems(version))
    target.mkdir(parents=True, exist_ok=True)
    folder = EntryFolder(target)
    progress = Progress(f"downloading {version.name}", version.size_bytes)
    try:
        for entry in version.entries:
            _fetch(version, entry, folder=folder, progress=progress)
    finally:
        progress.close()


def _fetch(
    version: StoredVersion, entry: Entry, *, folder: EntryFolder, progress: Progress
) -> None:
    """Put one file at its place, unless the same content is there (a download that goes on)."""
    place = folder.place_for_writing(entry.path)
    if _has(place, entry):
        progress.advance(entry.size or 0)
        return
    source = version.folder.place(entry.path) if entry.ref is None else local_path_of(entry.ref)
    assert source is not None, "remote references were left out before"
    try:
        replace_by_copy(
            source, place, entry.digest, progress=progress, follow=entry.ref is not None
        )
    except TrackerError as error:
        raise ArtifactError(f"{version.name}: {entry.path!r}: {error} {_LOG_AGAIN}") from error


def _has(place: Path, entry: Entry) -> bool:
    if entry.digest is None:
        return False
    try:
        # The size first: other content is nearly always told by one look.
        return (
            place.lstat().st_size == entry.size
            and digest_of(place, follow=False).digest == entry.digest
        )
    except (TrackerError, OSError) as error:
        if is_from_signal(error):
            raise
        return False


def _without_remote(version: StoredVersion) -> StoredVersion:
    """Return the version without the references to other machines, which a warning names.

    Raises:
        ArtifactError: there is nothing else in it.
    """
    remote = [
        entry
        for entry in version.entries
        if entry.ref is not None and local_path_of(entry.ref) is None
    ]
    if not remote:
        return version
    first, more = remote[0], len(remote) - 1
    others = f" (and {more} more)" if more else ""
    text = (
        f"{version.name}: {first.path!r} is a reference to {first.ref}{others}, and the tracker "
        "fetches nothing over a network. Fetch it with a client of your own: the places are in "
        "artifact.entries[...].ref."
    )
    if len(remote) == len(version.entries):
        raise ArtifactError(text)
    logger.warning("%s The other files are there.", text)
    left = {entry.path for entry in remote}
    kept = [entry for entry in version.entries if entry.path not in left]
    return StoredVersion(version.name, version.folder, kept)
