"""Every point of one producer: what its file says, and what the platform shows of the same steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mapi.follow.instants import now_us
from mapi.follow.proof.differences import Difference
from mapi.follow.proof.windows import Column, readings_of, windows_of
from mapi.follow.rows import ROUNDED
from mapi.sdk.errors import NotFoundError
from mapi.series.name_map import name_from_series, with_writer, writer_from_labels
from mapi.series.names import canonical_labels
from mapi.wire.times import time_from_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from expr_tracker.history.source import Source
    from expr_tracker.store.files import StreamKey
    from expr_tracker.store.index import Attempt
    from mapi.follow.proof.differences import Differences, Kind
    from mapi.follow.proof.windows import Reading, SeriesKey, Window
    from mapi.sdk.points import Points
    from mapi.sdk.synchronous.runs import Runs
    from mapi.wire.metrics import SeriesSummary

__all__ = ["PointProof", "SeriesThere", "series_by_writer"]

#: A series of more is asked how many points a stretch has before they are read.
_POINTS_AT_ONCE: Final = 50_000
_BUCKETS: Final = 1_000


@dataclass(frozen=True)
class SeriesThere:
    """A series that the platform has."""

    labels: dict[str, str]
    count: int
    """Points of all attempts, about."""
    name: str
    """What the platform says that it was called."""


#: By the stream (empty: the default one) and the rank.
_ByWriter = dict[tuple[str, int], dict["SeriesKey", SeriesThere]]


def series_by_writer(summaries: Iterable[SeriesSummary]) -> _ByWriter:
    """Return the stepped series of a run by who wrote them."""
    found: _ByWriter = {}
    for one in summaries:
        writer = writer_from_labels(one.labels)
        if writer is None or one.is_scalar:
            continue
        rest = {
            name: value for name, value in one.labels.items() if name not in {"stream", "rank"}
        }
        series = one.key, canonical_labels(rest)
        found.setdefault(writer, {})[series] = SeriesThere(one.labels, one.count, one.name)
    return found


class PointProof:
    """Compares the points of one producer.

    Args:
        runs: of a client.
        run: the platform's run.
        key: the producer.
        there: its series on the platform.
        differences: takes in what is found.
    """

    def __init__(
        self,
        runs: Runs,
        run: str,
        *,
        key: StreamKey,
        there: dict[SeriesKey, SeriesThere],
        differences: Differences,
    ) -> None:
        self._runs = runs
        self._run = run
        self._key = key
        self._there = there
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
            self._compare_reading(source, reading, read)

    def compare_with_nothing(self) -> None:
        """Take in that there are no files of this producer."""
        for series in self._there:
            self._compare_series(series, Column(), None, start=0, stop=None)

    def _compare_reading(
        self, source: Source, reading: Reading, read: Callable[[int], object]
    ) -> None:
        # Where each series goes on: steps that the file has nothing of are asked for with the next that it has.
        since: dict[SeriesKey, int] = {}
        for window in windows_of(source, reading, now_us=now_us()):
            if reading.attempt is None:
                self._note(window)
            is_last = window.stop is None
            for series in {**window.columns, **(self._there if is_last else {})}:
                column = window.columns.get(series) or Column()
                self._compare_name(series, window.names.get(series))
                start = since.get(series, 0)
                self._compare_series(
                    series, column, reading.attempt, start=start, stop=window.stop
                )
                if window.stop is not None:
                    since[series] = window.stop
            read(window.size_bytes)

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

    def _compare_name(self, series: SeriesKey, name: str | None) -> None:
        """Compare a name that the labels have no room for, once."""
        there = self._there.get(series)
        if name is None or there is None or series in self._named:
            return
        self._named.add(series)
        self._differences.compare("name")
        if there.name != name:
            shown = name_from_series(*series)
            self._differences.add(
                Difference(
                    "name", "value", self._key.label, shown, files=name, platform=there.name
                )
            )

    def _compare_series(
        self,
        series: SeriesKey,
        column: Column,
        attempt: int | None,
        *,
        start: int,
        stop: int | None,
    ) -> None:
        at = _At(self._key.label, name_from_series(*series), attempt)
        there = self._there.get(series)
        if there is None and attempt is None:
            self._missing(at, dict(_places(column)), pruned_to=-1)
            return
        if there is None:
            # Of what newer attempts took back altogether, the platform lists no series, and has it.
            labels = with_writer(series[1], stream=self._key.stream or "", rank=self._key.rank)
            there = SeriesThere(dict(labels), 0, at.name)
        if there.count <= _POINTS_AT_ONCE:
            points = self._points(series[0], there, attempt, start=start, stop=stop)
            self._compare_points(at, column, points)
            return
        self._compare_by_parts(series[0], there, at, column=column, start=start, stop=stop)

    def _compare_by_parts(
        self,
        key: str,
        there: SeriesThere,
        at: _At,
        *,
        column: Column,
        start: int,
        stop: int | None,
    ) -> None:
        """Compare steps of which the platform may have very many, as many as fit memory at a time."""
        left = dict(_places(column))
        bounds = [start, *self._cuts(key, there, at.attempt, start=start, stop=stop)]
        for low, high in zip(bounds, [*bounds[1:], stop], strict=True):
            steps = [step for step in left if high is None or step < high]
            part = Column(steps)
            for step in steps:
                time_us, value = left.pop(step)
                part.times.append(time_us)
                part.values.append(value)
            points = self._points(key, there, at.attempt, start=low, stop=high)
            self._compare_points(at, part, points)

    def _cuts(
        self, key: str, there: SeriesThere, attempt: int | None, *, start: int, stop: int | None
    ) -> Iterator[int]:
        """Yield steps between which the platform has no more points than are read at once, about."""
        try:
            curve = self._runs.curve(
                self._run, key, labels=there.labels, buckets=_BUCKETS,
                start=start, stop=stop, attempt=attempt,
            )  # fmt: skip
        except NotFoundError:
            return
        count = 0
        for bucket in curve.buckets or ():
            if count and count + bucket.count > _POINTS_AT_ONCE and bucket.first_step is not None:
                yield bucket.first_step
                count = 0
            count += bucket.count

    def _points(
        self, key: str, there: SeriesThere, attempt: int | None, *, start: int, stop: int | None
    ) -> Points | None:
        try:
            return self._runs.points(
                self._run, key, labels=there.labels, start=start, stop=stop, attempt=attempt
            )
        except NotFoundError:  # the attempt has nothing of the series
            return None

    def _compare_points(self, at: _At, column: Column, points: Points | None) -> None:
        if points is None:
            self._missing(at, dict(_places(column)), pruned_to=-1)
            return
        if (
            column.steps == points.steps
            and column.times == points.times_us
            and column.values == points.values
        ):
            self._differences.compare("point", len(column.steps))
            return
        left = dict(_places(column))
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
        pruned = points.pruned
        self._missing(at, left, pruned_to=-1 if pruned is None else pruned.last_step)

    def _missing(
        self, at: _At, left: dict[int, tuple[int | None, float]], *, pruned_to: int
    ) -> None:
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
                at.name,
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
    name: str
    attempt: int | None


def _places(column: Column) -> Iterator[tuple[int, tuple[int | None, float]]]:
    return zip(column.steps, zip(column.times, column.values, strict=True), strict=True)


def _is_same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _time_text(time_us: int) -> str:
    return time_from_us(time_us).isoformat()


def _point_text(time_us: int | None, value: float) -> str:
    return repr(value) if time_us is None else f"{value!r} at {_time_text(time_us)}"
