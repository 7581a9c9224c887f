"""Damaged line ends: one that is gone joins two lines, one that came from nowhere breaks a line in two.

One byte that flips can do either. Joined lines are read where each is whole: an object ends at one
place only, and no byte of a row that flips makes it end earlier with another whole row behind it, so
nothing is read that was not written. A broken line is lost, for which byte it lost cannot be told;
its two halves are one line that is lost.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.row import STEP_MAX, STEP_MIN
from expr_tracker.store.lines import decode_line, is_out_of_stack
from expr_tracker.store.markers import Beginning, is_marker, read_marker

if TYPE_CHECKING:
    from expr_tracker.row import Row

__all__ = [
    "bytes_between",
    "is_whole_with",
    "joined_metric_lines",
    "joined_objects",
    "valid_step",
]

_object_at: Final = json.JSONDecoder().raw_decode
#: What may stand at a place of a line of which nothing is known but that no text goes on there, or that an
#: escape may: all that JSON is made of outside of texts, and in escapes. The likely ones first.
_OUTSIDE: Final = b',0123456789:"]}{[.-+ eEtrufalsnNIiy\\/bcdABCDF'
#: What may stand within a text: its end, an escape, and any letter for all the others.
_WITHIN: Final = b'a"\\'
#: Bytes of characters that are more than one byte long; needed only beside one of them.
_HIGH: Final = bytes(range(0x80, 0x100))
#: The longest thing that a parser reports by where it begins, other than a text: ``-Infinity``.
_TOKEN_CHARACTERS: Final = 9
#: An escape is as long: ``\\ud800``.
_ESCAPE_CHARACTERS: Final = 6


def valid_step(row: Row) -> int | None:
    """Return the step of a decoded line; ``None`` if it has none that a file may hold."""
    step: Any = row.get("_step")
    # Other programs wrote true and false.
    return int(step) if isinstance(step, int) and STEP_MIN <= step <= STEP_MAX else None


def joined_objects(line: bytes) -> list[Row]:
    """Return the objects that stand in an unreadable line with at most a byte between two of them.

    Empty where the line is anything else.
    """
    if b"}" not in line[:-1]:
        return []
    # Each byte that is no text becomes one character, so that the places stay.
    text = line.decode("utf-8", "surrogateescape")
    rows: list[Row] = []
    at = 0
    while at < len(text):
        # The byte where a line end was may be a bracket itself.
        begins = at + 1 if rows and not text.startswith('{"', at) else at
        try:
            _, at = _object_at(text, begins)
        except (ValueError, RecursionError) as error:
            if is_from_signal(error) or is_out_of_stack(error, line):
                raise
            return []
        # The parser takes what no file holds, bytes that are no text and more.
        row = decode_line(text[begins:at].encode("utf-8", "surrogateescape"))
        if row is None:
            return []
        rows.append(row)
    return rows


def joined_metric_lines(line: bytes) -> list[Row]:
    """Return the rows and markers that are joined in a line of a metrics file.

    Empty where one of them is neither, or where an attempt begins between two of them: what is one
    line belongs to one attempt.
    """
    rows = joined_objects(line)
    if any(valid_step(row) is None and not is_marker(row) for row in rows):
        return []
    if any(isinstance(read_marker(row), Beginning) for row in rows[1:-1]):
        return []
    return rows


def is_whole_with(byte: int, head: bytes, tail: bytes) -> bool:
    """Say whether two unreadable lines are one line with ``byte`` between them."""
    return decode_line(head + bytes((byte,)) + tail) is not None


def bytes_between(head: bytes, tail: bytes) -> bytes:
    """Return what has to be tried between two unreadable lines to see whether they are one.

    Nothing where ``head`` is damaged itself: one reading tells, for what begins a sound line is a
    mistake to a parser at its end only.
    """
    if not head.startswith(b"{") or not tail.endswith(b"}"):
        return b""
    text = head.decode("utf-8", "surrogateescape")
    try:
        _object_at(text)
    except json.JSONDecodeError as error:
        is_within = error.msg.startswith("Unterminated string")
        if not is_within and error.pos < len(text) - _TOKEN_CHARACTERS:
            return b""
    except (ValueError, RecursionError) as error:
        if is_from_signal(error) or is_out_of_stack(error, head):
            raise
        return b""
    else:
        return b""  # an object that has ended
    between = _OUTSIDE
    if is_within and b"\\" not in head[-_ESCAPE_CHARACTERS:]:
        between = _WITHIN
    return between + _HIGH if head[-1] >= _HIGH[0] or tail[0] >= _HIGH[0] else between
