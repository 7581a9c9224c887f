"""Curves over something else than steps: wall time, run time, or another series joined by step.

A point has a place on the axis where the axis has a finite value at its step. Points without one are
counted, not hidden: a caller that draws over another metric can say what it could not draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mapi.database.queries import query
from mapi.errors import Fault, InvalidError
from mapi.tracking.batch import step_from_stored
from mapi.tracking.buckets import SUMMED_MAX, mean_of
from mapi.tracking.curves import CurvePart, Stored, Stretch, find_parts, parts_arrays
from mapi.wire.metrics import Bucket
from mapi.wire.times import time_to_us
from mapi.wire.values import value_to_wire

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.batch import Series

__all__ = [
    "RUN_TIME",
    "TIME",
    "Axis",
    "AxisCurve",
    "AxisExtent",
    "find_axis",
    "read_axis_buckets",
    "read_axis_extent",
    "read_axis_points",
]

#: The words for the axes that are no series; a key of a metric cannot be one of them in a query
#: that spells series as the search language does, ``metrics.time``.
TIME: Final = "time"
RUN_TIME: Final = "run_time"
#: Such a curve is sorted by its axis in the database's memory, once a request.
_POINTS_MAX: Final = 1_000_000
#: Times are whole microseconds; beyond that a float of seconds has noise.
_SECOND_DIGITS: Final = 6


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
class AxisExtent:
    """How far the points of a curve reach on an axis."""

    points_total: int
    placed: int
    """Of them, those that have a place."""
    low: float
    high: float


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


async def read_axis_extent(connection: Connection, curve: AxisCurve) -> AxisExtent:
    """Return how many points a curve has, how many have a place, and between which ends."""
    cursor = await connection.execute(query("curves.axis_extent"), _about(curve), binary=True)
    total, placed, low, high = await cursor.fetchone() or (0, 0, None, None)
    return AxisExtent(total, placed, math.nan if low is None else low, high or 0.0)


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
    connection: Connection,
    curve: AxisCurve,
    *,
    extent: AxisExtent,
    buckets: int,
) -> list[Bucket]:
    """Return a curve in at most so many buckets of equal width on the axis.

    Raises:
        InvalidError: the curve is too long to be sorted.
    """
    if extent.points_total > _POINTS_MAX:
        raise InvalidError(
            Fault(
                "/query/x",
                f"{extent.points_total} points are too many to be drawn over another axis than "
                f"steps: at most {_POINTS_MAX}; narrow them with from and to",
            )
        )
    if not extent.placed:
        return []
    cursor = await connection.execute(
        query("curves.axis_buckets"),
        {
            **_about(curve),
            "low": extent.low,
            "high": extent.high,
            "buckets": buckets,
            "huge": SUMMED_MAX,
        },
        binary=True,
    )
    return [_bucket(curve.axis, row) for row in await cursor.fetchall()]


def _bucket(axis: Axis, row: tuple[Any, ...]) -> Bucket:
    return Bucket(
        first_step=step_from_stored(row[0]),
        last_step=step_from_stored(row[1]),
        first_x=_place(axis, row[2]),
        last_x=_place(axis, row[3]),
        first=value_to_wire(row[4]),
        last=value_to_wire(row[5]),
        min=row[6],
        max=row[7],
        min_step=step_from_stored(row[8]),
        max_step=step_from_stored(row[9]),
        count=row[10],
        nonfinite_count=row[11],
        nan_count=row[12],
        infinity_count=row[13],
        mean=mean_of(row[14], row[15], finite=row[10] - row[11]),
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
