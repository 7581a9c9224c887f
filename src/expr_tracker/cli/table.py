"""Tables for a terminal: aligned columns, as many as fit, one line a row."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.cli.terminal import is_terminal, say, shown
from expr_tracker.row import without_nonfinite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["cell_text", "echo_table", "json_bytes", "local_time"]

#: A longer cell is cut: one text must not push every number off the screen.
_CELL_CHARACTERS_MAX: Final = 40
_GAP: Final = "  "


def cell_text(value: Any) -> str:
    """Return a value as one short cell: floats to six digits, an empty cell for nothing."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    text = shown(value)
    if len(text) > _CELL_CHARACTERS_MAX:
        return text[: _CELL_CHARACTERS_MAX - 1] + "…"
    return text


def local_time(seconds: Any) -> str:
    """Return Unix seconds as local date and time; as they are where they are no date."""
    if not isinstance(seconds, (int, float)):
        return cell_text(seconds)
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return cell_text(seconds)


def echo_table(names: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a table; on a terminal without the columns that do not fit, which are then named."""
    titles = [cell_text(name) for name in names]
    cells = [list(line) for line in lines]
    widths = [
        max(len(titles[i]), max((len(line[i]) for line in cells), default=0))
        for i in range(len(titles))
    ]
    count = _fitting(widths) if is_terminal() else len(widths)
    for line in (titles, *cells):
        pairs = zip(line[:count], widths[:count], strict=True)
        say(_GAP.join(cell.ljust(width) for cell, width in pairs).rstrip())
    if count < len(titles):
        rest = ", ".join(titles[count:])
        say(f"({len(titles) - count} more columns: {rest}; --metric chooses)", err=True)


def _fitting(widths: list[int]) -> int:
    """Return how many columns the terminal is wide enough for; at least one."""
    room = shutil.get_terminal_size().columns
    used = 0
    for count, width in enumerate(widths):
        used += width + (len(_GAP) if count else 0)
        if used > room and count:
            return count
    return len(widths)


def json_bytes(document: Any) -> bytes:
    """Return strict JSON, indented; of a list of rows each carries its ``_nonfinite``."""
    if isinstance(document, list):
        document = [without_nonfinite(row) if isinstance(row, dict) else row for row in document]
    elif isinstance(document, dict):
        document = without_nonfinite(document)
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    return text.encode("utf-8", "backslashreplace")
