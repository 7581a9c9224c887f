"""What a metrics file says that the points are, a window of steps at a time.

A file may hold more points than memory, and its steps in any order. So its zone map is cut at steps such
that each window reads a few MiB; a block of lines that reaches into several windows is read for
each of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from mapi.follow.attempts import stretches_of
from mapi.follow.rows import has_odd_time, points_of_rows
from mapi.series.name_map import series_from_name
from mapi.series.names import Labels, canonical_labels
from mapi.wire.values import value_from_wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from expr_tracker.history.source import Source
    from expr_tracker.row import Row
    from expr_tracker.store.index import Attempt, Block
    from mapi.wire.metrics import SeriesColumns

__all__ = ["Column", "Reading", "SeriesKey", "Window", "readings_of", "windows_of"]

#: Of a file, in one window.
_WINDOW_BYTES: Final = 2 << 20

#: A series without what says who wrote.
SeriesKey: TypeAlias = tuple[str, Labels]


@dataclass
class Column:
    """The points of one series in a window, of each step one."""

    steps: list[int] = field(default_factory=list)
    times: list[int | None] = field(default_factory=list)
    """Microseconds since 1970 UTC; ``None``: the row has none that the platform takes."""
    values: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Window:
    """The points of some steps."""

    start: int
    """The first step."""
    stop: int | None
    """The step behind the last; ``None``: to the end."""
    columns: dict[SeriesKey, Column]
    names: dict[SeriesKey, str]
    """The full names of series whose labels have only the beginning of theirs."""
    negative: int
    """Points at steps below 0."""
    rounded: int
    """Whole numbers that no float is."""
    odd_rows: int
    """Rows whose time is none that the platform takes."""
    size_bytes: int
    """About as much of the file it stands for."""


@dataclass(frozen=True)
class _Shown:
    """Lines of one attempt that a reading shows."""

    start: int
    stop: int
    cut: int | None
    """Steps from here on are superseded."""


@dataclass(frozen=True)
class Reading:
    """One way to look at a stream."""

    attempt: int | None
    """The attempt alone; ``None``: what all of them show together."""
    shown: tuple[_Shown, ...]


def readings_of(attempts: Sequence[Attempt], size: int) -> list[Reading]:
    """Return the ways that see every point of a file: what is shown, and, of several, each attempt.

    Args:
        attempts: as the file tells of them.
        size: where its last whole line ends.
    """
    stretches = list(stretches_of(attempts, size))
    shown: list[_Shown] = []
    cut: int | None = None
    for stretch in reversed(stretches):
        shown.append(_Shown(stretch.start, stretch.stop, cut))
        begins = stretch.attempt.from_step
        if begins is not None:
            cut = begins if cut is None else min(cut, begins)
    readings = [Reading(None, tuple(reversed(shown)))]
    if len(stretches) > 1:
        readings += [
            Reading(one.attempt.number, (_Shown(one.start, one.stop, None),)) for one in stretches
        ]
    return readings


def windows_of(source: Source, reading: Reading, *, now_us: int) -> Iterator[Window]:
    """Yield the windows of a reading by their steps; together they are all steps from 0 on.

    Args:
        source: the opened file.
        reading: of its attempts.
        now_us: the present in microseconds since 1970 UTC.
    """
    first, last = reading.shown[0].start, reading.shown[-1].stop
    blocks = [
        block
        for block in source.index.blocks()
        if block.low <= block.high and block.start < last and block.stop > first
    ]
    bounds = _bounds(blocks)
    size = (last - first) // (len(bounds) - 1)
    for start, stop in pairwise(bounds):
        met = [
            block
            for block in blocks
            if (start is None or block.high >= start) and (stop is None or block.low < stop)
        ]
        window = Window(start or 0, stop, {}, {}, 0, 0, 0, size)
        for shown in reading.shown:
            rows = _rows(source, met, shown, start=start, stop=stop)
            if rows:
                window = _with_rows(window, rows, now_us=now_us)
        yield window


def _bounds(blocks: Sequence[Block]) -> list[int | None]:
    """Return the steps where windows begin, open at both ends."""
    bounds: list[int | None] = [None]
    size = 0
    last = 0
    for block in sorted(blocks, key=lambda one: one.low):
        if size >= _WINDOW_BYTES and block.low > last:
            bounds.append(block.low)
            last = block.low
            size = 0
        size += block.stop - block.start
    return [*bounds, None]


def _rows(
    source: Source,
    blocks: Sequence[Block],
    shown: _Shown,
    *,
    start: int | None,
    stop: int | None,
) -> list[Row]:
    """Return the rows of a window that a reading shows of one attempt, in file order."""
    low = -math.inf if start is None else start
    high = math.inf if stop is None else stop
    if shown.cut is not None:
        high = min(high, shown.cut)
    rows: list[Row] = []
    for block in blocks:
        begin, end = max(block.start, shown.start), min(block.stop, shown.stop)
        if begin >= end:
            continue
        for at, piece in source.pieces(begin, end):
            rows += [row for row in source.decode(at, piece) if low <= row["_step"] < high]
    return rows


def _with_rows(window: Window, rows: Sequence[Row], *, now_us: int) -> Window:
    """Return a window with the points of one more attempt, which replace those of older ones."""
    odd = {row["_step"] for row in rows if has_odd_time(row, now_us=now_us)}
    found = points_of_rows(rows, now_us=now_us)
    columns, names = dict(window.columns), dict(window.names)
    for one in found.series:
        assert one.times is not None
        series = _series_of(one)
        if one.name is not None:
            names[series] = one.name
        steps = [step for step in one.steps or () if step is not None]
        times: list[int | None] = [*one.times]
        if odd:
            times = [
                None if step in odd else time for step, time in zip(steps, times, strict=True)
            ]
        column = Column(steps, times, [value_from_wire(value) for value in one.values])
        older = columns.get(series)
        columns[series] = column if older is None else _replaced(older, column)
    return Window(
        window.start,
        window.stop,
        columns,
        names,
        window.negative + found.negative,
        window.rounded + found.rounded,
        window.odd_rows + len(odd),
        window.size_bytes,
    )


def _series_of(one: SeriesColumns) -> SeriesKey:
    if one.key is not None:
        return one.key, canonical_labels(one.labels)
    assert one.name is not None
    return series_from_name(one.name)


def _replaced(older: Column, newer: Column) -> Column:
    points = dict(zip(older.steps, zip(older.times, older.values, strict=True), strict=True))
    points |= zip(newer.steps, zip(newer.times, newer.values, strict=True), strict=True)
    return Column(
        [*points],
        [time_us for time_us, _ in points.values()],
        [value for _, value in points.values()],
    )
