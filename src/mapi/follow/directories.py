"""Which runs there are, and what each of them is called on the platform."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import RunNotFoundError
from expr_tracker.history.source import beginning_of
from expr_tracker.history.status import find_runs
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import RunFiles, stream_keys
from expr_tracker.store.paths import real_path
from expr_tracker.store.reader import LineFile
from mapi.series.names import NAME_LENGTH_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["RunDirectory", "find_directories", "run_directory"]

#: Enough of the first line to tell runs apart: it holds a time with microseconds.
_LINE_BYTES_MAX: Final = 1 << 16
_DIGEST_LENGTH: Final = 32


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


def find_directories(roots: Iterable[Path]) -> Iterator[Path]:
    """Yield the run directories at or below folders, each once.

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
        if is_empty:
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
    return RunDirectory(
        path=path,
        id=found if isinstance(found, str) and 0 < len(found) <= 500 else _id_of_lines(path),
        project=str(identity.get("project") or real.parent.name),
        name=str(identity.get("name") or real.name)[:NAME_LENGTH_MAX],
        created=beginning_of(identity),
    )


def _id_of_lines(path: Path) -> str:
    for key in stream_keys(path):
        with LineFile(RunFiles(path, key).metrics) as file:
            line = file.read(0, min(file.size, _LINE_BYTES_MAX)).partition(b"\n")[0]
        if line:
            return f"et-{hashlib.sha256(line).hexdigest()[:_DIGEST_LENGTH]}"
    raise RunNotFoundError(
        f"{path} has neither a run.json nor a row: there is nothing to push yet."
    )
