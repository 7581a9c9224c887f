"""Curves over something else than steps: wall time, run time, or another series joined by step.

A point has a place on the axis where the axis has a finite value at its step. Points without one are
counted, not hidden: a caller that draws over another metric can say what it could not draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from mapi.database.arrays import reading_arrays
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError
from mapi.tracking.batch import step_from_stored
from mapi.tracking.buckets import SUMMED_MAX, mean_of
from mapi.tracking.curves import (
    CurvePart,
    Stored,
    Stretch,
    count_points,
    find_parts,
    parts_arrays,
)
from mapi.wire.metrics import Bucket
from mapi.wire.times import time_to_us
from mapi.wire.values import value_to_wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.batch import Series

__all__ = [
    "RUN_TIME",
    "TIME",
    "Axis",
    "AxisBuckets",
    "AxisCurve",
    "find_axis",
    "read_axis_buckets",
    "read_axis_points",
]

#: The words for the axes that are no series; a key of a metric cannot be one of them in a query
#: that spells series as the search language does, ``metrics.time``.
TIME: Final = "time"
RUN_TIME: Final = "run_time"
#: Such a curve is sorted by its axis in memory, once a request: about 24 bytes a point.
_POINTS_MAX: Final = 1_000_000
#: Points of one row of columns: a megabyte or two of each.
_BLOCK: Final = 100_000
#: Times are whole microseconds; beyond that a float of seconds has noise.
_SECOND_DIGITS: Final = 6


_Ints: TypeAlias = npt.NDArray[np.int64]
_Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Axis:
    """What a curve is drawn over."""

    kind: str
    """``time``, ``run_time`` or ``metric``."""
    started: datetime
    """Where run time begins."""
    parts: tuple[CurvePart, ...] = ()
    """Of the other series."""

    @property
    def is_time(self) -> bool:
        """Whether it is in seconds."""
        return self.kind != "metric"


@dataclass(frozen=True, slots=True)
class AxisCurve:
    """Some steps of a curve over an axis."""

    parts: tuple[CurvePart, ...]
    axis: Axis
    stretch: Stretch


@dataclass(frozen=True, slots=True)
class AxisBuckets:
    """A curve in buckets of equal width on an axis."""

    points_total: int
    placed: int
    """Of them, those that have a place."""
    buckets: list[Bucket]


async def find_axis(
    connection: Connection, run_id: UUID, wanted: str | Series, *, attempt: int | None = None
) -> Axis:
    """Return the axis of a request.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        wanted: `TIME`, `RUN_TIME` or a series of the run.
        attempt: read the other series from this attempt only.

    Raises:
        NotFoundError: the run has no such series.
    """
    cursor = await connection.execute(query("curves.run_started"), {"run": run_id})
    (started,) = await cursor.fetchone() or (None,)
    assert started is not None  # the caller has found the run
    if isinstance(wanted, str):
        return Axis(wanted, started)
    parts = await find_parts(connection, run_id, wanted, attempt=attempt)
    return Axis("metric", started, tuple(parts))


async def read_axis_points(
    connection: Connection,
    curve: AxisCurve,
    *,
    limit: int,
) -> list[tuple[Stored, float | None]]:
    """Return points by step, each with its place on the axis or ``None``."""
    cursor = await connection.execute(
        query("curves.axis_points"), {**_about(curve), "limit": limit}, binary=True
    )
    return [
        (Stored(step, time_to_us(time), value), None if x is None else _place(curve.axis, x))
        for step, time, value, x in await cursor.fetchall()
    ]


async def read_axis_buckets(
    connection: Connection, curve: AxisCurve, *, buckets: int
) -> AxisBuckets:
    """Return a curve in at most so many buckets of equal width on the axis; empty ones are left out.

    Raises:
        InvalidError: the curve is too long to be sorted.
    """
    total = await count_points(connection, curve.parts, curve.stretch)
    if total > _POINTS_MAX:
        raise InvalidError(
            Fault(
                "/query/x",
                f"{total} points are too many to be drawn over another axis than steps: at most "
                f"{_POINTS_MAX}; narrow them with from and to",
            )
        )
    columns: list[tuple[_Ints, _Floats, _Floats]] = []
    async with reading_arrays(connection.cursor(binary=True)) as cursor:
        await cursor.execute(query("curves.axis_columns"), {**_about(curve), "block": _BLOCK})
        columns = await cursor.fetchall()
    if not columns:
        return AxisBuckets(total, 0, [])
    steps, places, values = (np.concatenate(column) for column in zip(*columns, strict=True))
    is_placed = np.isfinite(places)
    steps, places, values = steps[is_placed], places[is_placed], values[is_placed]
    # Of equal places the lower step comes first.
    order = np.lexsort((steps, places))
    found = _sort_into(steps[order], places[order], values[order], buckets=buckets)
    return AxisBuckets(total, len(steps), [_bucket(curve.axis, row) for row in found])


def _sort_into(
    steps: _Ints, places: _Floats, values: _Floats, *, buckets: int
) -> Iterator[tuple[Any, ...]]:
    """Yield what lies in each bucket, in the order of `_bucket`; places do not fall."""
    if not len(places):
        return
    # Halves, as the distance of two places may be beyond the greatest number.
    half = places[-1] / 2 - places[0] / 2
    share = (places / 2 - places[0] / 2) / half if half > 0 else np.zeros(len(places))
    index = np.minimum((share * buckets).astype(np.int64), buckets - 1)
    starts = np.flatnonzero(np.r_[True, index[1:] != index[:-1]])
    sizes = np.diff(np.r_[starts, len(index)])
    ends = starts + sizes - 1
    is_finite = np.isfinite(values)
    is_summed = np.abs(values) < SUMMED_MAX
    counts = [
        np.add.reduceat(is_counted.astype(np.int64), starts)
        for is_counted in (~is_finite, np.isnan(values), values == np.inf, is_summed)
    ]
    extremes: list[npt.NDArray[Any]] = []
    for sign in (1.0, -1.0):
        signed = np.where(is_finite, sign * values, np.inf)
        best = np.minimum.reduceat(signed, starts)
        is_best = is_finite & (signed == np.repeat(best, sizes))
        at = np.where(is_best, steps, np.iinfo(np.int64).max)
        extremes += [sign * best, np.minimum.reduceat(at, starts)]
    columns = (
        np.minimum.reduceat(steps, starts),
        np.maximum.reduceat(steps, starts),
        places[starts],
        places[ends],
        values[starts],
        values[ends],
        *extremes,
        sizes,
        *counts,
        np.add.reduceat(np.where(is_summed, values, 0.0), starts),
    )
    yield from zip(*(column.tolist() for column in columns), strict=True)


def _bucket(axis: Axis, row: tuple[Any, ...]) -> Bucket:
    """Return the bucket of a row: its ends, extremes with their steps, counts, and its sum."""
    first_step, last_step, first_x, last_x, first, last, low, low_step, high, high_step = row[:10]
    count, nonfinite, nans, infinities, summed, total = row[10:]
    has_finite = count > nonfinite
    return Bucket(
        first_step=step_from_stored(first_step),
        last_step=step_from_stored(last_step),
        first_x=_place(axis, first_x),
        last_x=_place(axis, last_x),
        first=value_to_wire(first),
        last=value_to_wire(last),
        min=low if has_finite else None,
        max=high if has_finite else None,
        min_step=step_from_stored(low_step) if has_finite else None,
        max_step=step_from_stored(high_step) if has_finite else None,
        count=count,
        nonfinite_count=nonfinite,
        nan_count=nans,
        infinity_count=infinities,
        mean=mean_of(total, summed, finite=count - nonfinite),
    )


def _place(axis: Axis, x: float) -> float:
    return round(x, _SECOND_DIGITS) if axis.is_time else x


def _about(curve: AxisCurve) -> dict[str, Any]:
    return {
        **parts_arrays(curve.parts),
        **parts_arrays(curve.axis.parts, "x_"),
        "axis": curve.axis.kind,
        "started": curve.axis.started,
        "first": curve.stretch.first,
        "last": curve.stretch.last,
    }
