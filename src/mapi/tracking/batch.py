"""A checked batch of points in columns, and what one batch adds to the summaries of its series.

Pure: arrays in, arrays out. What goes into the log is sorted by series and step and holds each step
of a series once: of several the first that was given, of scalars the newest by time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mapi.series.names import Labels

__all__ = [
    "SCALAR_STEP",
    "Deduplicated",
    "PointBatch",
    "Series",
    "SummaryParts",
    "binary_rows",
    "joined",
    "summary_parts",
    "without_repeats",
]

#: Where a point without a step is stored.
SCALAR_STEP: Final = -1

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

#: PostgreSQL counts microseconds from 2000-01-01 UTC.
_EPOCH_US: Final = 946_684_800_000_000
#: https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-BINARY-FORMAT
_COPY_HEADER: Final = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_COPY_TRAILER: Final = b"\xff\xff"
_COPY_ROW: Final = np.dtype(
    [
        ("fields", ">i2"),
        ("series_size", ">i4"),
        ("series", ">i8"),
        ("step_size", ">i4"),
        ("step", ">i8"),
        ("time_size", ">i4"),
        ("time", ">i8"),
        ("value_size", ">i4"),
        ("value", ">f8"),
    ]
)


@dataclass(frozen=True, slots=True)
class Series:
    """What a series is called."""

    key: str
    labels: Labels = ()


@dataclass(frozen=True, slots=True)
class PointBatch:
    """Points of several series; the arrays have one item a point."""

    series: list[Series]
    """Each series once."""
    index: _Ints
    """Which of ``series`` a point belongs to."""
    steps: _Ints
    times_us: _Ints
    """Microseconds since 1970, UTC."""
    values: _Floats

    def __len__(self) -> int:
        return len(self.steps)

    def where(self, chosen: npt.NDArray[np.bool_] | _Ints) -> PointBatch:
        """Return the batch with the chosen points only, by mask or by places."""
        return PointBatch(
            self.series,
            self.index[chosen],
            self.steps[chosen],
            self.times_us[chosen],
            self.values[chosen],
        )


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """A batch sorted by series and step, with one point of each step, and the others."""

    kept: PointBatch
    repeats: PointBatch
    """What came for a step that the batch has already."""
    kept_at: _Ints
    """Which of ``kept`` each of ``repeats`` repeats."""

    def conflicts(self, is_chosen: npt.NDArray[np.bool_]) -> int:
        """Count the repeats of chosen kept points that have another value; scalars have none."""
        kept, given = self.kept.values[self.kept_at], self.repeats.values
        is_same = (kept == given) | (np.isnan(kept) & np.isnan(given))
        is_stepped = self.repeats.steps != SCALAR_STEP
        return int((is_chosen[self.kept_at] & ~is_same & is_stepped).sum())


def without_repeats(batch: PointBatch) -> Deduplicated:
    """Keep one point of each step: the first given, but the newest by time of scalars.

    Of scalars with equal times the last given stays.
    """
    # Stable: of equal keys the first given stays first. Scalars are turned round: newest first.
    is_scalar = batch.steps == SCALAR_STEP
    places = np.arange(len(batch))
    age = np.where(is_scalar, -batch.times_us, 0)
    ordinal = np.where(is_scalar, -places, places)
    batch = batch.where(np.lexsort((ordinal, age, batch.steps, batch.index)))
    is_repeat = np.zeros(len(batch), dtype=np.bool_)
    is_repeat[1:] = (batch.index[1:] == batch.index[:-1]) & (batch.steps[1:] == batch.steps[:-1])
    kept_at = np.cumsum(~is_repeat) - 1
    return Deduplicated(batch.where(~is_repeat), batch.where(is_repeat), kept_at[is_repeat])


def joined(one: PointBatch, two: PointBatch) -> PointBatch:
    """Return the points of two batches of the same series."""
    return PointBatch(
        one.series,
        np.concatenate((one.index, two.index)),
        np.concatenate((one.steps, two.steps)),
        np.concatenate((one.times_us, two.times_us)),
        np.concatenate((one.values, two.values)),
    )


@dataclass(frozen=True, slots=True)
class SummaryParts:
    """What a batch says of its series; the arrays have one item a series that has points."""

    index: _Ints
    counts: _Ints
    nonfinite_counts: _Ints
    first_times_us: _Ints
    last_times_us: _Ints
    last_steps: _Ints
    last_values: _Floats
    min_values: list[float | None]
    min_steps: list[int | None]
    max_values: list[float | None]
    max_steps: list[int | None]
    finite_sums: _Floats


def summary_parts(batch: PointBatch) -> SummaryParts:
    """Return the part of each series of a sorted batch."""
    if not len(batch):
        raise ValueError("an empty batch has no parts")
    starts = np.flatnonzero(np.r_[True, batch.index[1:] != batch.index[:-1]])
    stops = np.r_[starts[1:], len(batch)]
    is_finite = np.isfinite(batch.values)
    has_finite = np.logical_or.reduceat(is_finite, starts)
    lows = np.where(is_finite, batch.values, np.inf)
    highs = np.where(is_finite, batch.values, -np.inf)
    low, high = np.minimum.reduceat(lows, starts), np.maximum.reduceat(highs, starts)
    sizes = stops - starts
    # Sorted by step: the first place of an extreme is the one at its lowest step.
    low_at = _first_places(lows == np.repeat(low, sizes), starts)
    high_at = _first_places(highs == np.repeat(high, sizes), starts)
    return SummaryParts(
        index=batch.index[starts],
        counts=sizes,
        nonfinite_counts=np.add.reduceat((~is_finite).astype(np.int64), starts),
        first_times_us=np.minimum.reduceat(batch.times_us, starts),
        last_times_us=np.maximum.reduceat(batch.times_us, starts),
        last_steps=batch.steps[stops - 1],
        last_values=batch.values[stops - 1],
        min_values=_or_none(low, has_finite),
        min_steps=_or_none(batch.steps[low_at], has_finite),
        max_values=_or_none(high, has_finite),
        max_steps=_or_none(batch.steps[high_at], has_finite),
        finite_sums=np.add.reduceat(np.where(is_finite, batch.values, 0.0), starts),
    )


def _first_places(is_there: npt.NDArray[np.bool_], starts: _Ints) -> _Ints:
    places = np.where(is_there, np.arange(len(is_there)), len(is_there))
    return np.minimum.reduceat(places, starts)


def _or_none(values: npt.NDArray[np.generic], is_known: npt.NDArray[np.bool_]) -> list[Any]:
    return [
        value if known else None
        for value, known in zip(values.tolist(), is_known.tolist(), strict=True)
    ]


def binary_rows(batch: PointBatch, series_ids: _Ints) -> bytes:
    """Return a batch in PostgreSQL's binary form of ``COPY``.

    Args:
        batch: the points.
        series_ids: the database's number of each of ``batch.series``.
    """
    rows = np.empty(len(batch), dtype=_COPY_ROW)
    rows["fields"] = 4
    for size in ("series_size", "step_size", "time_size", "value_size"):
        rows[size] = 8
    rows["series"] = series_ids[batch.index]
    rows["step"] = batch.steps
    rows["time"] = batch.times_us - _EPOCH_US
    rows["value"] = batch.values
    return _COPY_HEADER + rows.tobytes() + _COPY_TRAILER
