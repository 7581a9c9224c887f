"""Buckets of a curve: equal widths in steps, each with its ends and its extremes.

They depend on nothing but the points and what was asked for, so the same question has the same
answer. Points that stand in chunks, or in several attempts, come as columns and are sorted into
buckets here; rows of one attempt are summed up in the database, piece by piece.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from mapi.database.arrays import reading_arrays
from mapi.database.queries import query
from mapi.tracking.batch import step_from_stored
from mapi.tracking.curves import Stretch, about_parts, is_one
from mapi.wire.metrics import Bucket
from mapi.wire.values import value_to_wire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mapi.database.door import Connection
    from mapi.tracking.curves import CurvePart

__all__ = ["SUMMED_MAX", "mean_of", "read_buckets"]

#: Values from here on have no mean: as many as there can be of smaller ones sum up to a float.
SUMMED_MAX: Final = 1e290

#: A bucket is made of so many pieces, so that the step of an extreme is looked for in one piece of
#: it and not in all of its points.
_PIECES: Final = 16
#: Points of one row of columns that are made of rows: a megabyte or two of each.
_BLOCK: Final = 100_000
#: Points that are sorted into buckets in one go: enough that a go's own cost vanishes.
_PORTION: Final = 100_000

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


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
    cursor = await connection.execute(
        query("buckets.extent"), about_parts(parts, stretch), binary=True
    )
    first, last = await cursor.fetchone() or (None, None)
    if first is None:
        return []
    # A scalar is stored below all steps and stands in the first bucket.
    origin = max(first, 0)
    width = max(1, -(-(last - origin + 1) // buckets))
    piece_width = -(-width // _PIECES)
    pieces_per_bucket = -(-width // piece_width)
    about = about_parts(parts, Stretch(first, last))
    columns = _Columns(first, last, width=piece_width * pieces_per_bucket)
    if is_one(parts):
        if await _read_columns(connection, "buckets.columns_one", about, columns=columns):
            return columns.finish()
        cursor = await connection.execute(
            query("buckets.pieces"),
            {**about, "origin": origin, "width": piece_width, "huge": SUMMED_MAX},
            binary=True,
        )
        rows = await cursor.fetchall()
        if rows and not rows[0][-1]:
            pieces = _Pieces(rows, bucket=pieces_per_bucket)
            await _sort_out_nonfinite(connection, about, pieces)
            found = await _finish(connection, about, pieces)
            if found is not None:
                return found
    await _read_columns(connection, "buckets.columns_merged", about, columns=columns)
    return columns.finish()


def mean_of(total: float, summed: int, *, finite: int) -> float | None:
    """Return the mean of so many finite values; ``None`` without any, or where one is huge.

    Args:
        total: the sum of those below `SUMMED_MAX`.
        summed: how many those are.
        finite: how many there are.
    """
    return total / finite if finite and summed == finite else None


async def _read_columns(
    connection: Connection, name: str, about: dict[str, Any], *, columns: _Columns
) -> bool:
    """Sort what a statement finds into columns; say whether it found anything."""
    has_rows = False
    steps: list[_Ints] = []
    values: list[_Floats] = []
    waiting = 0
    async with reading_arrays(connection.cursor(binary=True)) as cursor:
        async for row in cursor.stream(query(name), {**about, "block": _BLOCK}):
            has_rows = True
            steps.append(row[0])
            values.append(row[1])
            waiting += len(row[0])
            if waiting >= _PORTION:
                columns.add(np.concatenate(steps), np.concatenate(values))
                steps, values, waiting = [], [], 0
    if waiting:
        columns.add(np.concatenate(steps), np.concatenate(values))
    return has_rows


class _Columns:
    """Buckets that points are sorted into, portion by portion; each step comes once."""

    def __init__(self, first: int, last: int, *, width: int) -> None:
        self._first, self._last, self._width = first, last, width
        self._origin = max(first, 0)
        count = (max(last, self._origin) - self._origin) // width + 1
        self._counts: _Ints = np.zeros(count, dtype=np.int64)
        self._nonfinite_counts: _Ints = np.zeros(count, dtype=np.int64)
        self._nan_counts: _Ints = np.zeros(count, dtype=np.int64)
        self._infinity_counts: _Ints = np.zeros(count, dtype=np.int64)
        self._summed_counts: _Ints = np.zeros(count, dtype=np.int64)
        self._totals: _Floats = np.zeros(count)
        self._first_steps: _Ints = np.full(count, np.iinfo(np.int64).max)
        self._last_steps: _Ints = np.full(count, np.iinfo(np.int64).min)
        self._low_steps: _Ints = np.full(count, np.iinfo(np.int64).max)
        self._high_steps: _Ints = np.full(count, np.iinfo(np.int64).max)
        self._firsts: _Floats = np.zeros(count)
        self._lasts: _Floats = np.zeros(count)
        self._lows: _Floats = np.full(count, np.inf)
        self._highs: _Floats = np.full(count, -np.inf)

    def add(self, steps: _Ints, values: _Floats) -> None:
        """Sort points into their buckets."""
        order = np.argsort(steps, kind="stable")  # of sorted runs: about one pass
        steps, values = steps[order], values[order]
        # Those of chunks that reach beyond what was asked for.
        start = np.searchsorted(steps, self._first, side="left")
        stop = np.searchsorted(steps, self._last, side="right")
        steps, values = steps[start:stop], values[start:stop]
        if not len(steps):
            return
        # Without a sign: of all the steps that there can be the distance has 63 bits.
        places = (np.maximum(steps, self._origin) - self._origin).astype(np.uint64)
        index = (places // np.uint64(self._width)).astype(np.int64)
        starts = np.flatnonzero(np.r_[True, index[1:] != index[:-1]])
        ends = np.r_[starts[1:], len(index)] - 1
        at = index[starts]
        self._add_ends(at, steps, values, starts=starts, ends=ends)
        is_finite = np.isfinite(values)
        self._counts[at] += ends - starts + 1
        is_summed = np.abs(values) < SUMMED_MAX
        self._totals[at] += np.add.reduceat(np.where(is_summed, values, 0.0), starts)
        for counts, is_counted in (
            (self._nonfinite_counts, ~is_finite),
            (self._nan_counts, np.isnan(values)),
            (self._infinity_counts, values == np.inf),
            (self._summed_counts, is_summed),
        ):
            counts[at] += np.add.reduceat(is_counted.astype(np.int64), starts)
        for sign, extremes, extreme_steps in (
            (1.0, self._lows, self._low_steps),
            (-1.0, self._highs, self._high_steps),
        ):
            signed = np.where(is_finite, sign * values, np.inf)
            found = np.minimum.reduceat(signed, starts)
            place = _first_places(signed == np.repeat(found, ends - starts + 1), starts)
            found_steps = np.where(np.isfinite(found), steps[place], np.iinfo(np.int64).max)
            known = sign * extremes[at]
            is_better = (found < known) | ((found == known) & (found_steps < extreme_steps[at]))
            extremes[at[is_better]] = sign * found[is_better]
            extreme_steps[at[is_better]] = found_steps[is_better]

    def _add_ends(
        self, at: _Ints, steps: _Ints, values: _Floats, *, starts: _Ints, ends: _Ints
    ) -> None:
        # The highest step of all is not below what stands where nothing is known yet.
        is_earlier = (steps[starts] < self._first_steps[at]) | (self._counts[at] == 0)
        self._first_steps[at[is_earlier]] = steps[starts[is_earlier]]
        self._firsts[at[is_earlier]] = values[starts[is_earlier]]
        is_later = steps[ends] > self._last_steps[at]
        self._last_steps[at[is_later]] = steps[ends[is_later]]
        self._lasts[at[is_later]] = values[ends[is_later]]

    def finish(self) -> list[Bucket]:
        """Return the buckets that have points."""
        at = np.flatnonzero(self._counts)
        has_finite = (self._counts > self._nonfinite_counts)[at].tolist()
        columns = [
            column[at].tolist()
            for column in (
                self._first_steps,
                self._last_steps,
                self._firsts,
                self._lasts,
                self._lows,
                self._highs,
                self._low_steps,
                self._high_steps,
                self._counts,
                self._nonfinite_counts,
                self._nan_counts,
                self._infinity_counts,
                self._totals,
                self._summed_counts,
            )
        ]
        return [
            Bucket(
                first_step=step_from_stored(row[0]),
                last_step=step_from_stored(row[1]),
                first=value_to_wire(row[2]),
                last=value_to_wire(row[3]),
                min=row[4] if is_finite else None,
                max=row[5] if is_finite else None,
                min_step=step_from_stored(row[6]) if is_finite else None,
                max_step=step_from_stored(row[7]) if is_finite else None,
                count=row[8],
                nonfinite_count=row[9],
                nan_count=row[10],
                infinity_count=row[11],
                mean=mean_of(row[12], row[13], finite=row[8] - row[9]),
            )
            for row, is_finite in zip(zip(*columns, strict=True), has_finite, strict=True)
        ]


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
        self.totals: _Floats = np.array(columns[6], dtype=np.float64)
        self.summed_counts: _Ints = np.array(columns[7], dtype=np.int64)
        self.nonfinite_counts: _Ints = np.zeros(len(rows), dtype=np.int64)
        self.nan_counts: _Ints = np.zeros(len(rows), dtype=np.int64)
        self.infinity_counts: _Ints = np.zeros(len(rows), dtype=np.int64)
        self.starts: _Ints = np.flatnonzero(np.r_[True, self.buckets[1:] != self.buckets[:-1]])
        self.stops: _Ints = np.r_[self.starts[1:], len(rows)]


async def _sort_out_nonfinite(
    connection: Connection, about: dict[str, Any], pieces: _Pieces
) -> None:
    """Count what is not finite, and leave the extremes of the rest: infinite where there is none."""
    places = np.flatnonzero(~(np.isfinite(pieces.lows) & np.isfinite(pieces.highs)))
    if not len(places):
        return
    cursor = await connection.execute(
        query("buckets.finite_in"),
        {
            **about,
            "firsts": pieces.first_steps[places].tolist(),
            "lasts": pieces.last_steps[places].tolist(),
        },
        binary=True,
    )
    for place, (count, nans, infinities, low, high) in zip(
        places, await cursor.fetchall(), strict=True
    ):
        pieces.nonfinite_counts[place] = count
        pieces.nan_counts[place] = nans
        pieces.infinity_counts[place] = infinities
        pieces.lows[place] = math.inf if low is None else low
        pieces.highs[place] = -math.inf if high is None else high


async def _finish(
    connection: Connection, about: dict[str, Any], pieces: _Pieces
) -> list[Bucket] | None:
    """Return the buckets; ``None`` where points that were seen before are not there any more."""
    starts, ends = pieces.starts, pieces.stops - 1
    lows = np.minimum.reduceat(pieces.lows, starts)
    highs = np.maximum.reduceat(pieces.highs, starts)
    sizes = pieces.stops - starts
    low_at = _first_places(pieces.lows == np.repeat(lows, sizes), starts)
    high_at = _first_places(pieces.highs == np.repeat(highs, sizes), starts)
    cursor = await connection.execute(
        query("buckets.find_values"),
        {
            **about,
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
    if any(
        step is None and (at < 2 * count or has_finite[at % count])
        for at, (step, _) in enumerate(found)
    ):
        return None
    counted = _count(pieces)
    return [
        Bucket(
            first_step=step_from_stored(found[at][0]),
            last_step=step_from_stored(found[count + at][0]),
            first=value_to_wire(found[at][1]),
            last=value_to_wire(found[count + at][1]),
            min=found[2 * count + at][1] if has_finite[at] else None,
            max=found[3 * count + at][1] if has_finite[at] else None,
            min_step=step_from_stored(found[2 * count + at][0]) if has_finite[at] else None,
            max_step=step_from_stored(found[3 * count + at][0]) if has_finite[at] else None,
            **counted[at],
        )
        for at in range(count)
    ]


def _count(pieces: _Pieces) -> list[dict[str, Any]]:
    """Return how many points each bucket has, of which kind, and the mean of the finite ones."""
    columns = (
        np.add.reduceat(column, pieces.starts).tolist()
        for column in (
            pieces.counts,
            pieces.nonfinite_counts,
            pieces.nan_counts,
            pieces.infinity_counts,
            pieces.totals,
            pieces.summed_counts,
        )
    )
    return [
        {
            "count": count,
            "nonfinite_count": nonfinite,
            "nan_count": nans,
            "infinity_count": infinities,
            "mean": mean_of(total, summed, finite=count - nonfinite),
        }
        for count, nonfinite, nans, infinities, total, summed in zip(*columns, strict=True)
    ]


def _first_places(is_there: npt.NDArray[np.bool_], starts: _Ints) -> _Ints:
    places = np.where(is_there, np.arange(len(is_there)), len(is_there))
    return np.minimum.reduceat(places, starts)
