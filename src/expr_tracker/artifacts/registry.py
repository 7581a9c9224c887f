"""`Registry`: how versions and aliases come to be, one at a time, whatever dies in between.

Copying happens outside of the lock, so processes copy side by side; under it a finished folder is
renamed into place and its line appended. What dead processes left is finished first.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from expr_tracker.artifacts.copying import append_line
from expr_tracker.artifacts.entries import (
    Entry,
    EntryFolder,
    content_digest,
    is_inside,
    local_path_of,
)
from expr_tracker.artifacts.index import Index, Record
from expr_tracker.artifacts.names import INDEX, version_text
from expr_tracker.artifacts.snapshot import Snapshot, StoreMode, repair
from expr_tracker.artifacts.staging import Staging, dead_stagings, locked
from expr_tracker.artifacts.verification import StoredVersion, size_problems
from expr_tracker.errors import ArtifactError
from expr_tracker.notices import counted
from expr_tracker.store.lines import encode_exact_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from expr_tracker.artifacts.artifact import Artifact
    from expr_tracker.row import Row

__all__ = ["Registry"]


class Registry:
    """The versions below one folder.

    Args:
        root: the store's folder.
        warn: called with ``(kind, text)``.
        redact: takes the secrets out of the URIs of references.
    """

    def __init__(
        self, root: Path, warn: Callable[[str, str], object], redact: Callable[[Any], Any]
    ) -> None:
        self.root = root
        self._redact = redact
        self._index = Index(root / INDEX, warn)
        self._warn = warn
        # Reentrant: a signal handler that saves a last checkpoint may interrupt a `log`.
        self._mutex = threading.RLock()
        self._lock_depth = 0
        self._has_locks = True

    @contextmanager
    def reading(self) -> Iterator[Index]:
        """Give the index as it is now, to this thread alone.

        Raises:
            OSError: it exists and cannot be read.
        """
        with self._mutex:
            self._index.refresh()
            yield self._index

    def folder(self, record: Record) -> Path:
        """Return the folder of a version's files."""
        return self.root / record.name / version_text(record.version)

    def stored_version(self, record: Record) -> StoredVersion:
        """Return a version with its place on disk."""
        return StoredVersion(
            record.qualified_name, EntryFolder(self.folder(record)), record.entries
        )

    def store(
        self, artifact: Artifact, draft: Record, *, aliases: list[str], mode: StoreMode
    ) -> tuple[Record, list[str]]:
        """Make ``artifact`` a version, or find the one with its content.

        Args:
            artifact: what to store.
            draft: the version without number, entries and digest.
            aliases: what shall point to it.
            mode: how its files are stored.

        Returns:
            The version, and all aliases that point to it.

        Raises:
            ArtifactError: a source cannot be stored, or the name is taken in another case.
            OSError: the store cannot be written; it is as before.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with self._locked():
            self._check_folder(draft.name)
            same = self._listed(artifact, draft)
            if same is not None:
                return self._move_aliases(same, draft, aliases)
            self._finish_leftovers()
            staging = Staging.create(self.root)
        try:
            snapshot = Snapshot(draft.name, staging.files, mode=mode, warn=self._warn)
            taken = snapshot.take(self._without_own(artifact.sources))
            # Before the digest: it is of what the index lists.
            entries = tuple(map(self._without_secrets, taken))
            digest = content_digest(draft.type, entries)
            draft = replace(draft, entries=entries, digest=digest, content=digest)
            result = self._placed(draft, staging, aliases)
        except BaseException:
            staging.abandon()
            raise
        staging.remove()
        return result

    def _listed(self, artifact: Artifact, draft: Record) -> Record | None:
        """Return the version that the artifact already is, if nothing about it would change."""
        record = artifact.record
        if record is None or not artifact.is_from_store:
            return None
        if (record.name, record.type) != (draft.name, draft.type):
            return None
        return record if record == self._index.version(record.name, record.version) else None

    def _placed(
        self, draft: Record, staging: Staging, aliases: list[str]
    ) -> tuple[Record, list[str]]:
        with self.reading() as index:
            is_new = index.with_content(draft.name, draft.content) is None
        if is_new:
            # Before the lock: gigabytes on their way to the medium must not hold up others.
            staging.sync()
        with self._locked():
            twin = self._index.with_content(draft.name, draft.content)
            if twin is None:
                self._check_folder(draft.name)
                return self._publish(draft, staging, aliases)
            result = self._move_aliases(twin, draft, aliases)
        repair(self.stored_version(twin), staging.files, self._warn)
        return result

    def _publish(
        self, draft: Record, staging: Staging, aliases: list[str]
    ) -> tuple[Record, list[str]]:
        """Rename the finished folder, then list it; the caller holds the lock."""
        latest = self._index.latest(draft.name)
        record = replace(draft, version=0 if latest is None else latest.version + 1)
        while True:
            row = record.row(aliases)
            try:
                staging.move_to(self.folder(record), row)
                break
            except FileExistsError:
                if not self.folder(record).parent.is_dir():
                    raise  # a file stands where the artifact's folder belongs: no number helps
                # A version whose line was damaged: its files are not ours to remove.
                record = replace(record, version=record.version + 1)
        try:
            self._append(row)
        except OSError:
            staging.take_back(self.folder(record))
            raise
        return record, self._index.aliases(record.name, record.version)

    def _move_aliases(
        self, record: Record, draft: Record, aliases: list[str]
    ) -> tuple[Record, list[str]]:
        """List the aliases that do not point to ``record`` yet; the caller holds the lock."""
        if draft.metadata and draft.metadata != record.metadata:
            self._warn(
                f"artifact metadata of {record.qualified_name}",
                f"{record.qualified_name} has the same content and keeps the metadata that it was "
                "first logged with; the new metadata is not stored.",
            )
        moved = [alias for alias in aliases if self._index.aliased(record.name, alias) != record]
        if moved:
            self._append(
                record.alias_row(
                    moved,
                    created_at=draft.created_at,
                    run=draft.run,
                    step=draft.step,
                )
            )
        return record, self._index.aliases(record.name, record.version)

    def _append(self, row: Row) -> None:
        append_line(self._index.path, encode_exact_line(row), exclusive=True)
        self._index.refresh()

    def _finish_leftovers(self) -> None:
        """List or remove what makers that died have left; the caller holds the lock."""
        if not self._has_locks:
            return
        for row in dead_stagings(self.root):
            record = None if row is None else self._index.parse(row)
            if record is None or row is None:
                continue
            is_listed = self._index.version(record.name, record.version) is not None
            if is_listed or not self.folder(record).is_dir():
                continue
            if not any(size_problems(self.stored_version(record))):
                self._append(row)

    def _check_folder(self, name: str) -> None:
        """Refuse a name whose folder is another's, or leads out of the store."""
        other = self._index.same_folder(name)
        if other is not None and other != name:
            raise ArtifactError(
                f"artifact name {name!r}: {other!r} exists, and the two would share a folder where "
                f"case does not matter. Use {other!r}, or a name that differs by more."
            )
        # Only for its check of the links on the way.
        EntryFolder(self.root).place(f"{name}/{version_text(0)}")

    def _without_own(self, sources: list[Entry]) -> list[Entry]:
        """Return the sources without the store's own files, where a directory held it by chance.

        Else every version of the project's folder would hold all versions before it.
        """
        root = os.path.realpath(self.root)
        kept = [
            entry
            for entry in sources
            if entry.source is None
            or entry.within is None
            or is_inside(entry.within, root)
            or not is_inside(entry.source, root)
        ]
        if len(kept) < len(sources):
            self._warn(
                "artifact store inside",
                f"The directory holds the artifact store itself ({self.root}): "
                f"{counted(len(sources) - len(kept), 'file')} of it left out of the artifact.",
            )
        return kept

    def _without_secrets(self, entry: Entry) -> Entry:
        """Return an entry as the index may list it; a path of this machine must stay one."""
        if entry.ref is None or local_path_of(entry.ref) is not None:
            return entry
        return replace(entry, ref=self._redact(entry.ref))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the store for this thread and process, with the index as it is now."""
        with self._mutex:
            if self._lock_depth:
                self._index.refresh()
                yield
                return
            with locked(self.root, self._warn) as has_locks:
                self._has_locks = has_locks
                self._lock_depth += 1
                try:
                    self._index.refresh()
                    yield
                finally:
                    self._lock_depth -= 1
