"""Tables for a terminal: aligned columns, as many as fit, one line a row.

Text from files is shown, never obeyed: control characters become escapes.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import click

from expr_tracker.row import without_nonfinite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["cell_text", "echo_bytes", "echo_table", "json_bytes", "local_time"]

#: A longer cell is cut: one text must not push every number off the screen.
_CELL_CHARACTERS_MAX: Final = 40
_GAP: Final = "  "
_ESCAPES: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {
    9: "\\t",
    10: "\\n",
    13: "\\r",
}


def cell_text(value: Any) -> str:
    """Return a value as one short cell: floats to six digits, an empty cell for nothing."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    text: str = value.translate(_ESCAPES)
    text = text.encode("utf-8", "backslashreplace").decode()
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
    shown = [cell_text(name) for name in names]
    cells = [list(line) for line in lines]
    widths = [
        max(len(shown[i]), max((len(line[i]) for line in cells), default=0))
        for i in range(len(shown))
    ]
    count = _fitting(widths) if sys.stdout.isatty() else len(widths)
    for line in (shown, *cells):
        pairs = zip(line[:count], widths[:count], strict=True)
        echo_bytes((_GAP.join(cell.ljust(width) for cell, width in pairs)).rstrip().encode())
    if count < len(shown):
        rest = ", ".join(shown[count:])
        click.echo(f"({len(shown) - count} more columns: {rest}; --metric chooses)", err=True)


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


def echo_bytes(line: bytes) -> None:
    """Print one line of UTF-8, whatever encoding the terminal claims."""
    click.echo(line)
