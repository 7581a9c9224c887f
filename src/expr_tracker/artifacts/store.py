"""`ArtifactStore`: the artifacts of one project, and what one run makes and uses of them.

Wrong input raises at the call. What goes wrong with the store itself (a full disk, a folder that
cannot be written) does not: `log` warns, counts it in `failure_count` and returns the artifact
without a version, because a lost checkpoint must not end the training that makes the next.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from expr_tracker.artifacts.artifact import Artifact, artifact_from
from expr_tracker.artifacts.copying import append_line
from expr_tracker.artifacts.index import Index, Record
from expr_tracker.artifacts.names import (
    INDEX,
    check_aliases,
    check_artifact_name,
    check_type,
    split_specification,
    version_text,
)
from expr_tracker.artifacts.registry import Registry
from expr_tracker.artifacts.selection import select
from expr_tracker.artifacts.snapshot import StoreMode
from expr_tracker.artifacts.verification import (
    Verification,
    raise_first,
    size_problems,
    total_size,
    version_problems,
)
from expr_tracker.clock import Clock, SystemClock
from expr_tracker.errors import (
    ArtifactError,
    ArtifactNotFoundError,
    ArtifactNotLoggedError,
    ForkedObjectError,
    TrackerError,
)
from expr_tracker.interruption import is_from_signal, suppress_own
from expr_tracker.notices import Notices
from expr_tracker.row import Row, RowEncoder
from expr_tracker.store.lines import encode_exact_line, encode_line
from expr_tracker.store.paths import absolute, path_given
from expr_tracker.texts import shown

__all__ = ["ArtifactStore", "StoreMode", "find_store"]

#: The index line is read by every process that opens the store; more belongs into a file.
_METADATA_BYTES_MAX: Final = 1024 * 1024
#: Inside the class ``list`` is its method.
Artifacts = list[Artifact]


class ArtifactStore:
    """The artifacts below one folder.

    Threads may share it, and processes may each have one on the same folder; a forked child makes
    its own.

    Args:
        root: the store's folder; made when the first artifact is logged.
        lineage: the file that says what the run made and used; ``None`` for readers.
        run_name: what the index says made a version.
        warn: called with ``(kind, text)``; left out, each kind is logged once.
        clock: what ``created_at`` is read from.
        redact: takes the secrets out of descriptions, metadata and the URIs of references before
            they are written; left out, they are written as given.
    """

    def __init__(
        self,
        root: Path,
        lineage: Path | None = None,
        run_name: str | None = None,
        *,
        warn: Callable[[str, str], object] | None = None,
        clock: Clock | None = None,
        redact: Callable[[Any], Any] | None = None,
    ) -> None:
        self.root = absolute(path_given(root, "root", ArtifactError))
        #: Artifacts and lineage lines that could not be stored.
        self.failure_count = 0
        self._lineage = lineage
        self._run_name = run_name
        self._warn = warn if warn is not None else _once_per_kind()
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._redact = redact if redact is not None else _as_given
        self._registry = Registry(self.root, self._warn, self._redact)
        self._pid = os.getpid()

    def log(  # noqa: PLR0913, PLR0917 - the signature of `log_artifact`, and the step
        self,
        artifact_or_path: Artifact | str | os.PathLike[str],
        name: str | None = None,
        type: str | None = None,  # noqa: A002 - the word of the API
        aliases: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        mode: StoreMode = "copy",
        step: int | None = None,
    ) -> Artifact:
        """Store the files as they are now, as the next version or the one with the same content.

        Args:
            artifact_or_path: what to store: an `Artifact`, a file or a directory.
            name: its name; the path's stem if it is left out.
            type: its type, ``"dataset"`` if it is left out.
            aliases: names that point to the version from now on, wherever they pointed before.
            metadata: anything with a JSON form.
            mode: ``"copy"`` stores copies, ``"link"`` hard links where the file system can (a
                later write to the original then shows as damage), ``"reference"`` nothing.
            step: the run's step, for the record.

        Returns:
            The artifact as a version; without one (``version is None``) where the store could not
            be written, which is warned about and counted.

        Raises:
            ForkedObjectError: the store was made by the parent process.
            ArtifactNotFoundError: no such file.
            ArtifactError: an argument or a file breaks a rule.
            NameRefusedError: a name could leave the store.
        """
        self._check_process()
        if not isinstance(mode, str) or mode not in get_args(StoreMode):  # type: ignore[redundant-expr]
            raise ArtifactError(
                f"mode={shown(mode)}: expected one of {', '.join(get_args(StoreMode))}."
            )
        artifact = artifact_from(artifact_or_path, name)
        given = check_aliases(aliases)
        wanted = check_aliases([*artifact.declared_aliases, *given])
        draft = Record(
            # The artifact itself changes only when it is stored.
            name=check_artifact_name(artifact.name if name is None else name),
            version=0,
            type=check_type(artifact.type if type is None else type),
            description=self._redact(_checked_description(artifact.description)),
            metadata=self._plain(artifact, metadata),
            digest="",
            content="",
            created_at=self._clock.wall(),
            run=self._run_name,
            step=step,
        )
        _check_size(draft)
        try:
            record, found = self._registry.store(artifact, draft, aliases=wanted, mode=mode)
        except TrackerError:
            raise
        except OSError as error:
            if is_from_signal(error):
                raise
            self._fail("artifact", f"Artifact {draft.name!r} is not stored: {error}.")
            return artifact
        artifact.stand_for(record, self._registry.folder(record), found)
        self._note("log", record, step)
        return artifact

    def _plain(self, artifact: Artifact, more: Mapping[str, Any] | None) -> Row:
        """Return the metadata as plain values."""
        for metadata in (artifact.metadata, more):
            if metadata is not None and not isinstance(metadata, Mapping):
                raise ArtifactError(f"metadata={shown(metadata)}: expected a mapping.")

        def degraded(key: str, text: str) -> None:
            self._warn(
                f"artifact metadata {key}", f"Artifact {artifact.name!r}, metadata {key!r}: {text}"
            )

        plain: Row = self._redact(RowEncoder(degraded).row({**artifact.metadata, **(more or {})}))
        return plain

    def use(
        self,
        artifact_or_name: Artifact | str,
        type: str | None = None,  # noqa: A002 - the word of the API
        step: int | None = None,
    ) -> Artifact:
        """Return a version, its files looked at, and note that the run used it.

        Args:
            artifact_or_name: ``"name"`` or ``"name:latest"``, ``"name:v3"``, ``"name:best"``, or
                an artifact that was logged.
            type: what its type must be.
            step: the run's step, for the record.

        Raises:
            ForkedObjectError: the store was made by the parent process.
            ArtifactNotFoundError: no such artifact, version or alias; the message lists what there
                is.
            ArtifactError: it has another type, or a stored file is missing or has another size.
            ArtifactNotLoggedError: an artifact that is no version yet.
            NameRefusedError: no artifact can have that name.
        """
        self._check_process()
        artifact = self._artifact(artifact_or_name)
        record = artifact.record
        assert record is not None, "a version has a record"
        if type is not None and type != record.type:
            raise ArtifactError(
                f"{record.qualified_name} has type {record.type!r}, not {shown(type)}. Leave type= out, "
                "or name another artifact."
            )
        raise_first(size_problems(artifact.stored_version()))
        self._note("use", record, step)
        return artifact

    def find(self, specification: str) -> Artifact:
        """Return a version without noting that it was used.

        Raises:
            ForkedObjectError: the store was made by the parent process.
            ArtifactNotFoundError: no such artifact, version or alias.
            NameRefusedError: no artifact can have that name.
        """
        self._check_process()
        name, selector = split_specification(specification)
        with self._registry.reading() as index:
            return self._artifact_of(select(index, name, selector), index)

    def list(
        self,
        name: str | None = None,
        type: str | None = None,  # noqa: A002 - the word of the API
    ) -> Artifacts:
        """Return all versions, by name and then oldest first.

        Args:
            name: only this artifact's.
            type: only those of this type.

        Raises:
            ForkedObjectError: the store was made by the parent process.
        """
        self._check_process()
        with self._registry.reading() as index:
            names = index.names() if name is None else [name]
            return [
                self._artifact_of(record, index)
                for one in names
                for record in index.versions(one)
                if type is None or record.type == type
            ]

    def verify(self, artifact_or_name: Artifact | str | None = None) -> Verification:
        """Read every stored byte, and raise if a file is not what was logged.

        Args:
            artifact_or_name: the version to read; ``"name"`` alone is all its versions; left out,
                the whole store.

        Raises:
            ForkedObjectError: the store was made by the parent process.
            ArtifactError: files are missing or changed; the message names them.
            ArtifactNotFoundError: no such artifact, version or alias.
        """
        verification = self.examine(artifact_or_name)
        raise_first(verification.problems)
        return verification

    def examine(self, artifact_or_name: Artifact | str | None = None) -> Verification:
        """Read every stored byte and report it, damage included.

        Args:
            artifact_or_name: as for `verify`.

        Raises:
            ForkedObjectError: the store was made by the parent process.
            ArtifactNotFoundError: no such artifact, version or alias.
        """
        versions = [artifact.stored_version() for artifact in self._versions(artifact_or_name)]
        entries = [entry for version in versions for entry in version.entries]
        read = [entry for entry in entries if entry.digest is not None]
        return Verification(
            version_count=len(versions),
            file_count=len(read),
            size_bytes=total_size(read),
            unread_count=len(entries) - len(read),
            problems=tuple(version_problems(versions)),
        )

    def _versions(self, artifact_or_name: Artifact | str | None) -> Artifacts:
        self._check_process()
        if artifact_or_name is None:
            return self.list()
        if isinstance(artifact_or_name, str) and ":" not in artifact_or_name:
            return self.list(self.find(artifact_or_name).name)
        return [self._artifact(artifact_or_name)]

    def _artifact(self, artifact_or_name: Artifact | str) -> Artifact:
        if not isinstance(artifact_or_name, Artifact):
            return self.find(artifact_or_name)
        if artifact_or_name.record is None:
            raise ArtifactNotLoggedError(
                f"artifact {artifact_or_name.name!r} is no version yet: log it first."
            )
        return artifact_or_name

    def _artifact_of(self, record: Record, index: Index) -> Artifact:
        aliases = index.aliases(record.name, record.version)
        return Artifact.from_store(record, self._registry.folder(record), aliases)

    def _note(self, action: str, record: Record, step: int | None) -> None:
        """Append a line to the run's lineage."""
        if self._lineage is None:
            return
        row: Row = {
            "_time": self._clock.wall(),
            "action": action,
            "name": record.name,
            "version": version_text(record.version),
            "type": record.type,
            "step": step,
        }
        try:
            self._lineage.parent.mkdir(parents=True, exist_ok=True)
            append_line(self._lineage, encode_line(row), exclusive=False)
        except OSError as error:
            if is_from_signal(error):
                raise
            self._fail("artifact lineage", f"{self._lineage} cannot be written: {error}.")

    def _fail(self, kind: str, text: str) -> None:
        self.failure_count += 1
        self._warn(kind, text)

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedObjectError(
                f"This artifact store was made by process {self._pid}, and this is its forked "
                f"child {os.getpid()}. Call init() in the child, or log artifacts in the parent."
            )


def _as_given(value: Any) -> Any:
    return value


def _checked_description(description: object) -> str | None:
    if description is not None and not isinstance(description, str):
        raise ArtifactError(f"description={shown(description)}: expected a text or None.")
    return description


def _check_size(draft: Record) -> None:
    size = len(encode_exact_line(draft.row([])))
    if size > _METADATA_BYTES_MAX:
        raise ArtifactError(
            f"artifact {draft.name!r}: metadata and description have {size} bytes; the limit is "
            f"{_METADATA_BYTES_MAX}. Store them as a file of the artifact."
        )


def _once_per_kind() -> Callable[[str, str], None]:
    notices = Notices()

    def warn(kind: str, text: str) -> None:
        notices.once(kind, text)
        notices.emit()

    return warn


def find_store(
    path: str | os.PathLike[str], *, warn: Callable[[str, str], object] | None = None
) -> ArtifactStore:
    """Return the store of a project, a run or itself, for reading.

    Args:
        path: the folder of a store, of a project or of a run.
        warn: as for `ArtifactStore`.

    Raises:
        ArtifactError: it can be no path.
        ArtifactNotFoundError: no store there.
    """
    given = path_given(path, "where", ArtifactError, expected="the path of a folder")
    folder = Path(os.path.abspath(absolute(given)))  # noqa: PTH100 - resolves "..", keeps links
    candidates = [folder, folder / "artifacts", folder.parent / "artifacts"]
    for candidate in candidates:
        with suppress_own(OSError):
            if (candidate / INDEX).is_file():
                return ArtifactStore(candidate, warn=warn)
    raise ArtifactNotFoundError(
        f"No artifacts at {folder}: expected an {INDEX} in it, in {folder.name}/artifacts or in "
        "the artifacts folder beside it. Name a project, a run or an artifacts folder."
    )
