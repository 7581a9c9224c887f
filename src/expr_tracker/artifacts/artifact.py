"""`Artifact`: what users build, log and get back.

Before it is logged it only names sources: `add_file` and its siblings look at files and read none.
Logging snapshots them; from then on the artifact stands for one version, until something is added.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from expr_tracker.artifacts.entries import (
    ENTRIES_MAX,
    Entry,
    EntryFolder,
    check_entry_path,
    entries_of_directory,
    entry_of_file,
    local_path_of,
    parents_of,
    without_password,
)
from expr_tracker.artifacts.names import (
    check_aliases,
    check_artifact_name,
    check_type,
    version_text,
)
from expr_tracker.artifacts.selection import nearest
from expr_tracker.artifacts.verification import (
    CheckedFiles,
    StoredVersion,
    copy_out,
    materialise,
)
from expr_tracker.errors import ArtifactError, ArtifactNotFoundError, ArtifactNotLoggedError
from expr_tracker.row import key_text
from expr_tracker.store.paths import absolute, path_given
from expr_tracker.texts import shown, type_name

if TYPE_CHECKING:
    from expr_tracker.artifacts.index import Record

__all__ = ["Artifact", "artifact_from"]


class Artifact:
    """A named set of files and references.

    Args:
        name: the artifact's name; its versions are ``name:v0``, ``name:v1``, ...
        type: what kind of thing it is.
        description: a text for people.
        metadata: anything with a JSON form.
        aliases: names for the version that it becomes.

    Raises:
        NameRefusedError: ``name`` cannot be an artifact's name.
        ArtifactError: ``type``, ``metadata`` or an alias breaks its rule.
    """

    def __init__(  # noqa: PLR0917 - the signature that programs call
        self,
        name: str,
        type: str = "dataset",  # noqa: A002 - the word of the API
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        aliases: Iterable[str] | None = None,
    ) -> None:
        if metadata is not None and not isinstance(metadata, Mapping):
            raise ArtifactError(
                f"metadata={shown(metadata)}: expected a mapping such as {{'rows': 3}}."
            )
        self.name = check_artifact_name(name)
        self.type = check_type(type)
        self.description = description
        self.metadata: dict[str, Any] = dict(metadata or {})
        self.aliases = check_aliases(aliases)
        #: 3 once it is ``name:v3``; ``None`` before, and after something was added.
        self.version: int | None = None
        self.digest: str | None = None
        #: The folder of the version's stored files.
        self.dir: Path | None = None
        self.run: str | None = None
        self.step: int | None = None
        #: When it was logged, in Unix seconds.
        self.created_at: float | None = None
        self._sources: dict[str, Entry] = {}
        self._folders: set[str] = set()
        self._record: Record | None = None
        self._checked = CheckedFiles()
        self._is_from_store = False
        self._found_aliases: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return (
            f"Artifact({self.qualified_name!r}, type={self.type!r}, {len(self.entries)} entries)"
        )

    @property
    def qualified_name(self) -> str:
        """``name:v3`` once it is a version, else the name."""
        if self.version is None:
            return self.name
        return f"{self.name}:{version_text(self.version)}"

    @property
    def entries(self) -> list[Entry]:
        """The files and references, sorted by path."""
        known: Iterable[Entry]
        known = self._sources.values() if self._record is None else self._record.entries
        return sorted(known, key=lambda entry: entry.path)

    def files(self) -> list[str]:
        """Return the paths of all entries, sorted."""
        return [entry.path for entry in self.entries]

    def add_file(self, path: str | os.PathLike[str], name: str | None = None) -> Artifact:
        """Add one file; its content is read when the artifact is logged.

        Args:
            path: the file; a link is followed.
            name: its path in the artifact, the file's name if it is left out.

        Raises:
            ArtifactNotFoundError: no file there.
            ArtifactError: no regular file, or another file has that entry path already.
            NameRefusedError: ``name`` could leave the artifact's folder.
        """
        file = absolute(path_given(path, "path", ArtifactError, expected="the path of a file"))
        self._add([entry_of_file(file, check_entry_path(file.name if name is None else name))])
        return self

    def add_dir(self, path: str | os.PathLike[str], name: str | None = None) -> Artifact:
        """Add every file below a directory, with its path relative to it.

        Args:
            path: the directory; links in it are followed as long as they stay inside.
            name: the folder in the artifact that they go to; left out, they go to its top.

        Raises:
            NotADirectoryError: no directory there.
            ArtifactError: a link leads out of it, there are too many files, or another file has
                one of the entry paths already.
            NameRefusedError: ``name`` could leave the artifact's folder.
        """
        prefix = check_entry_path(name) if name is not None else ""
        folder = path_given(path, "path", ArtifactError, expected="the path of a folder")
        self._add(entries_of_directory(absolute(folder), prefix))
        return self

    def add_reference(self, uri: str | os.PathLike[str], name: str | None = None) -> Artifact:
        """Add a place without storing what is there.

        A path or ``file://`` URI of this machine is hashed when the artifact is logged, and checked
        and copied by `download`; a directory becomes a reference for each of its files. Any other
        URI is kept as it is, but for a password in it.

        Args:
            uri: the place.
            name: its path in the artifact, the last part of the URI if it is left out.

        Raises:
            ArtifactError: as `add_dir`.
            NameRefusedError: ``name``, or the URI's last part, cannot be an entry path.
        """
        reference = os.fsdecode(uri)
        if not reference:
            raise ArtifactError(f"reference {uri!r}: expected a path or URI.")
        local = local_path_of(reference)
        if local is None:
            last = reference.split("?", 1)[0].split("#", 1)[0].rstrip("/").rsplit("/", 1)[-1]
            entry_path = check_entry_path(last if name is None else name)
            self._add([Entry(entry_path, ref=without_password(reference))])
            return self
        local = absolute(local)
        if local.is_dir():
            prefix = "" if name is None else check_entry_path(name)
            self._add([as_reference(entry) for entry in entries_of_directory(local, prefix)])
            return self
        entry_path = check_entry_path(local.name if name is None else name)
        try:
            self._add([as_reference(entry_of_file(local, entry_path))])
        except ArtifactNotFoundError:
            # It may be there on the machine that will use it.
            self._add([Entry(entry_path, ref=local.as_uri())])
        return self

    def _add(self, entries: list[Entry]) -> None:
        if len(self._sources) + len(entries) > ENTRIES_MAX:
            raise ArtifactError(
                f"artifact {self.name!r} would have {len(self._sources) + len(entries)} entries; "
                f"the limit is {ENTRIES_MAX}. Pack them into an archive, or log several artifacts."
            )
        # All or none: a refused directory must not leave half of its files behind.
        sources, folders = dict(self._sources), set(self._folders)
        for entry in entries:
            _add_one(entry, name=self.name, sources=sources, folders=folders)
        self._sources, self._folders = sources, folders
        self._record = None
        self._is_from_store = False
        self.version = self.digest = self.dir = None
        self.run = self.step = self.created_at = None

    def get_path(self, name: str) -> Path:
        """Return where the content of one entry lies; a reference's own place if it is local.

        The content is compared with its digest: all of it is read, once for as long as the file
        looks the same to this object.

        Raises:
            ArtifactNotLoggedError: the artifact is no version yet.
            ArtifactNotFoundError: no entry has that path.
            ArtifactError: the content is missing or not what was logged, or the reference is
                remote.
        """
        version = self.stored_version()
        entry = next((entry for entry in version.entries if entry.path == name), None)
        if entry is None:
            raise ArtifactNotFoundError(
                f"{version.name} has no entry {shown(name)}.{nearest(key_text(name), self.files())} "
                "files() lists them all."
            )
        if entry.ref is not None and local_path_of(entry.ref) is None:
            raise ArtifactError(
                f"{version.name}: {name!r} is a reference to {entry.ref}, which is not "
                "on this machine; fetch it with a client of your own."
            )
        return self._checked.check(version, entry)

    def download(self, root: str | os.PathLike[str] | None = None) -> Path:
        """Return a folder with every file of the version, each checked against its digest.

        Args:
            root: where to copy the files to; files there that are right already are kept, so a
                download that was cut short goes on. Left out, the store's own folder is returned,
                and local references are copied into it.

        Raises:
            ArtifactNotLoggedError: the artifact is no version yet.
            ArtifactError: a file is not what was logged, or all there is are references to other
                machines; beside files they are left out, with a warning that names them.
            OSError: ``root`` cannot be written.
        """
        version = self.stored_version()
        if root is None:
            materialise(version)
            return version.folder.folder
        folder = path_given(root, "root", ArtifactError, expected="the path of a folder")
        copy_out(version, folder)
        return folder

    def to_dict(self) -> dict[str, Any]:
        """Return what is known about it, as plain values."""
        return {
            "name": self.name,
            "version": self.version,
            "type": self.type,
            "description": self.description,
            "metadata": dict(self.metadata),
            "aliases": list(self.aliases),
            "digest": self.digest,
            "created_at": self.created_at,
            "run": self.run,
            "step": self.step,
            "entries": [entry.to_dict() for entry in self.entries],
        }

    @property
    def record(self) -> Record | None:
        """The version that it stands for, as listed; ``None`` before it is logged."""
        return self._record

    def stored_version(self) -> StoredVersion:
        """Return the version with its place on disk.

        Raises:
            ArtifactNotLoggedError: it is none yet.
        """
        if self._record is None or self.dir is None:
            raise ArtifactNotLoggedError(
                f"artifact {self.name!r} is no version yet, so it has no stored files: log it first "
                "(log_artifact); if it was logged, the warning says why it could not be stored."
            )
        return StoredVersion(self.qualified_name, EntryFolder(self.dir), self._record.entries)

    @property
    def is_from_store(self) -> bool:
        """Whether it was made from a stored version and nothing was added since."""
        return self._is_from_store

    @property
    def sources(self) -> list[Entry]:
        """What a new version of it is made from."""
        return list(self._sources.values())

    @property
    def declared_aliases(self) -> list[str]:
        """The aliases that the user gave it, without those that its version had already."""
        given = check_aliases(self.aliases)
        return [alias for alias in given if alias not in self._found_aliases]

    def stand_for(self, record: Record, directory: Path, aliases: list[str]) -> None:
        """Become the version that was just logged."""
        self._found_aliases = frozenset(aliases) - frozenset(self.declared_aliases)
        self._record = record
        self.name, self.type, self.description = record.name, record.type, record.description
        self.metadata, self.aliases = dict(record.metadata), list(aliases)
        self.version, self.digest = record.version, record.digest
        self.dir, self.run, self.step = directory, record.run, record.step
        self.created_at = record.created_at

    @classmethod
    def from_store(cls, record: Record, directory: Path, aliases: list[str]) -> Artifact:
        """Return the artifact of a listed version."""
        artifact = cls(record.name)
        artifact.stand_for(record, directory, aliases)
        artifact._sources = {
            entry.path: replace(entry, source=None if entry.ref else directory / entry.path)
            for entry in record.entries
        }
        artifact._folders = {
            parent for entry in record.entries for parent in parents_of(entry.path)
        }
        artifact._is_from_store = True
        return artifact


def artifact_from(
    artifact_or_path: Artifact | str | os.PathLike[str], name: str | None
) -> Artifact:
    """Return the artifact that a call of ``log`` means.

    Args:
        artifact_or_path: what was given.
        name: the name for a path; its stem if it is left out.

    Raises:
        ArtifactError: neither an artifact nor a path; or as `Artifact.add_dir`.
        ArtifactNotFoundError: nothing at the path.
        NameRefusedError: a name that cannot be one.
    """
    if isinstance(artifact_or_path, Artifact):
        return artifact_or_path
    if not isinstance(artifact_or_path, (str, os.PathLike)):
        raise ArtifactError(
            f"artifact {shown(artifact_or_path)} ({type_name(artifact_or_path)}): expected an "
            "Artifact, or the path of a file or directory."
        )
    if not os.fspath(artifact_or_path):
        raise ArtifactError("artifact '': an empty path would store the whole working directory.")
    path = Path(os.path.abspath(artifact_or_path))  # noqa: PTH100 - resolves "..", keeps links
    artifact = Artifact(path.stem if name is None else name)
    return artifact.add_dir(path) if path.is_dir() else artifact.add_file(path)


def as_reference(entry: Entry) -> Entry:
    """Return the reference to an entry's source: the content is hashed there, not stored."""
    assert entry.source is not None, "only local files become references"
    return replace(entry, ref=entry.source.as_uri())


def _add_one(entry: Entry, *, name: str, sources: dict[str, Entry], folders: set[str]) -> None:
    """Add one entry, unless its path is taken."""
    parents = parents_of(entry.path)
    for parent in parents:
        if parent in sources:
            raise ArtifactError(
                f"artifact {name!r}: entry {entry.path!r} would lie below the file {parent!r}. "
                "Give one of them another name (name='...')."
            )
    if entry.path in folders:
        raise ArtifactError(
            f"artifact {name!r}: {entry.path!r} is a folder of other entries already. "
            "Give one of them another name (name='...')."
        )
    known = sources.get(entry.path)
    if known is not None and (known.source, known.ref) != (entry.source, entry.ref):
        raise ArtifactError(
            f"artifact {name!r}: {entry.path!r} was added already, from "
            f"{known.ref or known.source}; now from {entry.ref or entry.source}. "
            "Give one of them another name (name='...')."
        )
    sources[entry.path] = entry
    folders.update(parents)
