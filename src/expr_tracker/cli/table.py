"""Tables for a terminal: aligned columns, as many as fit, one line a row."""

from __future__ import annotations

import json
import shutil
import time
import unicodedata
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.cli.terminal import is_terminal, say, shown
from expr_tracker.history import without_nonfinite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["cell_text", "echo_table", "json_bytes", "local_time"]

#: A longer cell is cut: one text must not push every number off the screen.
_CELL_CHARACTERS_MAX: Final = 40
_GAP: Final = "  "
#: Fewer columns of characters than this are for values: the time takes a third of them.
_NARROW: Final = 60
#: The columns that give way on a narrow terminal.
_TIMES: Final = frozenset({"_time", "started", "created"})


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


def echo_table(
    names: Sequence[str],
    lines: Iterable[Sequence[str]],
    *,
    wanted: Sequence[str] = (),
    hint: str = "--format json has all",
) -> None:
    """Print a table without the columns for which there is no room; they are named on stderr.

    Args:
        names: the titles.
        lines: the cells.
        wanted: titles to which the others give way, the most important first.
        hint: how to see what is left out.
    """
    titles = [cell_text(name) for name in names]
    cells = [list(line) for line in lines]
    widths = [
        max(_width(titles[i]), max((_width(line[i]) for line in cells), default=0))
        for i in range(len(titles))
    ]
    first = [i for name in wanted for i, title in enumerate(names) if title == name]
    kept = _fitting(widths, first, [i for i, name in enumerate(names) if name in _TIMES])
    for line in (titles, *cells):
        say(_GAP.join(line[i] + " " * (widths[i] - _width(line[i])) for i in kept).rstrip())
    rest = [title for i, title in enumerate(titles) if i not in kept]
    if rest:
        columns = "1 more column" if len(rest) == 1 else f"{len(rest)} more columns"
        say(f"({columns}: {', '.join(rest)}; {hint})", err=True)


def _width(text: str) -> int:
    """Return how many cells of a terminal ``text`` takes: ideographs take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(character)
        else 2
        if unicodedata.east_asian_width(character) in {"W", "F"}
        else 1
        for character in text
    )


def _fitting(widths: list[int], first: list[int], times: list[int]) -> list[int]:
    """Return the columns for which there is room, at least one.

    Those of ``first`` take it first; those of ``times`` last where there is little of it. A column
    that is too wide leaves its room to those behind it.
    """
    # `COLUMNS` counts in a pipe as well, where there is no width otherwise.
    room = shutil.get_terminal_size((80 if is_terminal() else 0, 0)).columns
    if not room:
        return list(range(len(widths)))
    last = times if room < _NARROW else []
    others = [i for i in range(len(widths)) if i not in first and i not in last]
    kept: list[int] = []
    used = -len(_GAP)
    for i in dict.fromkeys([*first, *others, *last]):
        if used + len(_GAP) + widths[i] <= room or not kept:
            used += len(_GAP) + widths[i]
            kept.append(i)
    return sorted(kept)


def json_bytes(document: Any) -> bytes:
    """Return strict JSON, indented; of a list of rows each carries its ``_nonfinite``."""
    if isinstance(document, list):
        document = [without_nonfinite(row) if isinstance(row, dict) else row for row in document]
    elif isinstance(document, dict):
        document = without_nonfinite(document)
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    return text.encode("utf-8", "backslashreplace")
