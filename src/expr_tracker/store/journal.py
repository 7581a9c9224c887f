"""The journal of the open row: what a killed process had gathered but not committed.

It is one small document beside the data file, valid only while the data file has the size that the
row was opened at: any later commit outdates it by itself. Readers use it only when the stream has
no live writer; a resume commits it as a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from expr_tracker.interruption import suppress_own
from expr_tracker.row import STEP_MAX, STEP_MIN, Row
from expr_tracker.store.documents import read_document, write_document

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["clear_journal", "read_journal", "write_journal"]


def write_journal(path: Path, row: Row, *, ordinal: int, data_size: int) -> None:
    """Replace the journal.

    Args:
        path: where it lives.
        row: the open row, ``_step`` and ``_time`` included.
        ordinal: the place that the row will have in the file (0-based).
        data_size: bytes of the data file when the row was opened.

    Raises:
        OSError: it could not be written.
    """
    document = {"data_size": data_size, "ordinal": ordinal, "row": row}
    write_document(path, document, indent=None)


def read_journal(path: Path, data_size: int) -> Row | None:
    """Return the row of a journal that is valid for a data file of ``data_size`` bytes."""
    document = read_document(path)
    if document is None or document.get("data_size") != data_size:
        return None
    row = document.get("row")
    step = row.get("_step") if isinstance(row, dict) else None
    if not isinstance(step, int) or not STEP_MIN <= step <= STEP_MAX:
        return None
    return row


def clear_journal(path: Path) -> None:
    """Remove the journal; a failure leaves one that is outdated anyway."""
    with suppress_own(OSError):
        path.unlink(missing_ok=True)
