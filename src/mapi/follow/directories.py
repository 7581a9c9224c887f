"""Which runs there are, and what each of them is called on the platform."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import RunNotFoundError
from expr_tracker.history.source import beginning_of
from expr_tracker.history.status import find_runs
from expr_tracker.store.documents import read_document
from expr_tracker.store.enclosure import Enclosure
from expr_tracker.store.files import RunFiles, stream_keys
from expr_tracker.store.lines import decode_line
from expr_tracker.store.paths import real_path
from expr_tracker.store.reader import LineFile
from expr_tracker.store.seconds import seconds_in
from expr_tracker.texts import cut
from mapi.follow.texts import storable
from mapi.series.names import NAME_LENGTH_MAX, NOTE_LENGTH_MAX, check_tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from expr_tracker.row import Row

__all__ = ["RunDirectory", "find_directories", "id_at", "run_directory"]

#: Enough of the first line to tell runs apart: it holds a time with microseconds.
_LINE_BYTES_MAX: Final = 1 << 16
_DIGEST_LENGTH: Final = 32
#: Of a tag in a message.
_TAG_SHOWN: Final = 80
#: Of an `external_id`.
_ID_LENGTH_MAX: Final = 500


@dataclass(frozen=True)
class RunDirectory:
    """One run on disk."""

    path: Path
    id: str
    """What stays the same where the directory is moved or copied; the platform's `external_id`."""
    project: str
    name: str
    created: float | None
    """Unix seconds."""
    has_name: bool = True
    """Whether its files say the name; else it is the folder's, which may be moved."""
    note: str = ""
    tags: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """What of the run's name, note and tags is not there as it stands in the files: a sentence each."""


def find_directories(roots: Iterable[Path], *, may_be_empty: bool = False) -> Iterator[Path]:
    """Yield the run directories at or below folders, each once.

    Args:
        roots: the folders.
        may_be_empty: whether a folder without runs is none to speak of.

    Raises:
        RunNotFoundError: there is no such folder, or no run in it.
    """
    seen: set[Path] = set()
    for root in roots:
        is_empty = True
        for path in find_runs(root):
            is_empty = False
            real = real_path(path)
            if real not in seen:
                seen.add(real)
                yield path
        if is_empty and not may_be_empty:
            raise RunNotFoundError(f"{root} holds no run: no folder in it has a metrics file.")


def run_directory(path: Path) -> RunDirectory:
    """Return the run at a path.

    A run of an older version has no ``run.json``: its id is made of its first line, which nothing that
    is appended changes.

    Raises:
        RunNotFoundError: there is none, or nothing yet by which it could be known again.
    """
    identity = read_document(RunFiles(path).identity) or {}
    found = identity.get("id")
    real = real_path(path)
    is_known = isinstance(found, str) and 0 < len(found) <= _ID_LENGTH_MAX
    created = beginning_of(identity)
    first = b"" if is_known and created is not None else _first_line(path)
    about = _about(path)
    changes: list[str] = []
    name = storable(str(identity.get("name") or real.name), [])
    return RunDirectory(
        path=path,
        id=str(found) if is_known else f"et-{hashlib.sha256(first).hexdigest()[:_DIGEST_LENGTH]}",
        # File systems there are that give names back decomposed; the platform knows one form of each.
        project=unicodedata.normalize("NFC", str(identity.get("project") or real.parent.name)),
        name=_cut(name, NAME_LENGTH_MAX, changes, what="the run's name"),
        created=_time_of(first) if created is None else created,
        has_name=bool(identity.get("name")),
        note=_cut(_text(about.get("notes")), NOTE_LENGTH_MAX, changes, what="the run's note"),
        tags=_tags(about.get("tags"), changes),
        changes=tuple(changes),
    )


def _cut(text: str, length_max: int, changes: list[str], *, what: str) -> str:
    if len(text) <= length_max:
        return text
    changes.append(
        f"{what} is cut: it has {len(text)} characters, and there is room for {length_max}"
    )
    return f"{text[: length_max - 1]}…"


def _tags(found: object, changes: list[str]) -> tuple[str, ...]:
    tags: list[str] = []
    for tag in found if isinstance(found, list) else []:
        text = _text(tag)
        if (wrong := check_tag(text, "")) is None:
            tags.append(text)
        else:
            changes.append(f"the tag {cut(text, _TAG_SHOWN)!r} is left out: {wrong}")
    return tuple(tags)


def _about(path: Path) -> Row:
    """Return what was said about a run: by the first of its producers that said anything."""
    for key in stream_keys(path):
        about = read_document(RunFiles(path, key).about) or {}
        if about.get("notes") or about.get("tags"):
            return about
    return {}


def _text(value: object) -> str:
    return storable(value, []) if isinstance(value, str) else ""


def id_at(path: Path) -> str | None:
    """Return the id of the run at a path, or ``None`` where there is none any more."""
    try:
        with Enclosure(path).held():
            return run_directory(path).id
    except (OSError, RunNotFoundError):
        return None


def _first_line(path: Path) -> bytes:
    for key in stream_keys(path):
        with LineFile(RunFiles(path, key).metrics) as file:
            line = file.read(0, min(file.size, _LINE_BYTES_MAX)).partition(b"\n")[0]
        if line:
            return line
    raise RunNotFoundError(f"{path} has no row whole: there is nothing to push yet.")


def _time_of(line: bytes) -> float | None:
    return seconds_in((decode_line(line) or {}).get("_time"))
