"""Every point of one producer: what its file says, and what the platform shows of the same steps.

One question is about all series: the platform's come one after the other, each in pieces of the order
of its steps, and whatever is left of the files' then is missing there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from mapi.follow.instants import now_us
from mapi.follow.proof.differences import Difference
from mapi.follow.proof.windows import Column, readings_of, windows_of
from mapi.follow.rows import ROUNDED
from mapi.series.name_map import name_from_series, without_writer, writer_from_labels
from mapi.wire.metrics import RANK_MAX, STREAM_LENGTH_MAX
from mapi.wire.times import time_from_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from expr_tracker.history.source import Source
    from expr_tracker.store.files import StreamKey
    from expr_tracker.store.index import Attempt
    from mapi.follow.proof.differences import Differences, Kind
    from mapi.follow.proof.windows import SeriesKey, Window
    from mapi.sdk.points import Points
    from mapi.sdk.synchronous.runs import Runs
    from mapi.wire.metrics import SeriesSummary

__all__ = ["PointProof", "SeriesNames", "names_by_writer"]

#: What the platform says that each series was called.
SeriesNames: TypeAlias = dict["SeriesKey", str]
#: Points that were not met yet, by their steps: time in microseconds since 1970 UTC, value.
_Places: TypeAlias = dict[int, tuple[int | None, float]]


def names_by_writer(
    summaries: Iterable[SeriesSummary],
) -> dict[tuple[str, int], SeriesNames]:
    """Return the names of a run's stepped series by the stream (empty: the default one) and rank that wrote."""
    found: dict[tuple[str, int], SeriesNames] = {}
    for one in summaries:
        writer = writer_from_labels(one.labels)
        if writer is None or one.is_scalar:
            continue
        found.setdefault(writer, {})[one.key, without_writer(one.labels)] = one.name
    return found


#: Of a series that only the platform has.
_NOTHING: Final = Column()


class PointProof:
    """Compares the points of one producer.

    Args:
        runs: of a client.
        run: the platform's run.
        key: the producer.
        names: of its series on the platform.
        differences: takes in what is found.
    """

    def __init__(
        self,
        runs: Runs,
        run: str,
        *,
        key: StreamKey,
        names: SeriesNames,
        differences: Differences,
    ) -> None:
        self._runs = runs
        self._run = run
        self._key = key
        self._names = names
        self._differences = differences
        self._named: set[SeriesKey] = set()

    def compare(
        self, source: Source, attempts: Sequence[Attempt], read: Callable[[int], object]
    ) -> None:
        """Compare all points of a file with those of the platform.

        Args:
            source: the opened file.
            attempts: as the file tells of them.
            read: hears of about how many bytes are done.
        """
        for reading in readings_of(attempts, source.size):
            for window in windows_of(source, reading, now_us=now_us()):
                if reading.attempt is None:
                    self._note(window)
                for series, name in window.names.items():
                    self._compare_name(series, name)
                self._compare_steps(
                    window.columns, reading.attempt, start=window.start, stop=window.stop
                )
                read(window.size_bytes)

    def compare_with_nothing(self) -> None:
        """Take in that there are no files of this producer."""
        self._compare_steps({}, None, start=0, stop=None)

    def _note(self, window: Window) -> None:
        note = self._differences.note
        note(
            "point", "at a step below 0 in the files: the platform has no such steps",
            count=window.negative,
        )  # fmt: skip
        note("value", ROUNDED, count=window.rounded)
        note(
            "step", "with a time that the platform does not take: times are not compared there",
            count=window.odd_rows,
        )  # fmt: skip

    def _compare_name(self, series: SeriesKey, name: str) -> None:
        """Compare a name that the labels have no room for, once."""
        there = self._names.get(series)
        if there is None or series in self._named:
            return
        self._named.add(series)
        self._differences.compare("name")
        if there != name:
            shown = name_from_series(*series)
            self._differences.add(
                Difference("name", "value", self._key.label, shown, files=name, platform=there)
            )

    def _compare_steps(
        self,
        columns: Mapping[SeriesKey, Column],
        attempt: int | None,
        *,
        start: int,
        stop: int | None,
    ) -> None:
        """Compare a stretch of steps of all series, those too that only the platform has there."""
        # Of series that the platform has: what it was not met with yet.
        left: dict[SeriesKey, _Places] = {}
        pruned_to: dict[SeriesKey, int] = {}
        for points in self._there(attempt, start=start, stop=stop):
            series = points.key, without_writer(points.labels)
            if series not in left:
                mine = columns.get(series, _NOTHING)
                if _are_same(mine, points):
                    self._differences.compare("point", len(points))
                    left[series] = {}
                    continue
                left[series] = dict(_places(mine))
            at = _At(self._key.label, series, attempt)
            self._compare_points(at, left[series], points)
            if points.pruned is not None:
                pruned_to[series] = points.pruned.last_step
        for series in {**columns, **left}:
            missing = left[series] if series in left else dict(_places(columns[series]))
            if missing:
                at = _At(self._key.label, series, attempt)
                self._missing(at, missing, pruned_to=pruned_to.get(series, -1))

    def _there(self, attempt: int | None, *, start: int, stop: int | None) -> Iterator[Points]:
        """Yield what the platform has of a stretch; it has no place for any stream and rank."""
        stream, rank = self._key.stream or "", self._key.rank
        if rank > RANK_MAX or len(stream) > STREAM_LENGTH_MAX:
            return
        yield from self._runs.columns(
            self._run, stream=stream, rank=rank, start=start, stop=stop, attempt=attempt
        )

    def _compare_points(self, at: _At, left: _Places, points: Points) -> None:
        """Compare points of the platform with what is left of the files', and take out what was met."""
        for step, time_us, value in zip(points.steps, points.times_us, points.values, strict=True):
            if step is None:
                continue
            self._differences.compare("point")
            mine = left.pop(step, None)
            if mine is None:
                self._add(at, "extra", step, platform=_point_text(time_us, value))
            elif not _is_same(mine[1], value):
                self._add(at, "value", step, files=repr(mine[1]), platform=repr(value))
            elif (
                mine[0] is not None
                and mine[0] != time_us
                and not self._differences.is_moved("point", mine[0], time_us)
            ):
                self._add(
                    at, "time", step, files=_time_text(mine[0]), platform=_time_text(time_us)
                )

    def _missing(self, at: _At, left: _Places, *, pruned_to: int) -> None:
        self._differences.compare("point", len(left))
        for step, (time_us, value) in sorted(left.items()):
            kind: Kind = "pruned" if step <= pruned_to else "missing"
            self._add(at, kind, step, files=_point_text(time_us, value))

    def _add(
        self,
        at: _At,
        kind: Kind,
        step: int,
        *,
        files: str | None = None,
        platform: str | None = None,
    ) -> None:
        self._differences.add(
            Difference(
                "point",
                kind,
                at.producer,
                name_from_series(*at.series),
                step,
                at.attempt,
                files=files,
                platform=platform,
            )
        )


@dataclass(frozen=True)
class _At:
    """Whose points are compared."""

    producer: str
    series: SeriesKey
    attempt: int | None


def _are_same(column: Column, points: Points) -> bool:
    """Say whether a column is the same point for point; where a value is NaN, that is not told."""
    return (
        column.steps == points.steps
        and column.times == points.times_us
        and column.values == points.values
    )


def _places(column: Column) -> Iterator[tuple[int, tuple[int | None, float]]]:
    return zip(column.steps, zip(column.times, column.values, strict=True), strict=True)


def _is_same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _time_text(time_us: int) -> str:
    return time_from_us(time_us).isoformat()


def _point_text(time_us: int | None, value: float) -> str:
    return repr(value) if time_us is None else f"{value!r} at {_time_text(time_us)}"
