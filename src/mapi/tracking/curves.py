"""Curves: the points of one series exactly as logged, or buckets that keep every extreme."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from mapi.database.queries import query
from mapi.errors import NotFoundError
from mapi.series.names import labels_hash

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.batch import Series

__all__ = ["CurvePart", "Stored", "find_parts", "read_points"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class CurvePart:
    """What one attempt wrote of a series."""

    series_id: int
    attempt: int
    stop: int | None
    """The first step that a later attempt has superseded."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One point as it stands in the log."""

    step: int
    time_us: int
    value: float


async def find_parts(
    connection: Connection, run_id: UUID, series: Series, *, attempt: int | None = None
) -> list[CurvePart]:
    """Return the attempts that wrote a series, newest first.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        series: its key and labels.
        attempt: this one only, whole.

    Raises:
        NotFoundError: the run has no such series, or not of this attempt.
    """
    cursor = await connection.execute(
        query("curves.find_parts"),
        {"run": run_id, "key": series.key, "hash": labels_hash(series.labels)},
    )
    parts = [CurvePart(*row) for row in await cursor.fetchall()]
    if attempt is not None:
        parts = [
            CurvePart(one.series_id, one.attempt, None) for one in parts if one.attempt == attempt
        ]
    if not parts:
        raise NotFoundError("The run has no such series.")
    return parts


async def read_points(
    connection: Connection, parts: list[CurvePart], *, start: int, stop: int, limit: int
) -> list[Stored]:
    """Return points by step, each from the newest attempt that wrote it and was not superseded.

    Args:
        connection: a transaction of the run's tenant.
        parts: of one series.
        start: the first step.
        stop: the step behind the last.
        limit: how many points at most.
    """
    bounds = {"start": start, "stop": stop, "limit": limit}
    if len(parts) == 1 and parts[0].stop is None:
        cursor = await connection.execute(
            query("curves.read_one"), {"series": parts[0].series_id, **bounds}, binary=True
        )
    else:
        cursor = await connection.execute(
            query("curves.read_merged"),
            {
                "series": [one.series_id for one in parts],
                "attempts": [one.attempt for one in parts],
                "stops": [one.stop for one in parts],
                **bounds,
            },
            binary=True,
        )
    return [
        Stored(step, (time - _EPOCH) // _MICROSECOND, value)
        for step, time, value in await cursor.fetchall()
    ]
