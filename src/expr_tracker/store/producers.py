"""From what a user names (a run, a stream, a rank, a file) to the producers that are meant.

The one resolution, for metrics and for spans. It opens no data file. What is missing is answered
with what is there: the streams of the run and the nearest name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from expr_tracker.errors import QueryError, RunNotFoundError
from expr_tracker.store.files import RunFiles, StreamKey, parts_of, stream_keys
from expr_tracker.store.names import check_stream, stream_label
from expr_tracker.store.paths import path_given, real_path
from expr_tracker.texts import shown

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from expr_tracker.store.files import LineKind

__all__ = [
    "Producer",
    "RankChoice",
    "StreamChoice",
    "existing_run",
    "labels_listed",
    "producers_of",
]

#: ``None`` is the default producer, ``"*"`` all of them.
StreamChoice = str | Sequence[str | None] | None
#: ``None`` is the lowest rank of one stream and all ranks of several, ``"*"`` all of them.
RankChoice = int | Sequence[int] | AbstractSet[int] | Literal["*"] | None

#: Longer lists hide the message; a run with more streams is listed by ``et ls``.
_NAMES_SHOWN: Final = 12


@dataclass(frozen=True)
class Producer:
    """One line file and whose it is."""

    path: Path
    """The file of the kind that was asked for first, or one part of it."""
    key: StreamKey
    """Its stream and rank; the default producer for a file with a foreign name."""

    @property
    def files(self) -> RunFiles:
        """The other files of the same producer."""
        return RunFiles(self.path.parent, self.key)


def producers_of(
    run: str | os.PathLike[str],
    stream: Any = None,
    rank: Any = None,
    *,
    kinds: tuple[LineKind, ...] = ("metrics",),
) -> list[Producer]:
    """Return the producers that a question means; at least one.

    Args:
        run: the run's directory, a line file or a part of one.
        stream: ``None`` (default producer), a name, ``"*"`` for all, or a list of names.
        rank: a rank, a list of them, ``"*"`` for all; ``None`` is the lowest rank of a single
            stream and every rank of several.
        kinds: a producer has a file of one of these kinds; `Producer.path` is that of the first.

    Raises:
        RunNotFoundError: no such path, stream or rank; the message lists what there is.
        QueryError: a rank that is no whole number.
    """
    path = existing_run(run)
    if path.is_file() or path.name.endswith(".jsonl"):
        return [Producer(path, StreamKey.from_file(path.name, kinds[0]) or StreamKey())]
    available = stream_keys(path, *kinds)
    if not available:
        raise RunNotFoundError(f"{path} holds no {kinds[0]} file.{_instead(path, kinds[0])}")
    names = _stream_names(stream, available)
    several = not (stream is None or (isinstance(stream, str) and stream != "*"))
    ranks = _rank_numbers(rank)
    found: list[StreamKey] = []
    for name in names:
        keys = [key for key in available if key.stream == name]
        if not keys:
            raise RunNotFoundError(_no_stream(path, name, available, kind=kinds[0]))
        if ranks is not None:
            of_rank = [key for key in keys if key.rank in ranks]
            if not of_rank and not several:
                raise RunNotFoundError(_no_rank(path, keys, rank, kind=kinds[0]))
            keys = of_rank
        elif not several and rank is None:
            keys = keys[:1]
        found += keys
    if not found:
        what = _of_kind(kinds[0], f"rank {shown(rank)}")
        raise RunNotFoundError(f"{path} has no {what}. It has: {labels_listed(available)}.")
    return [Producer(RunFiles(path, key).lines_of(kinds[0]), key) for key in found]


def existing_run(run: object) -> Path:
    """Return the path that ``run`` names.

    Raises:
        RunNotFoundError: nothing is there; the message offers the nearest.
        QueryError: it is no path.
    """
    path = path_given(run, "run", QueryError, expected="the path of a run")
    if path.is_dir() or path.is_file() or parts_of(path).is_dir():
        return path
    if path.exists():
        raise RunNotFoundError(
            f"{path} is neither a folder nor a file. Pass a run's directory, or one of its files."
        )
    if path.is_symlink():
        raise RunNotFoundError(
            f"There is no run at {path}: it is a link to {path.readlink()}, which leads nowhere."
        )
    raise RunNotFoundError(f"There is no run at {path}.{_near(path)}")


def _stream_names(stream: Any, available: list[StreamKey]) -> list[str | None]:
    if stream is None:
        return [None]
    if isinstance(stream, str):
        if stream == "*":
            return list(dict.fromkeys(key.stream for key in available))
        return [check_stream(stream)]
    if isinstance(stream, Iterable):
        names = list(dict.fromkeys(check_stream(name) for name in stream))
        if names:
            return names
    raise QueryError(
        f"stream={shown(stream)}: expected a name, None for the default producer, a list of them, or "
        "'*' for all."
    )


def _rank_numbers(rank: Any) -> frozenset[int] | None:
    if rank is None or (isinstance(rank, str) and rank == "*"):
        return None
    ranks = rank if isinstance(rank, (list, tuple, set, frozenset, range)) else (rank,)
    if not ranks or any(type(number) is not int or number < 0 for number in ranks):
        raise QueryError(
            f"rank={shown(rank)}: expected a whole number from 0, a list of them, or '*'."
        )
    return frozenset(ranks)


def labels_listed(available: list[StreamKey]) -> str:
    """Return the first of some producers by the names that people give them, and how many more."""
    labels = [key.label for key in available[:_NAMES_SHOWN]]
    more = len(available) - len(labels)
    return ", ".join(labels) + (f" and {more} more" if more > 0 else "")


def _no_stream(path: Path, name: str | None, available: list[StreamKey], *, kind: LineKind) -> str:
    known = [key.stream for key in available if key.stream is not None]
    near = difflib.get_close_matches(stream_label(name), known, n=1)
    hint = f" Did you mean stream={near[0]!r}?" if near else ""
    return (
        f"{path} has no {_of_kind(kind, _shown(name))}.{hint} It has: {labels_listed(available)}."
    )


def _no_rank(path: Path, keys: list[StreamKey], rank: Any, *, kind: LineKind) -> str:
    ranks = ", ".join(str(key.rank) for key in keys)
    what = _of_kind(kind, f"rank {shown(rank)} of the {_shown(keys[0].stream)}")
    return f"{path} has no {what}. It has rank {ranks}."


def _shown(name: str | None) -> str:
    return "default producer" if name is None else f"stream {name!r}"


def _of_kind(kind: LineKind, what: str) -> str:
    """Return how a message calls a producer's part: without a word more, metrics are meant."""
    return what if kind == "metrics" else f"{kind} of {what}"


def _near(path: Path) -> str:
    """Say which of the neighbours was probably meant, or how far the path exists."""
    parent = path.parent
    while not parent.is_dir() and parent != parent.parent:
        path, parent = parent, parent.parent
    entries = [entry for entry in parent.iterdir() if not entry.name.startswith(".")]
    near = difflib.get_close_matches(path.name, [entry.name for entry in entries], n=1)
    if near:
        return f" Did you mean {parent / near[0]}?"
    keys = stream_keys(parent, "metrics", "spans")
    if keys:
        return f" {parent} is a run with the streams: {labels_listed(keys)}."
    folders = sorted(entry.name for entry in entries if entry.is_dir())
    if not folders:
        return f" There is no {path.name!r} in {_whole_path(parent)}."
    more = f" and {len(folders) - _NAMES_SHOWN} more" if len(folders) > _NAMES_SHOWN else ""
    return f" The folders of {_whole_path(parent)} are: {', '.join(folders[:_NAMES_SHOWN])}{more}."


def _whole_path(folder: Path) -> str:
    try:
        return str(real_path(folder))
    except FileNotFoundError:
        return "the working directory, which was removed"


def _instead(path: Path, kind: LineKind) -> str:
    """Say what a folder without files of the kind holds."""
    metrics = stream_keys(path, "metrics")
    if kind == "spans" and metrics:
        return (
            f" It has metrics of {labels_listed(metrics)}, but no span was recorded (init(spans=False), "
            "or no et.span in the program)."
        )
    return _runs_below(path, kind)


def _runs_below(path: Path, kind: LineKind) -> str:
    """Name the run directories below a folder that was taken for one."""
    for pattern in ("*", "*/*"):
        below = sorted(p for p in path.glob(pattern) if p.is_dir() and stream_keys(p, kind))
        if below:
            names = ", ".join(str(run.relative_to(path)) for run in below[:_NAMES_SHOWN])
            return f" Runs below it: {names}."
    return ""
