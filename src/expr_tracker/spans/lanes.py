"""Lanes: overlapping spans of one track, arranged so that each lane is a valid stack.

A viewer draws a lane as nested boxes, so on a lane two spans either nest or do not overlap. A span
goes under the span that it ran in: one that covers it and is exactly one level less deep, best one
whose path begins its own. Spans that merely overlap (two tasks, two threads) get lanes of their
own. Spans without a depth nest by time alone.

Times of a file are rounded to about 0.24 us (a float of epoch seconds), so a child may seem to end
after its parent by less than a microsecond. Such edges are clipped: viewers drop boxes that overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Box", "Lanes", "Place"]

#: Two roundings of a quarter microsecond, and as much again.
_TOLERANCE_NS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a span is drawn."""

    lane: int
    """Counted from 0, in the order of their first spans."""
    start_ns: int
    stop_ns: int


class Box:
    """A span to place: its times in nanoseconds, its depth where it is known, and its path."""

    __slots__ = ("depth", "path", "start", "stop")

    def __init__(self, path: str, *, start: int, stop: int, depth: int | None) -> None:
        self.path, self.start, self.stop, self.depth = path, start, stop, depth


class Lanes:
    """The lanes of one track, filled in the order of `order`."""

    def __init__(self) -> None:
        self._lanes: list[list[Box]] = []
        #: Where the last box of a lane stopped: the next one must not begin before it.
        self._stops: list[int] = []

    def place(self, box: Box) -> Place:
        """Return the place of the next span.

        Spans come by start, then longest first, then by depth, then as they stand in the file.
        """
        best: tuple[int, int, int] | None = None  # kinship (lower is closer), lane, kept boxes
        for index, boxes in enumerate(self._lanes):
            while boxes and boxes[-1].stop <= box.start:
                boxes.pop()
            kept = len(boxes)
            while kept and _is_over(boxes[kept - 1], box):
                kept -= 1
            kinship = 2 if kept == 0 else _kinship(boxes[kept - 1], box)
            if kinship is not None and (best is None or kinship < best[0]):
                best = (kinship, index, kept)
        if best is None:
            self._lanes.append([])
            self._stops.append(0)
            best = (2, len(self._lanes) - 1, 0)
        return self._put(best[1], best[2], box)

    def _put(self, index: int, kept: int, box: Box) -> Place:
        boxes = self._lanes[index]
        if kept < len(boxes):
            box.start = max(box.start, boxes[kept].stop)
            del boxes[kept:]
        if boxes:
            parent = boxes[-1]
            box.stop = min(box.stop, parent.stop)
            if box.start <= parent.start and parent.start + 1 < box.stop:
                box.start = parent.start + 1  # equal starts: viewers take the first for the outer
        box.start = max(box.start, self._stops[index] if not boxes else box.start)
        box.stop = max(box.stop, box.start)
        boxes.append(box)
        self._stops[index] = max(self._stops[index], box.stop)
        return Place(index, box.start, box.stop)


def _is_over(earlier: Box, box: Box) -> bool:
    """Say whether ``earlier`` ended before ``box`` began, but for rounding."""
    if earlier.stop > box.start + _TOLERANCE_NS or earlier.stop >= box.stop:
        return False
    return earlier.depth is None or box.depth is None or earlier.depth >= box.depth


def _kinship(outer: Box, box: Box) -> int | None:
    """Return how close a covering box is: 0 by path, 1 by depth alone, ``None`` for no parent."""
    if box.stop > outer.stop + _TOLERANCE_NS:
        return None
    if box.depth is not None and (outer.depth is None or outer.depth + 1 != box.depth):
        return None
    return 0 if box.path.startswith(outer.path + "/") else 1
