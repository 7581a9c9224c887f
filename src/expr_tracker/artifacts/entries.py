"""The entries of an artifact, and the one resolver for their paths.

An entry is a file below the artifact's folder, under a path of its own with ``/`` between the
parts, or a reference: a place elsewhere that the artifact only names. Every path, whether a user
gave it, a directory held it or the index lists it, goes through `check_entry_path`; every place on
disk is made from it by `EntryFolder`. Nothing outside of the folder is ever read or written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes, urlsplit, urlunsplit

from expr_tracker.errors import ArtifactError, ArtifactNotFoundError, NameRefusedError
from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import logger, offer_beside
from expr_tracker.texts import cut, shown, type_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "ENTRIES_MAX",
    "Entry",
    "EntryFolder",
    "check_entry_path",
    "content_digest",
    "entries_of_directory",
    "entry_from_member",
    "entry_of_file",
    "have_own_places",
    "is_inside",
    "local_path_of",
    "parents_of",
    "without_password",
]


#: All entries of a version share one line of the index: 200 000 of them are 30 MB, which every
#: process that opens the store parses in half a second. More files belong into an archive.
ENTRIES_MAX: Final = 200_000
#: Below the 4 096 bytes of a path on Linux, with room for the store's own folders.
_PATH_BYTES_MAX: Final = 1024
#: What most file systems hold in one name.
_PART_BYTES_MAX: Final = 255
#: Longer texts are cut in messages.
_SHOWN_CHARACTERS_MAX: Final = 80

#: Windows takes any character before the colon for a drive.
_DRIVE: Final = re.compile(r".:")
_WINDOWS_PATH: Final = re.compile(r"/[A-Za-z]:")
_SHA256: Final = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or reference of an artifact."""

    path: str
    """Where it lies below the artifact's folder, with ``/`` between the parts."""
    size: int | None = None
    """Its size in bytes; ``None`` while nobody has looked (a remote reference)."""
    digest: str | None = None
    """``sha256:`` and the digest of the content that was stored; ``None`` before that."""
    ref: str | None = None
    """The place that a reference names; ``None`` for a stored file."""
    source: Path | None = field(default=None, repr=False, compare=False)
    """Where the content is taken from when it is logged."""
    within: Path | None = field(default=None, repr=False, compare=False)
    """The added directory that the source must still lie in when it is read."""

    def to_dict(self) -> dict[str, Any]:
        """Return the members that the index keeps."""
        return {"path": self.path, "size": self.size, "digest": self.digest, "ref": self.ref}


def entry_from_member(member: object) -> Entry | None:  # noqa: PLR0911 - one line per rule
    """Return the entry of one member of an index line; ``None`` if it breaks a rule."""
    if not isinstance(member, dict):
        return None
    size, digest, ref = member.get("size"), member.get("digest"), member.get("ref")
    if ref is not None and digest == "":
        digest = None  # what 0.4 wrote of a reference
    try:
        path = check_entry_path(member.get("path"))
    except NameRefusedError:
        return None
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
        return None
    if digest is not None:
        match = _SHA256.fullmatch(digest) if isinstance(digest, str) else None
        if match is None:
            return None
        digest = "sha256:" + match[1]
    if ref is not None and not isinstance(ref, str):
        return None
    if ref is None and (size is None or digest is None):
        return None
    return Entry(path, size, digest, ref)


def check_entry_path(path: object) -> str:
    """Return ``path`` if it names a place below any folder, on every file system.

    Raises:
        NameRefusedError: it could leave the folder, or cannot be a path; the message says why.
    """
    if isinstance(path, PurePath):
        path = path.as_posix()
    if not isinstance(path, str):
        raise NameRefusedError(
            f"artifact entry {shown(path)} ({type_name(path)}): a path is a text such as "
            "'weights/model.pt'."
        )
    rule = _broken_rule(path)
    if rule is not None:
        raise NameRefusedError(
            f"artifact entry {cut(path, _SHOWN_CHARACTERS_MAX)!r}: {rule}. Use a relative path such as "
            "'weights/model.pt'."
        )
    return path


def _broken_rule(path: str) -> str | None:  # noqa: PLR0911 - one line per rule
    if not path:
        return "a path cannot be empty"
    if "\\" in path:
        return "'\\' separates folders on Windows; write '/'"
    if path[0] == "/" or _DRIVE.match(path):
        return "it is absolute, and would leave the artifact's folder"
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return "control characters (NUL, line breaks, ...) cannot be in it"
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair, which no file system stores"
    if len(encoded) > _PATH_BYTES_MAX:
        return f"it has {len(encoded)} bytes; the limit is {_PATH_BYTES_MAX}"
    for part in path.split("/"):
        # Windows drops dots and spaces at the end, so '.. ' is '..' there.
        if not part.strip(". "):
            return f"the part {part!r} is empty or could leave the artifact's folder"
        if len(os.fsencode(part)) > _PART_BYTES_MAX:
            return f"one part of it is longer than {_PART_BYTES_MAX} bytes"
    return None


def is_inside(path: str | Path, folder: str | Path) -> bool:
    """Say whether a real path is ``folder`` or lies below it (by its text; both without links)."""
    text, prefix = os.fspath(path), os.fspath(folder)
    return text == prefix or text.startswith(prefix.rstrip(os.sep) + os.sep)


class EntryFolder:
    """The folder that an artifact's entries lie in: makes places on disk from entry paths."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._real = os.path.realpath(folder)
        #: Parents that were looked at: a folder of 10 000 files costs one look, not 10 000.
        self._checked: set[Path] = set()

    def place(self, entry_path: str) -> Path:
        """Return where the entry lies or would lie.

        Raises:
            NameRefusedError: the path breaks a rule.
            ArtifactError: a symbolic link on the way leads out of the folder.
        """
        *parents, last = check_entry_path(entry_path).split("/")
        parent = self.folder.joinpath(*parents)
        if parent not in self._checked:
            if not is_inside(os.path.realpath(parent), self._real):
                raise ArtifactError(
                    f"{parent} is a symbolic link that leads out of {self.folder}; entry "
                    f"{cut(entry_path, _SHOWN_CHARACTERS_MAX)!r} is not read or written through it. Remove the link."
                )
            self._checked.add(parent)
        return parent / last

    def place_for_writing(self, entry_path: str) -> Path:
        """Return `place` with its parent folders made.

        Raises:
            OSError: they cannot be made.
        """
        place = self.place(entry_path)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


def have_own_places(entries: Iterable[Entry]) -> bool:
    """Say whether no two entries share a path and none lies below another."""
    paths: set[str] = set()
    folders: set[str] = set()
    for entry in entries:
        if entry.path in paths:
            return False
        paths.add(entry.path)
        folders.update(parents_of(entry.path))
    return paths.isdisjoint(folders)


def parents_of(entry_path: str) -> list[str]:
    """Return the folders above an entry: ``"a/b/c"`` → ``["a", "a/b"]``."""
    parts = entry_path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def entries_of_directory(directory: Path, prefix: str) -> list[Entry]:
    """Return the files below ``directory``, in the order of their paths.

    Links are followed as long as they stay inside. Sockets, pipes and devices have no content that
    could be stored: they are skipped with a warning.

    Args:
        directory: the directory that is added.
        prefix: the entry path that it is put under; empty for none.

    Raises:
        NotADirectoryError: it is none.
        ArtifactError: a link leads out of it, nowhere or to a folder that holds it; or there are
            more than `ENTRIES_MAX` files.
        NameRefusedError: a file's name cannot be an entry's.
    """
    if not directory.is_dir():
        if os.path.lexists(directory):
            raise NotADirectoryError(f"{directory} is no directory; use add_file for a file.")
        near = offer_beside(directory, only_folders=True)
        raise NotADirectoryError(f"There is no directory {directory}.{near}")
    real = Path(os.path.realpath(directory))
    entries = [
        Entry(check_entry_path(path), size, source=source, within=real)
        for path, size, source in _walk(real, prefix)
    ]
    return sorted(entries, key=lambda entry: entry.path)


def _walk(real: Path, prefix: str) -> Iterator[tuple[str, int, Path]]:
    """Yield (entry path, size, real path) of every file below a real directory."""
    found = 0
    # Each folder comes with the real paths of the folders above it, to see a link that cycles.
    waiting: list[tuple[Path, str, tuple[str, ...]]] = [(real, prefix, (str(real),))]
    while waiting:
        folder, path, above = waiting.pop()
        for item in _items(folder):
            place = f"{path}/{item.name}" if path else item.name
            target, status = _target(item, real)
            if stat.S_ISDIR(status.st_mode):
                if target in above:
                    raise ArtifactError(
                        f"{item.path} is a symbolic link to a folder that holds it: it has no "
                        "end. Remove the link, or add the files one by one."
                    )
                waiting.append((Path(target), place, (*above, target)))
            elif stat.S_ISREG(status.st_mode):
                found += 1
                if found > ENTRIES_MAX:
                    raise ArtifactError(
                        f"{real} holds more than {ENTRIES_MAX} files, the limit of one artifact. "
                        "Pack them into an archive, or log several artifacts."
                    )
                yield place, status.st_size, Path(target)
            else:
                logger.warning(
                    "%s is a socket, pipe or device and is left out of the artifact.", item.path
                )


def _items(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            return list(items)
    except OSError as error:
        if is_from_signal(error):
            raise
        raise ArtifactError(f"{folder} cannot be listed: {error.strerror}.") from error


def _target(item: os.DirEntry[str], real: Path) -> tuple[str, os.stat_result]:
    """Return the real path of a directory's item, and what lies there."""
    target = os.path.realpath(item.path) if item.is_symlink() else item.path
    if not is_inside(target, real):
        raise ArtifactError(
            f"{item.path} is a symbolic link that leads out of the added directory, to {target}. "
            "Add what it names by itself: add_file(path, name=...) or add_dir(path, name=...)."
        )
    try:
        return target, item.stat()
    except OSError as error:
        if is_from_signal(error):
            raise
        what = "is a symbolic link to nothing" if item.is_symlink() else "cannot be read"
        raise ArtifactError(
            f"{item.path} {what} ({error.strerror}). Remove it, or add the files one by one."
        ) from error


def entry_of_file(file: Path, entry_path: str) -> Entry:
    """Return the entry of one file that the user named; a link is followed.

    Raises:
        ArtifactNotFoundError: no file there.
        ArtifactError: it is no regular file.
    """
    try:
        status = file.stat()
    except OSError as error:
        if is_from_signal(error):
            raise
        near = offer_beside(file) if isinstance(error, FileNotFoundError) else ""
        raise ArtifactNotFoundError(f"No file at {file}: {error.strerror}.{near}") from error
    if stat.S_ISDIR(status.st_mode):
        raise ArtifactError(f"{file} is a directory; use add_dir.")
    if not stat.S_ISREG(status.st_mode):
        raise ArtifactError(f"{file} is no regular file; its content cannot be stored.")
    return Entry(entry_path, status.st_size, source=file)


def local_path_of(reference: str) -> Path | None:
    """Return the path that a reference names on this machine; ``None`` for a remote one."""
    if "://" not in reference:
        return Path(reference)
    try:
        parts = urlsplit(reference)
    except ValueError as error:
        if is_from_signal(error):
            raise
        return None
    if parts.scheme.lower() != "file" or parts.netloc not in {"", "localhost"}:
        return None
    # As bytes: a file's name need not be text.
    path = os.fsdecode(unquote_to_bytes(parts.path))
    return Path(path.removeprefix("/") if _WINDOWS_PATH.match(path) else path)


def without_password(reference: str) -> str:
    """Return ``reference`` with ``user:password@`` made ``user:***@``: the index is no safe.

    Raises:
        ArtifactError: it is no URI.
    """
    try:
        parts = urlsplit(reference)
    except ValueError as error:
        if is_from_signal(error):
            raise
        raise ArtifactError(
            f"reference {cut(reference, _SHOWN_CHARACTERS_MAX)!r} is no URI: {error}. Give a path or a URI such as "
            "'s3://bucket/file'."
        ) from error
    user_and_password, at, host = parts.netloc.rpartition("@")
    user, colon, _ = user_and_password.partition(":")
    if not at or not colon:
        return reference
    return urlunsplit(parts._replace(netloc=f"{user}:***@{host}"))


def content_digest(kind: str, entries: Iterable[Entry]) -> str:
    """Return what makes two versions the same: type, and path, digest and reference of each entry.

    SHA-256 over a line of JSON for the type and for each entry, sorted by path; JSON keeps the
    parts apart whatever they contain.
    """
    digest = hashlib.sha256(json.dumps([kind]).encode() + b"\n")
    for entry in sorted(entries, key=lambda entry: entry.path):
        digest.update(json.dumps([entry.path, entry.digest, entry.ref]).encode() + b"\n")
    return "sha256:" + digest.hexdigest()
