"""Which file of a run the lines of a rescue file are of; a wrong file or run is refused by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import QueryError, RescueError
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import RunFiles, StreamKey, parts_of, stream_keys
from expr_tracker.store.names import check_stream, stream_named
from expr_tracker.store.producers import existing_run, labels_listed
from expr_tracker.texts import shown

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from expr_tracker.store.files import LineKind
    from expr_tracker.store.rescue_file import RescueFile

__all__ = ["Target", "target_of"]

#: What a message calls the lines of a file.
_LINES_OF: Final[dict[LineKind, str]] = {
    "metrics": "rows",
    "spans": "spans",
    "console": "lines of the console",
}


@dataclass(frozen=True)
class Target:
    """The file that rescued lines belong in."""

    files: RunFiles
    kind: LineKind

    @property
    def path(self) -> Path:
        """The line file."""
        return self.files.lines_of(self.kind)


def target_of(
    rescued: RescueFile,
    run: str | os.PathLike[str],
    *,
    stream: str | None,
    rank: int | None,
) -> Target:
    """Return the file of ``run`` that rescued lines are of.

    Args:
        rescued: the rescue file.
        run: the run's directory, or the very file.
        stream: the stream's name; ``None`` where the rescue file tells.
        rank: the rank; ``None`` where the rescue file tells, else 0.

    Raises:
        RunNotFoundError: there is no such run.
        QueryError: the run is no path, or the rank no whole number from 0.
        NameRefusedError: the stream's name cannot be one.
        RescueError: it is no rescue file, or one of another run, stream or rank.
    """
    if rank is not None and (type(rank) is not int or rank < 0):
        raise QueryError(f"rank={shown(rank)}: expected a whole number from 0.")
    kind = rescued.kind
    if kind is None or not rescued.lines:
        raise RescueError(
            f"{rescued.path} is no rescue file: it has no whole row, span or line of the console. "
            "The closing message of a run names its rescue files (expr-tracker-...jsonl)."
        )
    path = existing_run(run)
    directory = path if path.is_dir() else path.parent
    key = _key_of(rescued, directory, kind, stream=stream, rank=rank)
    target = Target(RunFiles(directory, key), kind)
    if directory != path and path.name != target.path.name:
        raise RescueError(
            f"{rescued.path} holds {_LINES_OF[kind]} of {target.path.name}, not of {path.name}. "
            "Pass the run's directory."
        )
    _check_run(rescued, target)
    return target


def _key_of(
    rescued: RescueFile, directory: Path, kind: LineKind, *, stream: str | None, rank: int | None
) -> StreamKey:
    """Return the producer that is said by the rescue file, by the caller, or by there being one."""
    told = rescued.key
    if told is not None:
        wanted = StreamKey(
            told.stream if stream is None else check_stream(stream_named(stream)),
            told.rank if rank is None else rank,
        )
        if wanted != told:
            raise RescueError(
                f"{rescued.path} holds {_LINES_OF[kind]} of {told.label!r}, not of "
                f"{wanted.label!r}. Leave --stream and --rank out."
            )
        return told
    known = stream_keys(directory, kind)
    listed = labels_listed(known) or "none"
    if stream is None and rank is None and len(known) == 1:
        return known[0]
    if stream is None:
        raise RescueError(
            f"{rescued.path} does not say which stream its {_LINES_OF[kind]} are of. Say it with "
            f"--stream, and --rank if it is not 0. {directory} has {_LINES_OF[kind]} of: {listed}."
        )
    key = StreamKey(check_stream(stream_named(stream)), rank or 0)
    if key not in known:
        raise RescueError(
            f"{directory} has no {_LINES_OF[kind]} of {key.label!r}. It has some of: {listed}."
        )
    return key


def _check_run(rescued: RescueFile, target: Target) -> None:
    """Refuse a folder that is no run, and another run than the one that the lines were of.

    A run that was moved or copied keeps its id, and only where both runs can be looked at do their ids
    tell that they differ.
    """
    directory = target.files.directory
    ours = (read_document(target.files.identity) or {}).get("id")
    has_file = target.path.exists() or parts_of(target.path).is_dir()
    if ours is None and not has_file:
        raise RescueError(
            f"{directory} is no run of these {_LINES_OF[target.kind]}: it has neither run.json nor "
            f"{target.path.name}. Pass the run's directory."
        )
    if rescued.origin is None:
        return
    home = RunFiles(rescued.origin.parent)
    theirs = (read_document(home.identity) or {}).get("id")
    if theirs is not None and ours is not None and theirs != ours:
        raise RescueError(
            f"{rescued.path} holds {_LINES_OF[target.kind]} of {home.directory}, which is another "
            f"run than {directory}."
        )
