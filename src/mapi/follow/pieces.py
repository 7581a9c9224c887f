"""Whole lines of a stretch of a file, a piece at a time, each about as much as fits a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mapi.follow.numbers import MARKED_BYTES, number_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Piece", "Pieces", "halves"]

_BYTES_FIRST: Final = 256 << 10
#: Of a point in a file: fewer than most have.
_POINT_BYTES: Final = 13
_BYTES_MIN: Final = 4 << 10
#: A piece is a request later on: half of what the server reads.
_BYTES_MAX: Final = 4 << 20


@dataclass(frozen=True)
class Piece:
    """Whole lines, and where they stand."""

    start: int
    lines: bytes
    before: bytes
    """What stands before them, as far as a number marks it."""

    @property
    def stop(self) -> int:
        """The offset behind them."""
        return self.start + len(self.lines)

    @property
    def number(self) -> int:
        """The number of the place behind them."""
        return number_of(self.stop, self._marked(len(self.lines)))

    def part(self, start: int, stop: int) -> Piece:
        """Return the lines between two of their borders, which count from the piece's beginning."""
        return Piece(self.start + start, self.lines[start:stop], self._marked(start))

    def _marked(self, at: int) -> bytes:
        """Return what stands before a place of the lines."""
        if at >= MARKED_BYTES:
            return self.lines[at - MARKED_BYTES : at]
        return (self.before + self.lines[:at])[-MARKED_BYTES:]


class Pieces:
    """Cuts stretches of a file into pieces; `fit` tells how large the next one should be.

    Args:
        items: how many of whatever the lines become a piece should come to.
    """

    def __init__(self, items: int) -> None:
        self._items = items
        self._size = max(_BYTES_MIN, min(_BYTES_FIRST, items * _POINT_BYTES))

    def next(self, read: Callable[[int, int], bytes], start: int, stop: int) -> Piece | None:
        """Return the piece that begins at ``start``, where a line does; ``None`` at the end.

        Args:
            read: returns the bytes between two offsets of the file.
            start: where a line begins.
            stop: where a line ends, and the stretch does.
        """
        size = self._size
        while start < stop:
            lines = read(start, min(start + size, stop))
            is_last = start + len(lines) >= stop or len(lines) < size
            end = len(lines) if is_last else lines.rfind(b"\n") + 1
            if end:
                return Piece(start, lines[:end], read(max(0, start - MARKED_BYTES), start))
            if is_last:  # cut by somebody meanwhile
                return None
            size *= 2  # one line longer than the piece
        return None

    def fit(self, piece: Piece, items: int) -> None:
        """Take in what a piece came to."""
        size = len(piece.lines) * self._items // max(1, items)
        self._size = max(_BYTES_MIN, min(_BYTES_MAX, size))


def halves(piece: Piece) -> tuple[Piece, Piece] | None:
    """Return a piece in two; ``None`` of one line alone."""
    size = len(piece.lines)
    middle = piece.lines.find(b"\n", size // 2) + 1
    if not 0 < middle < size:
        middle = piece.lines.rfind(b"\n", 0, size - 1) + 1
    if not 0 < middle < size:
        return None
    return piece.part(0, middle), piece.part(middle, size)
