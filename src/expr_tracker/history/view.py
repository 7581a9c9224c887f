"""Which lines a reading shows: the rules of attempts, and how lines of one step become one row.

An attempt may begin at a step: lines of earlier attempts at that step and above are then
superseded, and the default reading leaves them out. Of the lines that remain, those of one step
are merged name by name, and the later line wins; ``_time`` stays that of the first line shown.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from expr_tracker.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from expr_tracker.row import Row
    from expr_tracker.store.index import Attempt

__all__ = ["Key", "Stretch", "View", "merge_into", "sorted_rows"]

#: What makes lines one row: the step, or the attempt and the step.
Key = Any
#: Behind everything that a file can hold.
_END: Final = 1 << 63


@dataclass(frozen=True)
class Stretch:
    """Neighbouring lines of one attempt."""

    start: int
    stop: int
    number: int
    """The attempt's number."""
    cut: int | None
    """Steps from here on are superseded; ``None``: none are."""


class View:
    """The reading of one stream under its attempts.

    Args:
        attempts: in file order, as the index holds them.
        attempt: ``None`` for the default reading, a number for one attempt alone, ``"all"`` for
            every attempt beside the others.

    Raises:
        QueryError: there is no attempt of that number.
    """

    def __init__(self, attempts: list[Attempt], attempt: int | Literal["all"] | None) -> None:
        if isinstance(attempt, int):
            numbers = {each.number for each in attempts}
            if attempt not in numbers:
                known = ", ".join(map(str, sorted(numbers)))
                raise QueryError(f"attempt={attempt}: this stream has attempt {known}.")
        self.is_by_attempt = attempt == "all"
        self._attempt = attempt
        #: The number of the attempt that an open row belongs to.
        self.newest = attempts[-1].number
        self._attempts = attempts
        # What the attempts show, newest first, and the offsets where they begin, below zero to ascend.
        # Made as far as somebody asks: a run that was rewound a thousand times is read at its end.
        self._shown: list[tuple[int, int, int, int | None]] = []
        self._begins: list[int] = []
        self._left = len(attempts)
        self._stop = _END
        self._cut: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether every line is shown and only the step counts."""
        return self._attempt is None and len(self._attempts) == 1

    def stretches(self, start: int, stop: int) -> Iterator[Stretch]:
        """Yield what is shown between two offsets, in file order."""
        return reversed(list(self.stretches_backward(start, stop)))

    def stretches_backward(self, start: int, stop: int) -> Iterator[Stretch]:
        """Yield what is shown between two offsets, the newest first, as far as somebody asks."""
        while self._left and (not self._begins or -self._begins[-1] >= stop):
            self._take_older()
        shown = self._shown
        i = bisect_right(self._begins, -stop)
        while i < len(shown) or self._left:
            if i == len(shown):
                self._take_older()
                continue
            low, high, number, cut = shown[i]
            first, last = max(start, low), min(stop, high)
            if first < last:
                yield Stretch(first, last, number, cut)
            if low <= start:
                return
            i += 1

    def _take_older(self) -> None:
        """Take in the next older attempt."""
        self._left -= 1
        each, wanted = self._attempts[self._left], self._attempt
        # Whatever stands before the first marker belongs to the first attempt.
        offset = each.offset if self._left else 0
        if wanted in (None, "all", each.number):
            self._shown.append((offset, self._stop, each.number, self._cut))
            self._begins.append(-offset)
        if wanted is None and each.from_step is not None:
            self._cut = each.from_step if self._cut is None else min(self._cut, each.from_step)
        self._stop = each.offset

    def keyed(self, rows: list[Row], stretch: Stretch) -> list[tuple[Key, Row]]:
        """Return the rows of a stretch that are shown, each with its key."""
        if self.is_by_attempt:
            return [((stretch.number, row["_step"]), row) for row in rows]
        cut = stretch.cut
        if cut is None:
            return [(row["_step"], row) for row in rows]
        return [(row["_step"], row) for row in rows if row["_step"] < cut]

    def open_key(self, row: Row) -> Key | None:
        """Return the key of the open row, ``None`` where the reading does not show it."""
        if self.is_by_attempt:
            return (self.newest, row["_step"])
        if self._attempt is not None and self._attempt != self.newest:
            return None
        return row["_step"]

    def step_of(self, key: Key) -> int:
        """Return the step of a key."""
        step: int = key[1] if self.is_by_attempt else key
        return step


def merge_into(rows: dict[Key, Row], key: Key, row: Row) -> None:
    """Add a line to the rows by key; ``row`` must be later than what is there."""
    earlier = rows.get(key)
    if earlier is None:
        rows[key] = row
        return
    has_time = "_time" in earlier
    time = earlier.get("_time")
    earlier.update(row)
    if has_time:
        earlier["_time"] = time


def sorted_rows(rows: dict[Key, Row], view: View, narrow: Callable[[Key], bool]) -> list[Row]:
    """Return the rows whose key passes, in the order of their keys."""
    keys = [key for key in rows if narrow(key)]
    keys.sort()
    if view.is_by_attempt:
        return [{**rows[key], "_attempt": key[0]} for key in keys]
    return [rows[key] for key in keys]
