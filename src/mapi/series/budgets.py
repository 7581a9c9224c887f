"""How much a run may keep, what of a batch fits, and the one warning that says what did not.

A run never fails for a budget: what fits is kept, the rest is counted by budget. Only what is new
costs: what the log has already is sorted out before anything here is asked.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from mapi.errors import Fault, InvalidError
from mapi.wire.decoding import pointer
from mapi.wire.enums import Budget, WarningCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "UNLIMITED",
    "Budgets",
    "Drops",
    "PointFit",
    "fit_count",
    "fit_points",
    "fit_sizes",
    "merged_budgets",
    "point_bytes",
    "warning_code",
    "warning_text",
]

#: How a limit that is none is written; in a `Budgets` it is ``None``.
UNLIMITED: Final = "unlimited"
#: About what a point takes in its table and in the index, and what in a chunk: usage is told, and no
#: budget is counted, with it.
_POINT_BYTES: Final = 95
_COMPACTED_POINT_BYTES: Final = 20
_INT64_MAX: Final = 2**63 - 1
_MEDIA: Final = frozenset({Budget.MEDIA_ITEMS, Budget.MEDIA_BYTES, Budget.MEDIA_ITEM_BYTES})

_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Budgets:
    """What one run may keep; ``None`` is without limit. The fields are the words of `Budget`."""

    series: int | None = 1_000
    """Distinct keys with labels, over all attempts."""
    points_per_series: int | None = 10_000
    points: int | None = 500_000
    params: int | None = 5_000
    tags: int | None = 100
    log_lines: int | None = 10_000
    log_bytes: int | None = 2 << 20
    """Messages and fields, in UTF-8."""
    spans: int | None = 200_000
    span_bytes: int | None = 64 << 20
    media_items: int | None = 1_000
    media_bytes: int | None = 256 << 20
    media_item_bytes: int | None = 8 << 20
    """Of one media item."""

    def limit(self, budget: Budget) -> int | None:
        """Return one limit by its word."""
        found: int | None = getattr(self, budget.value)
        return found

    def to_json(self) -> dict[str, int | str]:
        """Return the limits as they are served and stored."""
        return {
            name: UNLIMITED if limit is None else limit
            for name, limit in dataclasses.asdict(self).items()
        }


def merged_budgets(*layers: Mapping[str, Any]) -> Budgets:
    """Return the defaults with what a tenant, then a project, then a run says otherwise.

    Args:
        layers: limits by the words of `Budget`, the nearest to the run last; a later one counts,
            and ``None`` in it leaves what stands before.

    Raises:
        InvalidError: a word is no budget, or a limit neither a whole number nor `UNLIMITED`.
    """
    limits: dict[str, int | None] = {}
    for layer in layers:
        for name, limit in layer.items():
            wrong = _check_limit(name, limit)
            if wrong is not None:
                raise InvalidError(wrong)
            if limit is not None:
                limits[name] = None if limit == UNLIMITED else limit
    return Budgets(**limits)


def _check_limit(name: str, limit: object) -> Fault | None:
    words = tuple(budget.value for budget in Budget)
    if name not in words:
        message = f"{name!r} is no budget: one of {', '.join(words)}"
        return Fault(pointer(name), message, expected=words)
    if limit is None or limit == UNLIMITED:
        return None
    if isinstance(limit, int) and not isinstance(limit, bool) and 0 <= limit <= _INT64_MAX:
        return None
    return Fault(pointer(name), f"{limit!r} is no limit: a whole number from 0, or {UNLIMITED!r}")


@dataclass(frozen=True, slots=True)
class Drops:
    """What budgets have dropped of a run so far."""

    counts: Mapping[Budget, int] = field(default_factory=dict)
    """Items by the budget that had no room for them."""
    first: Mapping[WarningCode, Budget] = field(default_factory=dict)
    """The budget that was hit first, by the warning that tells of it."""

    def __bool__(self) -> bool:
        """Whether anything was dropped."""
        return any(self.counts.values())

    def __add__(self, later: Drops) -> Drops:
        """Return both, where ``later`` happened after this."""
        counts = dict(self.counts)
        for budget, count in later.counts.items():
            counts[budget] = counts.get(budget, 0) + count
        return Drops(counts, {**later.first, **self.first})

    @staticmethod
    def of(counts: Mapping[Budget, int]) -> Drops:
        """Return the drops of one batch, whose budgets are in the order in which they were hit."""
        counts = {budget: count for budget, count in counts.items() if count}
        first: dict[WarningCode, Budget] = {}
        for budget in counts:
            first.setdefault(warning_code(budget), budget)
        return Drops(counts, first)

    def to_json(self) -> dict[str, Any]:
        """Return the drops as a run's row keeps them."""
        return {
            "counts": {str(budget): count for budget, count in self.counts.items()},
            "first": {str(code): str(budget) for code, budget in self.first.items()},
        }

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> Drops:
        """Return what `to_json` wrote; an empty object is a run that dropped nothing."""
        return Drops(
            {Budget(name): int(count) for name, count in stored.get("counts", {}).items()},
            {WarningCode(code): Budget(name) for code, name in stored.get("first", {}).items()},
        )


def warning_code(budget: Budget) -> WarningCode:
    """Return which of a run's two budget warnings tells of this budget."""
    return WarningCode.MEDIA_BUDGET if budget in _MEDIA else WarningCode.TRACKING_BUDGET


def warning_text(code: WarningCode, drops: Drops, budgets: Budgets) -> str:
    """Return the text of a warning: the budget that was hit first, and all that was dropped.

    Args:
        code: one of the two budget warnings, of which ``drops`` has something.
        drops: of the run, or of one call.
        budgets: the run's limits.
    """
    first = drops.first[code]
    counts = ", ".join(
        f"{drops.counts[budget]} by {budget}"
        for budget in Budget
        if drops.counts.get(budget) and warning_code(budget) is code
    )
    limit = budgets.limit(first)
    spent = UNLIMITED if limit is None else limit
    return (
        f"The run has spent its budget {first} ({spent}). Not kept: {counts}. "
        "An administrator can raise the limits of the project."
    )


@dataclass(frozen=True, slots=True)
class PointFit:
    """What of a batch of new points fits."""

    kept: _Bools
    """One a point."""
    drops: Drops
    rejected_by: dict[int, Budget]
    """By place in the batch: the budget that had no room."""


def fit_points(
    budgets: Budgets,
    *,
    index: _Ints,
    series_sizes: _Ints,
    run_points: int,
    run_series: int,
) -> PointFit:
    """Return which points fit, in the order of the batch.

    A new series takes its place with its first point; where none is left, all of its points are
    dropped. Then each series takes points up to its own limit, then the run up to its.

    Args:
        budgets: the run's limits.
        index: which series each point belongs to; only points that are new in the log.
        series_sizes: points that each series has already; negative for a series that is new.
        run_points: points that the run has.
        run_series: distinct series that the run has.
    """
    by = np.full(len(index), -1, dtype=np.int64)
    is_new = series_sizes < 0
    if budgets.series is not None:
        places, first = np.unique(index, return_index=True)
        wanting = places[is_new[places]]
        # By first mention, not by number.
        wanting = wanting[np.argsort(first[is_new[places]], kind="stable")]
        without = np.zeros(len(series_sizes), dtype=np.bool_)
        without[wanting[max(0, budgets.series - run_series) :]] = True
        by[without[index]] = _ORDER.index(Budget.SERIES)
    if budgets.points_per_series is not None:
        room = budgets.points_per_series - np.maximum(series_sizes, 0)
        over = (_places_in_series(index) >= room[index]) & (by < 0)
        by[over] = _ORDER.index(Budget.POINTS_PER_SERIES)
    if budgets.points is not None:
        left = np.flatnonzero(by < 0)
        by[left[max(0, budgets.points - run_points) :]] = _ORDER.index(Budget.POINTS)
    return _point_fit(by)


#: The three budgets of points, as numbers.
_ORDER: Final = (Budget.SERIES, Budget.POINTS_PER_SERIES, Budget.POINTS)


def _places_in_series(index: _Ints) -> _Ints:
    """Return for each point how many of its series come before it in the batch."""
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(ordered)])
    places = np.empty(len(index), dtype=np.int64)
    places[order] = np.arange(len(index)) - np.repeat(starts, sizes)
    return places


def _point_fit(by: _Ints) -> PointFit:
    dropped = np.flatnonzero(by >= 0)
    rejected_by = {int(at): _ORDER[int(by[at])] for at in dropped}
    counts: dict[Budget, int] = {}
    for budget in rejected_by.values():
        counts[budget] = counts.get(budget, 0) + 1
    return PointFit(by < 0, Drops.of(counts), rejected_by)


def fit_count(limit: int | None, *, stored: int, given: int) -> int:
    """Return how many of the given items fit; the first ones are kept."""
    return given if limit is None else max(0, min(given, limit - stored))


def fit_sizes(
    limits: tuple[int | None, int | None], *, stored: tuple[int, int], sizes: Sequence[int]
) -> tuple[list[bool], list[bool]]:
    """Return which items fit that cost a place and bytes, in order.

    One that is too large is passed over: a smaller one behind it may still fit.

    Args:
        limits: of items, and of bytes.
        stored: items and bytes that the run has.
        sizes: bytes of each item.

    Returns:
        For each item: whether it is kept; and if not, whether bytes were what it lacked.
    """
    count, total = stored
    kept, lacks_bytes = [], []
    for size in sizes:
        has_place = limits[0] is None or count < limits[0]
        has_bytes = limits[1] is None or total + size <= limits[1]
        kept.append(has_place and has_bytes)
        lacks_bytes.append(has_place and not has_bytes)
        if has_place and has_bytes:
            count, total = count + 1, total + size
    return kept, lacks_bytes


def point_bytes(points: int, *, compacted: int) -> int:
    """Return about how many bytes points take, some of which are compacted."""
    return _POINT_BYTES * (points - compacted) + _COMPACTED_POINT_BYTES * compacted
