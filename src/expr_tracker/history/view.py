"""Which lines a reading shows: the rules of attempts, and how lines of one step become one row.

An attempt may begin at a step: lines of earlier attempts at that step and above are then
superseded, and the default reading leaves them out. Of the lines that remain, those of one step
are merged name by name, and the later line wins; ``_time`` stays that of the first line shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from expr_tracker.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from expr_tracker.row import Row
    from expr_tracker.store.index import Attempt

__all__ = ["Key", "Stretch", "View", "merge_into", "sorted_rows"]

#: What makes lines one row: the step, or the attempt and the step.
Key = Any


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
        numbers = {each.number for each in attempts}
        if isinstance(attempt, int) and attempt not in numbers:
            known = ", ".join(map(str, sorted(numbers)))
            raise QueryError(f"attempt={attempt}: this stream has attempt {known}.")
        self.is_by_attempt = attempt == "all"
        self._attempt = attempt
        self._spans = self._spans_of(attempts, attempt)
        #: The number of the attempt that an open row belongs to.
        self.newest = attempts[-1].number

    @staticmethod
    def _spans_of(
        attempts: list[Attempt], attempt: int | Literal["all"] | None
    ) -> list[tuple[int, int | None, int, int | None]]:
        spans: list[tuple[int, int | None, int, int | None]] = []
        cut: int | None = None
        stop: int | None = None
        for each in reversed(attempts):
            if attempt is None:
                spans.append((each.offset, stop, each.number, cut))
                if each.from_step is not None:
                    cut = each.from_step if cut is None else min(cut, each.from_step)
            elif attempt in ("all", each.number):
                spans.append((each.offset, stop, each.number, None))
            stop = each.offset
        spans.reverse()
        if attempts[0].offset > 0 and spans and attempt in (None, "all", attempts[0].number):
            # Whatever stands before the first marker belongs to the first attempt.
            spans[0] = (0, *spans[0][1:])
        return spans

    @property
    def is_plain(self) -> bool:
        """Whether every line is shown and only the step counts."""
        return not self.is_by_attempt and len(self._spans) == 1 and self._attempt is None

    def stretches(self, start: int, stop: int) -> Iterator[Stretch]:
        """Yield what is shown between two offsets, in file order."""
        for low, high, number, cut in self._spans:
            first = max(start, low)
            last = stop if high is None else min(stop, high)
            if first < last:
                yield Stretch(first, last, number, cut)

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
