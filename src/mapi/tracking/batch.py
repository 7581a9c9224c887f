"""A checked batch of points in columns, and what one batch adds to the summaries of its series.

Pure: arrays in, arrays out. What goes into the log is sorted by series and step and holds each step
of a series once: of several the first that was given, of scalars the newest by time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mapi.series.names import Labels

__all__ = [
    "HUGE",
    "HUGE_SCALE",
    "SCALAR_STEP",
    "Deduplicated",
    "PointBatch",
    "Series",
    "SummaryParts",
    "step_from_stored",
    "summary_parts",
    "without_repeats",
]

#: From here on values are summed up apart, or some of them would pass the greatest number.
HUGE: Final = 1e290
#: They are made smaller by a power of two, which rounds nothing.
HUGE_SCALE: Final = 2.0**-64
#: Where a point without a step is stored.
SCALAR_STEP: Final = -1

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


def step_from_stored(stored: int | None) -> int | None:
    """Return a step as answers have it: that of a scalar is none."""
    return None if stored == SCALAR_STEP else stored


@dataclass(frozen=True, slots=True)
class Series:
    """What a series is called."""

    key: str
    labels: Labels = ()
    name: str | None = field(default=None, compare=False)
    """The name that it stands for, where the labels have only the beginning of it; if it is known."""


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
    places: _Ints
    """Where in the call each point stood."""

    @staticmethod
    def of(
        series: list[Series], *, index: _Ints, steps: _Ints, times_us: _Ints, values: _Floats
    ) -> PointBatch:
        """Return a batch of points in the order of their call."""
        return PointBatch(series, index, steps, times_us, values, np.arange(len(steps)))

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
            self.places[chosen],
        )


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """A batch sorted by series and step, with one point of each step, and the others."""

    kept: PointBatch
    repeats: PointBatch
    """What came for a step that the batch has already."""
    kept_at: _Ints
    """Which of ``kept`` each of ``repeats`` repeats."""

    def only(self, chosen: npt.NDArray[np.bool_]) -> Deduplicated:
        """Return the chosen of ``kept``, by mask, and their repeats."""
        is_repeat = chosen[self.kept_at]
        places = np.cumsum(chosen) - 1
        return Deduplicated(
            self.kept.where(chosen),
            self.repeats.where(is_repeat),
            places[self.kept_at[is_repeat]],
        )

    def conflicts(self, stored: _Floats) -> int:
        """Count the stepped points that have another value than the log.

        Args:
            stored: the value that stands in the log for each of ``kept``; of what is new, its own.
        """
        given = np.concatenate((self.kept.values, self.repeats.values))
        standing = np.concatenate((stored, stored[self.kept_at]))
        is_stepped = np.concatenate((self.kept.steps, self.repeats.steps)) != SCALAR_STEP
        is_same = (standing == given) | (np.isnan(standing) & np.isnan(given))
        return int((~is_same & is_stepped).sum())


def without_repeats(batch: PointBatch) -> Deduplicated:
    """Keep one point of each step: the first given, but the newest by time of scalars.

    Of scalars with equal times the last given stays.
    """
    if _is_sorted(batch):
        none = np.zeros(0, dtype=np.int64)
        return Deduplicated(batch, batch.where(none), none)
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


def _is_sorted(batch: PointBatch) -> bool:
    """Whether the points stand by series and step already, each step once: clients send them so."""
    is_next_series = batch.index[1:] > batch.index[:-1]
    is_next_step = (batch.index[1:] == batch.index[:-1]) & (batch.steps[1:] > batch.steps[:-1])
    return bool((is_next_series | is_next_step).all())


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
    first_steps: _Ints
    min_values: _Floats
    """Of the finite values; where there is none, infinite."""
    min_steps: _Ints
    max_values: _Floats
    max_steps: _Ints
    finite_sums: _Floats

    @property
    def is_huge(self) -> npt.NDArray[np.bool_]:
        """Which series have values that are summed up apart."""
        low, high = np.abs(self.min_values), np.abs(self.max_values)
        found: npt.NDArray[np.bool_] = (self.counts > self.nonfinite_counts) & (
            np.maximum(low, high) >= HUGE
        )
        return found


def summary_parts(batch: PointBatch) -> SummaryParts:
    """Return the part of each series of a sorted batch."""
    if not len(batch):
        raise ValueError("an empty batch has no parts")
    starts = np.flatnonzero(np.r_[True, batch.index[1:] != batch.index[:-1]])
    stops = np.r_[starts[1:], len(batch)]
    is_finite = np.isfinite(batch.values)
    lows = np.where(is_finite, batch.values, np.inf)
    highs = np.where(is_finite, batch.values, -np.inf)
    low, high = np.minimum.reduceat(lows, starts), np.maximum.reduceat(highs, starts)
    sizes = stops - starts
    # Sorted by step: the first place of an extreme is the one at its lowest step.
    low_at = _first_places(lows == np.repeat(low, sizes), starts)
    high_at = _first_places(highs == np.repeat(high, sizes), starts)
    # A sum that passes the greatest number is infinite; who has huge values makes none of it.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.add.reduceat(np.where(is_finite, batch.values, 0.0), starts)
    return SummaryParts(
        index=batch.index[starts],
        counts=sizes,
        nonfinite_counts=np.add.reduceat((~is_finite).astype(np.int64), starts),
        first_times_us=np.minimum.reduceat(batch.times_us, starts),
        last_times_us=np.maximum.reduceat(batch.times_us, starts),
        last_steps=batch.steps[stops - 1],
        last_values=batch.values[stops - 1],
        first_steps=batch.steps[starts],
        min_values=low,
        min_steps=batch.steps[low_at],
        max_values=high,
        max_steps=batch.steps[high_at],
        finite_sums=sums,
    )


def _first_places(is_there: npt.NDArray[np.bool_], starts: _Ints) -> _Ints:
    places = np.where(is_there, np.arange(len(is_there)), len(is_there))
    return np.minimum.reduceat(places, starts)
