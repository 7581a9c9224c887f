"""Decoded lines of a metrics file → points of series and lines of the log: pure.

A value that is a number becomes a point of the series that its name stands for. All values of a row
that are none, nor media, become fields of one line of the log. Of a step that stands twice among the given rows
the later number stays; an equal one leaves the earlier as it is. That is what the platform makes of
two batches with a correction between them, so where a batch ends changes nothing.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.row import RESERVED_NAMES
from mapi.follow.instants import is_taken, time_us_of
from mapi.follow.texts import name_to_keep
from mapi.series.name_map import series_from_name
from mapi.wire.metrics import SeriesColumns
from mapi.wire.times import TIME_AHEAD_US_MAX, TIME_US_MIN
from mapi.wire.values import values_to_wire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from expr_tracker.row import Row

__all__ = [
    "ROUNDED",
    "Points",
    "TextRow",
    "has_odd_time",
    "is_media",
    "is_point",
    "is_rounded",
    "points_of_rows",
]

#: What reports say of numbers that are no float.
ROUNDED: Final = (
    "rounded: the platform keeps numbers as floats, which hold whole ones up to 2^53 to the digit"
)

#: Up to here every whole number is a float.
_EXACT_INTEGERS: Final = 2**53
#: From here on an integer rounds to no float.
_BEYOND_FLOAT: Final = 2**1024 - 2**970
_MEDIA_KINDS: Final = frozenset({"image", "figure", "table"})
_MEDIA_ENDINGS: Final = (".png", ".jpg", ".jpeg", ".table.json")


@dataclass(frozen=True)
class TextRow:
    """The values of one row that are no numbers."""

    step: int
    time_us: int
    has_time: bool
    """Whether the time is the row's: the platform would not take its own."""
    values: dict[str, Any]


@dataclass
class Points:
    """What rows hold."""

    series: list[SeriesColumns] = field(default_factory=list)
    count: int = 0
    negative: int = 0
    """Points at a step below zero, which the platform has none for."""
    rounded: int = 0
    """Whole numbers that no float is: they are the nearest one."""
    moved_times: int = 0
    """Rows whose time the platform does not take: they have one that it does."""
    texts: list[TextRow] = field(default_factory=list)
    """Of the rows that hold something beside numbers, in file order."""


def points_of_rows(rows: Sequence[Row], *, now_us: int) -> Points:
    """Return the points of rows of one attempt, which stay as they are.

    Args:
        rows: in file order, each with a ``_step``.
        now_us: the present in microseconds since 1970 UTC; a row without a time that can be read has
            that of the row before, the first one this.
    """
    found = Points()
    steps = [row["_step"] for row in rows]
    times = _times(rows, now_us, found)
    # Places of rows that hold something else.
    others: set[int] = set()
    if (steps and steps[0] < 0) or not _is_ascending(steps):
        columns = _merged(rows, steps, times, found=found, others=others)
    else:
        columns = _gathered(rows, steps, times, found=found, others=others)
    found.texts = [
        TextRow(steps[at], times[at], not has_odd_time(rows[at], now_us=now_us), found_there)
        for at in sorted(others)
        if (found_there := _others_of(rows[at]))
    ]
    for name, (of_steps, of_times, values) in columns.items():
        found.series.append(
            SeriesColumns(
                **_identity(name),
                steps=of_steps,
                times=of_times,
                values=values_to_wire(values),
            )
        )
        found.count += len(values)
    return found


def _identity(name: str) -> dict[str, Any]:
    """Return how a series is sent: by key and labels, but by the name that these have no room for."""
    key, labels = series_from_name(name)
    kept = name_to_keep(name, labels)
    return {"key": key, "labels": dict(labels)} if kept is None else {"name": kept}


_Column = tuple[list[int | None], list[int], list[float]]


def _is_ascending(steps: Sequence[int]) -> bool:
    return all(map(operator.lt, steps, islice(steps, 1, None)))


def _times(rows: Sequence[Row], now_us: int, found: Points) -> list[int]:
    """Return the time of each row in microseconds, as the platform takes them."""
    times = []
    latest = now_us + TIME_AHEAD_US_MAX
    before = now_us
    for row in rows:
        time_us = time_us_of(row.get("_time"))
        if time_us is None:
            time_us = before
        if not TIME_US_MIN <= time_us <= latest:
            found.moved_times += 1
            time_us = TIME_US_MIN if time_us < TIME_US_MIN else now_us
        before = time_us
        times.append(time_us)
    return times


def _others_of(row: Row) -> dict[str, Any]:
    # A step below 0 has no place for media: there a reference stays what can be read.
    has_media = row["_step"] >= 0
    return {
        name: value
        for name, value in row.items()
        if name not in RESERVED_NAMES
        and not is_point(value)
        and not (has_media and is_media(value))
    }


def _gathered(
    rows: Sequence[Row],
    steps: Sequence[int],
    times: Sequence[int],
    *,
    found: Points,
    others: set[int],
) -> dict[str, _Column]:
    """Return the columns of rows whose steps ascend: rows of the same names are taken together."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, row in enumerate(rows):
        groups.setdefault(tuple(row), []).append(at)
    columns: dict[str, _Column] = {}
    for names, places in groups.items():
        of_rows = [rows[at] for at in places]
        of_steps = [steps[at] for at in places]
        of_times = [times[at] for at in places]
        for name in names:
            if name in RESERVED_NAMES:
                continue
            values = [row[name] for row in of_rows]
            kinds = set(map(type, values))
            column = columns.setdefault(name, ([], [], []))
            if kinds == {float}:
                taken = list(range(len(values)))
            else:
                taken = [at for at, value in enumerate(values) if is_point(value)]
            if int in kinds:
                found.rounded += _rounded(values, is_whole=kinds == {int})
            if len(taken) == len(values):
                column[0].extend(of_steps)
                column[1].extend(of_times)
                column[2].extend(values if kinds == {float} else map(float, values))
            else:
                column[0].extend(of_steps[at] for at in taken)
                column[1].extend(of_times[at] for at in taken)
                column[2].extend(float(values[at]) for at in taken)
                others.update({*places} - {places[at] for at in taken})
    return {name: column for name, column in columns.items() if column[0]}


def _merged(
    rows: Sequence[Row],
    steps: Sequence[int],
    times: Sequence[int],
    *,
    found: Points,
    others: set[int],
) -> dict[str, _Column]:
    """Return the columns of rows in any order: of a step the later number stays."""
    places: dict[str, dict[int, tuple[int, float]]] = {}
    for at, (row, step, time_us) in enumerate(zip(rows, steps, times, strict=True)):
        for name, value in row.items():
            if name in RESERVED_NAMES:
                continue
            if not is_point(value):
                others.add(at)
                continue
            if step < 0:
                found.negative += 1
                continue
            column = places.setdefault(name, {})
            before = column.get(step)
            number = float(value)
            found.rounded += is_rounded(value)
            if before is None or not _is_same(before[1], number):
                column[step] = time_us, number
    return {
        name: (
            [*column],
            [time_us for time_us, _ in column.values()],
            [value for _, value in column.values()],
        )
        for name, column in places.items()
    }


def _is_same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def is_point(value: object) -> bool:
    """Say whether a value of a row is a number that a point can hold; true and false are none."""
    kind = type(value)
    if kind is float:
        return True
    return kind is int and -_BEYOND_FLOAT < value < _BEYOND_FLOAT  # type: ignore[operator]


def _rounded(values: Sequence[Any], *, is_whole: bool) -> int:
    """Return how many of the values are whole numbers that no float is."""
    if is_whole and min(values) >= -_EXACT_INTEGERS and max(values) <= _EXACT_INTEGERS:
        return 0
    return sum(map(is_rounded, values))


def is_rounded(value: object) -> bool:
    """Say whether a value is a whole number that is another one as a point."""
    if type(value) is not int or -_EXACT_INTEGERS <= value <= _EXACT_INTEGERS:
        return False
    return is_point(value) and int(float(value)) != value


def has_odd_time(row: Row, *, now_us: int) -> bool:
    """Say whether a row has no time, or one that the platform does not take: it has another one there."""
    time_us = time_us_of(row.get("_time"))
    return time_us is None or not is_taken(time_us, now_us=now_us)


def is_media(value: object) -> bool:
    """Say whether a value of a row is an image, a figure or a table of a kind that the platform keeps."""
    return (
        isinstance(value, dict)
        and value.get("_type") in _MEDIA_KINDS
        and isinstance(value.get("sha256"), str)
        and isinstance(path := value.get("path"), str)
        and path.endswith(_MEDIA_ENDINGS)
    )
