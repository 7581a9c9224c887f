"""Curves: the points of one series exactly as logged, or buckets that keep every extreme.

A curve has one value a step, that of the newest attempt that wrote the step and was not superseded
there. Buckets have equal widths in steps and depend on nothing but the points and what was asked
for, so the same question has the same answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mapi.database.queries import query
from mapi.errors import NotFoundError
from mapi.series.names import labels_hash
from mapi.wire.metrics import Bucket
from mapi.wire.values import value_to_wire

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.batch import Series

__all__ = [
    "LAST_STEP",
    "CurvePart",
    "Stored",
    "Stretch",
    "count_points",
    "find_parts",
    "parts_arrays",
    "read_buckets",
    "read_points",
    "whole_count",
]

#: The highest step that can be stored.
LAST_STEP: Final = 2**63 - 1
#: A bucket is made of so many pieces, so that the step of an extreme is looked for in one piece of
#: it and not in all of its points.
_PIECES: Final = 16

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CurvePart:
    """What one attempt wrote of a series."""

    series_id: int
    attempt: int
    stop: int | None
    """The first step that a later attempt has superseded."""
    tenant_id: int = 0
    """The tenant's number, which lets the planner ask for it once a statement."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps from one to another, both included."""

    first: int = -1
    last: int = LAST_STEP


class Stored(NamedTuple):
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
        parts = [replace(one, stop=None) for one in parts if one.attempt == attempt]
    if not parts:
        raise NotFoundError("The run has no such series.")
    return parts


async def read_points(
    connection: Connection, parts: Sequence[CurvePart], stretch: Stretch, *, limit: int
) -> list[Stored]:
    """Return points by step, each from the newest attempt that wrote it and was not superseded.

    Args:
        connection: a transaction of the run's tenant.
        parts: of one series.
        stretch: which steps.
        limit: how many points at most.
    """
    cursor = await connection.execute(
        query("curves.read_one" if _is_one(parts) else "curves.read_merged"),
        {**_about(parts, stretch), "limit": limit},
        binary=True,
    )
    return [
        Stored(step, (time - _EPOCH) // _MICROSECOND, value)
        for step, time, value in await cursor.fetchall()
    ]


async def count_points(
    connection: Connection, parts: Sequence[CurvePart], stretch: Stretch
) -> int:
    """Return how many points a curve has between two steps."""
    cursor = await connection.execute(
        query("curves.count_one" if _is_one(parts) else "curves.count_merged"),
        _about(parts, stretch),
        binary=True,
    )
    (count,) = await cursor.fetchone() or (0,)
    return int(count)


async def whole_count(connection: Connection, run_id: UUID, series: Series) -> int | None:
    """Return how many points all of a curve has, as its summary says; ``None`` without one."""
    cursor = await connection.execute(
        query("curves.whole_count"),
        {"run": run_id, "key": series.key, "hash": labels_hash(series.labels)},
    )
    row = await cursor.fetchone()
    return None if row is None else int(row[0])


async def read_buckets(
    connection: Connection, parts: Sequence[CurvePart], stretch: Stretch, *, buckets: int
) -> list[Bucket]:
    """Return a curve in at most so many buckets of equal width in steps.

    Args:
        connection: a transaction of the run's tenant.
        parts: of one series.
        stretch: which steps.
        buckets: how many at most; empty ones are left out.
    """
    cursor = await connection.execute(query("curves.extent"), _about(parts, stretch), binary=True)
    first, last = await cursor.fetchone() or (None, None)
    if first is None:
        return []
    # A scalar is stored below all steps and stands in the first bucket.
    origin = max(first, 0)
    width = max(1, -(-(last - origin + 1) // buckets))
    piece_width = -(-width // _PIECES)
    cursor = await connection.execute(
        query("curves.pieces_one" if _is_one(parts) else "curves.pieces_merged"),
        {**_about(parts, stretch), "origin": origin, "width": piece_width},
        binary=True,
    )
    pieces = _Pieces(await cursor.fetchall(), bucket=-(-width // piece_width))
    await _sort_out_nonfinite(connection, parts, pieces)
    return await _finish(connection, parts, pieces)


class _Pieces:
    """What lies in each piece of a curve; the arrays have one item a piece that has points."""

    def __init__(self, rows: Sequence[tuple[Any, ...]], *, bucket: int) -> None:
        columns = list(zip(*sorted(rows), strict=True))
        self.buckets: _Ints = np.array(columns[0], dtype=np.int64) // bucket
        self.counts: _Ints = np.array(columns[1], dtype=np.int64)
        self.first_steps: _Ints = np.array(columns[2], dtype=np.int64)
        self.last_steps: _Ints = np.array(columns[3], dtype=np.int64)
        self.lows: _Floats = np.array(columns[4], dtype=np.float64)
        self.highs: _Floats = np.array(columns[5], dtype=np.float64)
        self.nonfinite_counts: _Ints = np.zeros(len(rows), dtype=np.int64)
        self.starts: _Ints = np.flatnonzero(np.r_[True, self.buckets[1:] != self.buckets[:-1]])
        self.stops: _Ints = np.r_[self.starts[1:], len(rows)]


async def _sort_out_nonfinite(
    connection: Connection, parts: Sequence[CurvePart], pieces: _Pieces
) -> None:
    """Count what is not finite, and leave the extremes of the rest: infinite where there is none."""
    places = np.flatnonzero(~(np.isfinite(pieces.lows) & np.isfinite(pieces.highs)))
    if not len(places):
        return
    cursor = await connection.execute(
        query("curves.finite_in"),
        {
            **parts_arrays(parts),
            "firsts": pieces.first_steps[places].tolist(),
            "lasts": pieces.last_steps[places].tolist(),
        },
        binary=True,
    )
    for place, (count, low, high) in zip(places, await cursor.fetchall(), strict=True):
        pieces.nonfinite_counts[place] = count
        pieces.lows[place] = math.inf if low is None else low
        pieces.highs[place] = -math.inf if high is None else high


async def _finish(
    connection: Connection, parts: Sequence[CurvePart], pieces: _Pieces
) -> list[Bucket]:
    starts, ends = pieces.starts, pieces.stops - 1
    lows = np.minimum.reduceat(pieces.lows, starts)
    highs = np.maximum.reduceat(pieces.highs, starts)
    sizes = pieces.stops - starts
    low_at = _first_places(pieces.lows == np.repeat(lows, sizes), starts)
    high_at = _first_places(pieces.highs == np.repeat(highs, sizes), starts)
    cursor = await connection.execute(
        query("curves.find_values_one" if _is_one(parts) else "curves.find_values"),
        {
            **_about(parts, Stretch()),
            "firsts": np.concatenate(
                (
                    pieces.first_steps[starts],
                    pieces.last_steps[ends],
                    pieces.first_steps[low_at],
                    pieces.first_steps[high_at],
                )
            ).tolist(),
            "lasts": np.concatenate(
                (
                    pieces.first_steps[starts],
                    pieces.last_steps[ends],
                    pieces.last_steps[low_at],
                    pieces.last_steps[high_at],
                )
            ).tolist(),
            "values": [None] * 2 * len(starts) + lows.tolist() + highs.tolist(),
        },
        binary=True,
    )
    found = await cursor.fetchall()
    count = len(starts)
    # Where nothing is finite no value equals the infinity that stands for the missing extreme, or
    # one does that is none.
    has_finite = np.isfinite(lows).tolist()
    counts = np.add.reduceat(pieces.counts, starts).tolist()
    nonfinite_counts = np.add.reduceat(pieces.nonfinite_counts, starts).tolist()
    return [
        Bucket(
            first_step=found[at][0],
            last_step=found[count + at][0],
            first=value_to_wire(found[at][1]),
            last=value_to_wire(found[count + at][1]),
            min=found[2 * count + at][1] if has_finite[at] else None,
            max=found[3 * count + at][1] if has_finite[at] else None,
            min_step=found[2 * count + at][0] if has_finite[at] else None,
            max_step=found[3 * count + at][0] if has_finite[at] else None,
            count=counts[at],
            nonfinite_count=nonfinite_counts[at],
        )
        for at in range(count)
    ]


def _first_places(is_there: npt.NDArray[np.bool_], starts: _Ints) -> _Ints:
    places = np.where(is_there, np.arange(len(is_there)), len(is_there))
    return np.minimum.reduceat(places, starts)


def _is_one(parts: Sequence[CurvePart]) -> bool:
    return len(parts) == 1 and parts[0].stop is None


def parts_arrays(parts: Sequence[CurvePart], prefix: str = "") -> dict[str, list[Any]]:
    """Return the parts of a curve as statements take them."""
    return {
        f"{prefix}series": [one.series_id for one in parts],
        f"{prefix}attempts": [one.attempt for one in parts],
        f"{prefix}stops": [one.stop for one in parts],
    }


def _about(parts: Sequence[CurvePart], stretch: Stretch) -> dict[str, Any]:
    about: dict[str, Any] = {**parts_arrays(parts), "first": stretch.first, "last": stretch.last}
    if _is_one(parts):
        about["series_id"], about["tenant"] = parts[0].series_id, parts[0].tenant_id
    return about
