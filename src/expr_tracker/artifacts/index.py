"""The index of a store: ``index.jsonl``, its line format, and what it says when read.

Each line is one JSON object (`store.lines`). **A version**::

    {"name", "version": "v3", "type", "description", "metadata", "aliases", "digest", "created_at",
     "run", "step", "entries": [{"path", "size", "digest", "ref"}, ...], "reused": false}

``created_at`` is in Unix seconds; digests are ``sha256:`` and hexadecimal. **A move of aliases** is
the same line with ``"reused": true`` and no entries: its ``aliases`` point to its version from then
on. An alias is where the newest line that carries it says.

Lines that cannot be read, lack a member, break a rule or contradict an earlier line are skipped
with one warning: a damaged line costs itself and nothing else. The file only grows, so only what
was appended since is read again; a file that was replaced is read from its beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from expr_tracker.artifacts.entries import (
    Entry,
    content_digest,
    entry_from_member,
    have_own_places,
)
from expr_tracker.artifacts.names import (
    alias_rule_broken,
    check_artifact_name,
    folded,
    version_number,
    version_text,
)
from expr_tracker.errors import NameRefusedError
from expr_tracker.store.joined import joined_objects
from expr_tracker.store.lines import decode_line
from expr_tracker.store.seconds import seconds_or_text_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from expr_tracker.row import Row

__all__ = ["Index", "Record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One version as the index lists it."""

    name: str
    version: int
    type: str
    description: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    digest: str
    """As it was listed; an older program may have computed it in another way."""
    content: str
    """The digest that this program computes: what finds a version by its content."""
    created_at: float | None = None
    run: str | None = None
    step: int | None = None
    entries: tuple[Entry, ...] = ()

    @property
    def qualified_name(self) -> str:
        """``name:v3``."""
        return f"{self.name}:{version_text(self.version)}"

    def row(self, aliases: Iterable[str]) -> Row:
        """Return the line that lists this version."""
        return {
            "name": self.name,
            "version": version_text(self.version),
            "type": self.type,
            "description": self.description,
            "metadata": self.metadata,
            "aliases": list(aliases),
            "digest": self.digest,
            "created_at": self.created_at,
            "run": self.run,
            "step": self.step,
            "entries": [entry.to_dict() for entry in self.entries],
            "reused": False,
        }

    def alias_row(
        self,
        aliases: Iterable[str],
        *,
        created_at: float | None,
        run: str | None,
        step: int | None,
    ) -> Row:
        """Return the line that makes ``aliases`` point to this version."""
        row = self.row(aliases)
        row.update(metadata={}, created_at=created_at, run=run, step=step, entries=[], reused=True)
        return row


@dataclass(slots=True)
class _Artifact:
    """All that is listed under one name."""

    versions: dict[int, Record] = field(default_factory=dict)
    aliases: dict[str, int] = field(default_factory=dict)
    by_content: dict[str, int] = field(default_factory=dict)
    latest: int = -1


class Index:
    """What ``index.jsonl`` says, as of the last `refresh`.

    Args:
        path: the file; it may not exist yet.
        warn: called with ``(kind, text)`` when lines were skipped.
    """

    def __init__(self, path: Path, warn: Callable[[str, str], object]) -> None:
        self.path = path
        self._warn = warn
        self._forget()

    def _forget(self) -> None:
        self._artifacts: dict[str, _Artifact] = {}
        self._names_by_folded: dict[str, str] = {}
        self._identity: tuple[int, int] | None = None
        self._offset = 0
        self._line_count = 0

    def refresh(self) -> None:
        """Read what was appended since the last time.

        Raises:
            OSError: the file exists and cannot be read.
        """
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._forget()
            return
        identity = (status.st_dev, status.st_ino)
        if identity != self._identity or status.st_size < self._offset:
            self._forget()
            self._identity = identity
        if status.st_size > self._offset:
            self._read_tail()

    def _read_tail(self) -> None:
        with self.path.open("rb") as file:
            file.seek(self._offset)
            tail = file.read()
        skipped, first = 0, 0
        # The part after the last line end is a line that is not there yet.
        for line in tail[: tail.rfind(b"\n") + 1].splitlines(keepends=True):
            if line.strip() and not self._take_line(line):
                skipped += 1
                first = first or self._line_count + 1
            # Per line: an interrupt between two lines must not lose or repeat one.
            self._line_count += 1
            self._offset += len(line)
        if skipped:
            self._warn(
                "artifact index",
                f"{self.path}: {skipped} line(s) are no artifact versions and were skipped, the "
                f"first is line {first}. Their versions cannot be used; all others can.",
            )

    def _take_line(self, line: bytes) -> bool:
        row = decode_line(line)
        if row is not None:
            return self._take(row)
        rows = joined_objects(line.rstrip(b"\n"))
        taken = [self._take(each) for each in rows]
        return bool(taken) and all(taken)

    def _take(self, row: Row) -> bool:
        """Add what one line says; False if it says nothing that can be used."""
        name, number = _name_and_version(row)
        if name is None or number is None:
            return False
        aliases = row.get("aliases")
        usable = [one for one in aliases if _is_alias(one)] if isinstance(aliases, list) else []
        artifact = self._artifacts.get(name)
        known = artifact.versions.get(number) if artifact is not None else None
        if row.get("reused") is not True:
            record = _record(name, number, row)
            if record is None:
                return False
            if known is not None and known.content != record.content:
                return False
            artifact = self._add(record)
        elif artifact is None or known is None:
            return False
        for alias in usable:
            artifact.aliases[alias] = number
        return True

    def _add(self, record: Record) -> _Artifact:
        artifact = self._artifacts.setdefault(record.name, _Artifact())
        self._names_by_folded.setdefault(folded(record.name), record.name)
        artifact.versions.setdefault(record.version, record)
        artifact.by_content.setdefault(record.content, record.version)
        artifact.latest = max(artifact.latest, record.version)
        return artifact

    def parse(self, row: Row) -> Record | None:
        """Return the version that a line would add; ``None`` if it cannot."""
        name, number = _name_and_version(row)
        return None if name is None or number is None else _record(name, number, row)

    def names(self) -> list[str]:
        """Return the names, sorted."""
        return sorted(self._artifacts)

    def versions(self, name: str) -> list[Record]:
        """Return the versions of ``name``, oldest first."""
        artifact = self._artifacts.get(name)
        if artifact is None:
            return []
        return [artifact.versions[number] for number in sorted(artifact.versions)]

    def version(self, name: str, number: int) -> Record | None:
        """Return one version."""
        artifact = self._artifacts.get(name)
        return None if artifact is None else artifact.versions.get(number)

    def latest(self, name: str) -> Record | None:
        """Return the highest version."""
        artifact = self._artifacts.get(name)
        return None if artifact is None else artifact.versions[artifact.latest]

    def aliased(self, name: str, alias: str) -> Record | None:
        """Return the version that the newest line with ``alias`` names."""
        artifact = self._artifacts.get(name)
        if artifact is None or alias not in artifact.aliases:
            return None
        return artifact.versions[artifact.aliases[alias]]

    def aliases(self, name: str, number: int | None = None) -> list[str]:
        """Return the aliases of ``name``, sorted; with ``number`` those of that version."""
        artifact = self._artifacts.get(name)
        if artifact is None:
            return []
        return sorted(
            alias
            for alias, target in artifact.aliases.items()
            if number is None or target == number
        )

    def with_content(self, name: str, content: str) -> Record | None:
        """Return the version of ``name`` that has this `content_digest`."""
        artifact = self._artifacts.get(name)
        if artifact is None or content not in artifact.by_content:
            return None
        return artifact.versions[artifact.by_content[content]]

    def same_folder(self, name: str) -> str | None:
        """Return the listed name that shares ``name``'s folder where case does not matter."""
        return self._names_by_folded.get(folded(name))


def _name_and_version(row: Row | None) -> tuple[str | None, int | None]:
    if row is None:
        return None, None
    try:
        return check_artifact_name(row.get("name")), version_number(row.get("version"))
    except NameRefusedError:
        return None, None


def _record(name: str, number: int, row: Row) -> Record | None:
    kind, digest, members = row.get("type"), row.get("digest"), row.get("entries")
    if not (isinstance(kind, str) and isinstance(digest, str) and isinstance(members, list)):
        return None
    entries: list[Entry] = []
    for member in members:
        entry = entry_from_member(member)
        if entry is None:
            return None
        entries.append(entry)
    if not have_own_places(entries):
        return None
    description, metadata, run, step = (
        row.get(member) for member in ("description", "metadata", "run", "step")
    )
    return Record(
        name=name,
        version=number,
        type=kind,
        description=description if isinstance(description, str) else None,
        metadata=metadata if isinstance(metadata, dict) else {},
        digest=digest,
        content=content_digest(kind, entries),
        created_at=seconds_or_text_in(row.get("created_at")),
        run=run if isinstance(run, str) else None,
        step=step if isinstance(step, int) and not isinstance(step, bool) else None,
        entries=tuple(entries),
    )


def _is_alias(value: object) -> bool:
    return isinstance(value, str) and alias_rule_broken(value) is None
