"""What a writer notes of the parts that it sets aside, so that the sidecar can hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expr_tracker.store.parts import Part, parts_as_found, parts_beside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from expr_tracker.store.index import StreamIndex

__all__ = ["PartNotes"]


class PartNotes:
    """Notes in a writer's index what it sets aside.

    Args:
        path: the line file.
        index: what is known when the file is opened.
        start: where the live file begins.
    """

    def __init__(self, path: Path, index: StreamIndex, start: int) -> None:
        self._path = path
        self._start = start
        self._lines, self._rows = _counts(index.parts)
        if index.size > 0 and index.lines == 0:  # a file without an index
            self._lines = self._rows = None

    def catch_up(self, index: StreamIndex, start: int) -> None:
        """Note the part that ends where the live file now begins, unless it is noted.

        It is called before anything is written behind that part. An exception from a signal handler
        may fall anywhere: the next call then makes it good.
        """
        if start == self._start:
            return
        new = parts_beside(self._path, index.parts)
        is_exact = len(new) == 1 and new[0].size == start - self._start
        for part in new:
            index.note_part(
                part,
                lines=self._lines if is_exact else None,
                rows=self._rows if is_exact else None,
            )
        self._lines, self._rows = index.lines, index.rows
        self._start = start

    def begin_anew(self, index: StreamIndex, start: int) -> None:
        """Take in that another program changed the file; ``index`` has not counted it yet."""
        self._lines = self._rows = None
        index.parts = parts_as_found(self._path, index.parts)
        self._start = start


def _counts(parts: Sequence[Part]) -> tuple[int | None, int | None]:
    """Return the lines and rows of the parts that are whole; ``None`` if one was not counted."""
    lines = rows = 0
    for part in parts:
        if part.covered and (part.covered != part.size or part.lines is None or part.rows is None):
            return None, None
        if part.covered:
            lines += part.lines or 0
            rows += part.rows or 0
    return lines, rows
