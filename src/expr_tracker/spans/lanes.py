"""Lanes: overlapping spans of one track, arranged so that each lane is a valid stack.

A viewer draws a lane as nested boxes, so on a lane two spans either nest or do not overlap. A span
goes under the span that it ran in: one that covers it and is exactly one level less deep, preferably
one whose path its own path begins with. Spans that merely overlap (two tasks, two threads) get lanes
of their own. Spans without a depth nest by time alone.

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

    __slots__ = ("depth", "filled", "path", "start", "stop")

    def __init__(self, path: str, *, start: int, stop: int, depth: int | None) -> None:
        self.path, self.start, self.stop, self.depth = path, start, stop, depth
        #: Up to where boxes inside of it are drawn: the next one begins there at the earliest.
        self.filled = start


class Lanes:
    """The lanes of one track, filled in the order of `place`."""

    def __init__(self) -> None:
        #: Of every lane the boxes that are open where it is filled up to, outermost first.
        self._lanes: list[list[Box]] = []
        self._filled: list[int] = []

    def place(self, box: Box) -> Place:
        """Return the place of the next span.

        Spans come by start, then longest first, then by depth, then as they stand in the file.
        """
        best: tuple[int, int, int, tuple[int, int]] | None = None
        for index, boxes in enumerate(self._lanes):
            while boxes and boxes[-1].stop <= box.start:
                boxes.pop()
            kept = len(boxes)
            while kept and _is_over(boxes[kept - 1], box):
                kept -= 1
            kinship = 2 if kept == 0 else _kinship(boxes[kept - 1], box)
            if kinship is None or (best is not None and kinship >= best[0]):
                continue
            edges = self._edges(index, kept, box)
            if edges is not None:
                best = (kinship, index, kept, edges)
        if best is None:
            self._lanes.append([])
            self._filled.append(box.start)
            best = (2, len(self._lanes) - 1, 0, (box.start, box.stop))
        return self._put(best[1], best[2], box, edges=best[3])

    def _edges(self, index: int, kept: int, box: Box) -> tuple[int, int] | None:
        """Return start and stop of a box in a lane; ``None`` if it had to be bent too far."""
        boxes = self._lanes[index]
        if kept == 0:
            start, stop = max(box.start, self._filled[index]), box.stop
        else:
            parent = boxes[kept - 1]
            start, stop = max(box.start, parent.filled), min(box.stop, parent.stop)
            if start == parent.start and start + 1 < stop:
                start += 1  # equal starts: viewers take the first for the outer
        stop = max(start, stop)
        if start - box.start > _TOLERANCE_NS or abs(stop - box.stop) > _TOLERANCE_NS:
            return None
        return start, stop

    def _put(self, index: int, kept: int, box: Box, *, edges: tuple[int, int]) -> Place:
        boxes = self._lanes[index]
        del boxes[kept:]
        box.start, box.stop = edges
        box.filled = box.start
        if boxes:
            boxes[-1].filled = max(boxes[-1].filled, box.stop)
        else:
            self._filled[index] = max(self._filled[index], box.stop)
        boxes.append(box)
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
