"""The open row: the values of one step, gathered until it is committed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal

from expr_tracker.notices import OTHERS

if TYPE_CHECKING:
    from expr_tracker.row import Row

__all__ = ["OVERFLOW_PATH", "SPAN_PATHS_MAX", "Join", "OpenRow"]

#: Distinct span paths that one row takes: 100 000 of them make a row too long to be stored.
SPAN_PATHS_MAX: Final = 1_000
#: Where the time of further paths is added up.
OVERFLOW_PATH: Final = OTHERS

#: What the time of a path is named by.
_DURATION: Final = "time_ms/"

#: How two measurements of one path become one: the higher, the mean by the spans' durations, the sum.
Join = Literal["peak", "average", "sum"]


class OpenRow:
    """One row while it is open.

    Attributes:
        step: its step.
        time: when it was opened, in Unix seconds.
        values: plain values by metric name, in the order they came.
        is_logged: whether a ``log`` call gave it values; finished spans alone leave it False, and
            its step is then only where it would go.
    """

    __slots__ = ("_paths", "_weights", "is_logged", "step", "time", "values")

    def __init__(self, step: int, time: float) -> None:
        self.step = step
        self.time = time
        self.values: Row = {}
        self.is_logged = False
        # Made by the first meter only: most rows have none.
        self._weights: dict[str, float] | None = None
        # Counted only in rows of very many names.
        self._paths: int | None = None

    def merge(self, values: Row) -> None:
        """Take in the values of a ``log`` call; the later value of a name wins."""
        self.is_logged = True
        self.values.update(values)
        if self._weights:
            for name in values:
                self._weights.pop(name, None)

    def row(self) -> Row:
        """Return the row as it is committed: ``_step`` and ``_time`` first."""
        return {"_step": self.step, "_time": self.time, **self.values}

    def add_duration(self, path: str, duration_ms: float) -> str:
        """Add the time of a finished span.

        Returns:
            The path that it counts for: the overflow path once the row has its fill of others.
        """
        name = _DURATION + path
        values = self.values
        before: Any = values.get(name)
        if before is None:
            if len(values) >= SPAN_PATHS_MAX and self._is_full():
                path = OVERFLOW_PATH
                name = _DURATION + path
                before = values.get(name)
            else:
                values[name] = duration_ms
                return path
        values[name] = before + duration_ms if _is_number(before) else duration_ms
        return path

    def _is_full(self) -> bool:
        # Counted on, not each time: that would be a thousand names for every path of the row.
        if self._paths is None:
            self._paths = sum(name.startswith(_DURATION) for name in self.values)
        if self._paths >= SPAN_PATHS_MAX:
            return True
        self._paths += 1
        return False

    def add_count(self, path: str) -> None:
        """Count a finished span."""
        name = "count/" + path
        before: Any = self.values.get(name)
        self.values[name] = before + 1 if _is_number(before) else 1

    def add_meter(self, name: str, value: Any, *, duration_ms: float, join: Join = "sum") -> None:
        """Add what a plugin measured.

        Args:
            name: the metric, with the path.
            value: a number joins the one before; anything else replaces it.
            duration_ms: how long the span took.
            join: how they join.
        """
        if self._weights is None:
            self._weights = {}
        weights = self._weights
        before = self.values.get(name)
        known = name in weights
        if not _is_number(value):
            self.values[name] = value
            weights.pop(name, None)
            return
        if not known or before is None or not _is_number(before):
            self.values[name] = value
            weights[name] = duration_ms
            return
        if join == "peak":
            self.values[name] = value if math.isnan(value) else max(before, value)
        elif join == "average":
            self._average(name, before, value, duration_ms=duration_ms)
        else:
            self.values[name] = before + value

    def _average(self, name: str, before: float, value: float, *, duration_ms: float) -> None:
        weights = self._weights
        assert weights is not None
        weight = weights[name]
        if duration_ms <= 0 < weight:
            return
        if weight <= 0:
            self.values[name] = value
            weights[name] = duration_ms
            return
        total = weight + duration_ms
        self.values[name] = (before * weight + value * duration_ms) / total
        weights[name] = total


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
