"""What waits for a line file: the lines, in order, and how much may wait.

`LineWriter` appends to ``items`` by itself, for no call may lie between taking a row and keeping
it; everything else about the queue is here.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from expr_tracker.row import Row

if TYPE_CHECKING:
    from expr_tracker.options import Options

__all__ = ["Backlog", "Item", "whole_part"]

#: A line, the step of its row (``None``: no metric row), its marker, and the caller's row. A plain
#: tuple: a named one costs 200 ns, a tenth of a whole ``log``.
Item = tuple[bytes, int | None, Row | None, Row | None]


class Backlog:
    """Lines that wait, the oldest first.

    Attributes:
        items: the lines with what is to be noted of them.
        size: their bytes.
        oldest: since when something waits (monotonic seconds); ``None``: nothing does.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self.items: deque[Item] = deque()
        self.size = 0
        self.oldest: float | None = None

    @property
    def is_over_limit(self) -> bool:
        """Whether more waits than ``max_pending_records`` and ``max_pending_bytes`` allow."""
        records, size = self._options.max_pending_records, self._options.max_pending_bytes
        return (records is not None and len(self.items) > records) or (
            size is not None and self.size > size
        )

    def drop_oldest(self) -> int:
        """Drop what is over the limit, the newest line never; return how many lines that were.

        Markers go last: without the one of a rewind, the rows that it superseded would be back.
        """
        dropped = 0
        while len(self.items) > 1 and self.is_over_limit:
            at = self._first_droppable()
            size = len(self.items[at][0])
            # No call between the two, as in `_remove_first`.
            self.size -= size
            del self.items[at]
            dropped += 1
        return dropped

    def _first_droppable(self) -> int:
        last = len(self.items) - 1
        for at, item in enumerate(self.items):
            if item[2] is None and at < last:
                return at
        return 0

    def remove(self, item: Item) -> None:
        """Remove the first line if it is ``item``; else it was removed before."""
        if self.items and self.items[0] is item:
            self._remove_first(len(item[0]))

    def _remove_first(self, size: int) -> None:
        # No call between the two: an exception from a signal handler falls before or behind both.
        self.size -= size
        self.items.popleft()

    def first(self, room: int) -> list[Item]:
        """Return the oldest lines that fit ``room`` bytes together, at least one."""
        batch: list[Item] = []
        size = 0
        for item in self.items:
            size += len(item[0])
            if batch and size > room:
                break
            batch.append(item)
        return batch

    def lines(self) -> list[bytes]:
        """Return the lines that wait, in order."""
        return [item[0] for item in self.items]

    def clear(self) -> None:
        """Forget everything that waits."""
        self.items.clear()
        self.size = 0


def whole_part(batch: list[Item], start: int, end: int) -> tuple[list[Item], int]:
    """Return the items that a file of ``end`` bytes holds whole, and where the last of them ends.

    Args:
        batch: items that were written one behind the other.
        start: where the first of them begins.
        end: where the file ends.
    """
    whole = start
    for count, item in enumerate(batch):
        if whole + len(item[0]) > end:
            return batch[:count], whole
        whole += len(item[0])
    return batch, whole
