"""What a live writer knows beyond its file, of one moment: the reader's other half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.store.index import StreamIndex

__all__ = ["LiveSnapshot"]


@dataclass(frozen=True)
class LiveSnapshot:
    """The state of a live stream, taken in one moment under the writer's lock."""

    index: StreamIndex
    """A copy of the index; it covers exactly the lines that are in the file."""
    pending: list[bytes]
    """Committed lines (ends included) that wait for the file, in order."""
    open_row: Row | None
    """A copy of the open row, ``_step`` and ``_time`` first; ``None`` where no row is open."""
