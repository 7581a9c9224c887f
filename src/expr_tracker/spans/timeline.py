"""Where the time went: per stream, the seconds in its root spans and in every path below them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.notices import OTHERS
from expr_tracker.spans.records import RankChoice, Selection, StreamChoice, sources_of
from expr_tracker.store.names import DEFAULT_LABEL

if TYPE_CHECKING:
    import os

    from expr_tracker.ranges import StepRange, TimeRange
    from expr_tracker.spans.records import SpanRecord

__all__ = ["PathTime", "StreamTime", "summarize"]

#: ``producers-3`` and ``producers_3`` are two of the ``producers``; so is ``producers3``.
_NUMBERED: Final = re.compile(r"(?P<prefix>.*?[A-Za-z])[-_]?\d+")
#: Span paths may hold what users make up; beyond this many they are summed as one.
_PATHS_MAX: Final = 10_000
_OTHER_PATHS: Final = OTHERS


@dataclass(frozen=True, slots=True)
class PathTime:
    """The spans of one path."""

    path: str
    depth: int
    """How many spans are around it, at least: 0 is a root span."""
    seconds: float
    """Their durations, added up."""
    share: float
    """``seconds`` over the seconds of all root spans, from 0 to 1."""
    count: int
    mean_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class StreamTime:
    """The spans of one stream and rank, or of a group of them."""

    label: str
    """``default``, ``data``, ``data rank 1``; of a group, the name without its number."""
    members: tuple[str, ...]
    """The labels of the streams in it."""
    seconds: float
    """The durations of the root spans, added up over the members."""
    paths: tuple[PathTime, ...]
    """Every path, biggest first."""


class _Sum:
    """The spans of one path."""

    __slots__ = ("count", "depth", "duration_ns", "longest_ns")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.count = self.duration_ns = self.longest_ns = 0

    def add(self, duration_ns: int, depth: int) -> None:
        self.count += 1
        self.duration_ns += duration_ns
        self.longest_ns = max(self.longest_ns, duration_ns)
        self.depth = min(self.depth, depth)


class _StreamSum:
    """The spans of one stream and rank, or of a group of them."""

    __slots__ = ("paths", "root_ns")

    def __init__(self) -> None:
        self.paths: dict[str, _Sum] = {}
        #: Beside the paths: spans of one path may be root spans and not, as ``eval/loss`` is both
        #: the name of one span and the path of ``loss`` within ``eval``.
        self.root_ns = 0

    def add(self, record: SpanRecord) -> None:
        depth = record.depth if record.depth is not None else record.path.count("/")
        path = record.path
        if path not in self.paths and len(self.paths) >= _PATHS_MAX:
            path = _OTHER_PATHS
        if path not in self.paths:
            self.paths[path] = _Sum(depth)
        self.paths[path].add(record.duration_ns, depth)
        if depth == 0:
            self.root_ns += record.duration_ns


def summarize(
    run: str | os.PathLike[str],
    stream: StreamChoice = "*",
    *,
    step_range: StepRange = None,
    time_range: TimeRange = None,
    rank: RankChoice = None,
    group: bool = False,
) -> list[StreamTime]:
    """Return the time by span path, per stream and rank.

    Args:
        run: a run directory, or one span file.
        stream: ``"*"`` for all, ``None`` for the default producer, a name, or several of them.
        step_range: spans of these steps, ``(start, stop)``, half-open.
        time_range: spans that overlap these epoch seconds, half-open; they count whole.
        rank: only this rank, or these; ``None`` and ``"*"`` are all.
        group: put streams together whose names differ in the number at the end only.

    Raises:
        RunNotFoundError: no such run, stream or rank.
        QueryError: a range that is none.
    """
    selection = Selection.asked(step_range, time_range)
    sums: dict[str, _StreamSum] = {}
    members: dict[str, list[str]] = {}
    for source in sources_of(run, stream, rank=rank):
        label = _group_of(source.key.stream) if group else source.label
        members.setdefault(label, []).append(source.label)
        total = sums.setdefault(label, _StreamSum())
        for record in source.records(selection):
            total.add(record)
    return [_stream_time(label, members[label], total) for label, total in sums.items()]


def _group_of(stream: str | None) -> str:
    if stream is None:
        return DEFAULT_LABEL
    match = _NUMBERED.fullmatch(stream)
    return match["prefix"] if match else stream


def _stream_time(label: str, members: list[str], stream: _StreamSum) -> StreamTime:
    root_ns = stream.root_ns
    times = [
        PathTime(
            path=path,
            depth=total.depth,
            seconds=total.duration_ns / 1e9,
            share=total.duration_ns / root_ns if root_ns else 0.0,
            count=total.count,
            mean_ms=total.duration_ns / total.count / 1e6,
            max_ms=total.longest_ns / 1e6,
        )
        for path, total in stream.paths.items()
    ]
    times.sort(key=lambda time: (-time.seconds, time.path))
    return StreamTime(label, tuple(members), root_ns / 1e9, tuple(times))
