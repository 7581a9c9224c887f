r"""The line format: the specification, and the only code that encodes or decodes a line.

A line file is UTF-8 text; each line is one JSON object, strict JSON (RFC 8259), ended by ``\n``. A
line without its end is not there yet. Readers skip empty lines and lines they cannot read (and
count them), and members that they do not know. Nesting has a limit, `DEPTH_MAX`: a line beyond it is
one that nobody reads, for what one program can decode another could not write again.

Damage to a line's end joins two lines, with one byte or none between them; where each of the two is
whole, readers take both.

**Metric row**: ``{"_step": int, "_time": float, NAME: VALUE, ...}``

- ``_step`` is a signed 64-bit integer, the user's; it may repeat and run backwards. Lines of one
  step are merged when read: member by member, the later line wins.
- ``_time`` is in Unix seconds (UTC), taken when the row was opened.
- A number that JSON cannot hold is ``null``, and the row has
  ``"_nonfinite": {POINTER: "NaN" | "Infinity" | "-Infinity"}`` with JSON pointers (RFC 6901).
- Text is Unicode. Half a surrogate pair, which is none, is written as the six characters of its
  escape (``\\ud800`` in JSON); older lines have JSON's own escape of it, and are read.

**Markers** have no ``_step`` (`markers` builds and reads them):

- ``{"_attempt": n, "_from_step": int | null, "_time": float, "_pid": int}``: the lines after it
  belong to attempt ``n`` (the first attempt has no marker). With a ``_from_step``, rows of earlier
  attempts at that step and above are superseded. ``"_clock_back": SECONDS`` stands in it where the
  clock was more than an hour behind the newest time before it: only there ``_time`` runs backwards.
- ``{"_attempt_end": n, "_status": TEXT, "_time": float}``: attempt ``n`` ended by itself; the
  status is ``succeeded``, ``failed``, ``cancelled``, or ``rewound`` where the same process begins
  the next attempt. An attempt without it, if it is not the newest of a stream whose lock is held,
  is that of a process that was lost.

**Span**: ``{"_step", "name", "depth", "track", "start", "dur_ms"[, "metrics"][, "error"][, "args"]}``
(``start`` in Unix seconds, ``dur_ms`` in milliseconds).

**Console line**: ``{"_time", "source": "stdout" | "stderr", "text"}``.

Bare ``NaN`` and ``Infinity`` tokens, which older programs wrote, are read as floats.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from expr_tracker.interruption import is_from_signal
from expr_tracker.nonfinite import with_nonfinite, without_nonfinite
from expr_tracker.row import STEP_MAX, STEP_MIN, Row
from expr_tracker.surrogates import storable

if TYPE_CHECKING:
    from collections.abc import Callable

Decoded = TypeVar("Decoded")

__all__ = [
    "DEPTH_MAX",
    "are_steps",
    "decode_line",
    "decoded_lines",
    "encode_canonical_line",
    "encode_exact_line",
    "encode_finite",
    "encode_line",
    "is_metric_row",
    "is_out_of_stack",
    "is_safe_to_skip",
    "may_be_too_deep",
]

#: Containers within containers in one line, the line's own object counted. Writers keep to a third of
#: it; with one of another program every reader still has stack enough to write it again.
DEPTH_MAX: Final = 200
_TEXT: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}\n")

_encoder = msgspec.json.Encoder()

#: Encodes a row known to hold only finite numbers, text, None, lists and dicts: the fast way.
#: msgspec would write ``null`` for a NaN without a word, so everything else takes `encode_line`.
encode_finite = _encoder.encode

_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(type=dict[str, Any]).decode


def encode_line(row: Row) -> bytes:
    """Return a row of plain values as one line, its end included."""
    strict = without_nonfinite(row)
    try:
        return encode_finite(strict) + b"\n"
    except (UnicodeEncodeError, RecursionError):
        text = json.dumps(
            storable(strict), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        return text.encode() + b"\n"


def encode_exact_line(row: Row) -> bytes:
    """Return a row as one line that gives back file names as they are.

    A name that is no UTF-8 is text with halves of surrogate pairs; each is JSON's own escape here,
    for the file has to be found again. Python reads it, strict parsers may stop at it.
    """
    return _exact_line(row, encode_finite, is_sorted=False)


def encode_canonical_line(row: Row) -> bytes:
    """Return a row as the one line that equal rows have: exact, its keys sorted."""
    return _exact_line(row, _encode_sorted, is_sorted=True)


def _exact_line(row: Row, encode: Callable[[Any], bytes], *, is_sorted: bool) -> bytes:
    strict = without_nonfinite(row)
    try:
        return encode(strict) + b"\n"
    except (UnicodeEncodeError, RecursionError):
        text = json.dumps(
            strict,
            ensure_ascii=False,
            allow_nan=False,
            sort_keys=is_sorted,
            separators=(",", ":"),
        )
        # "backslashreplace" turns a half into exactly its JSON escape.
        return text.encode("utf-8", "backslashreplace") + b"\n"


def decode_line(line: bytes) -> Row | None:
    """Return the object of one line, non-finite numbers restored; ``None`` if it is unreadable.

    Raises:
        RecursionError: the caller's stack is nearly used up, which says nothing of the line.
    """
    try:
        row = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # Older files hold bare NaN tokens, 1e999 and halves of surrogate pairs: Python's own
        # parser reads all of them.
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if is_from_signal(error) or is_out_of_stack(error, line):
                raise
            return None
        if not isinstance(row, dict):
            return None
    if line.count(b"[") + line.count(b"{") > DEPTH_MAX and _is_too_deep(row):
        return None
    if "_nonfinite" in row:
        with_nonfinite(row)
    return row


def is_out_of_stack(error: Exception, text: bytes) -> bool:
    """Say whether a parser gave up for want of stack, where ``text`` itself is not nested too deep."""
    return isinstance(error, RecursionError) and not _is_nested_too_deep(text)


def _is_nested_too_deep(text: bytes) -> bool:
    """Say whether a line that no parser got through is nested beyond the limit."""
    depth = 0
    for bracket in _TEXT.sub(b"", text).translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEPTH_MAX:
            return True
    return False


def _is_too_deep(row: Row) -> bool:
    level: list[Any] = [row]
    for _ in range(DEPTH_MAX):
        inner: list[Any] = []
        for container in level:
            members = container.values() if isinstance(container, dict) else container
            inner += [member for member in members if isinstance(member, (dict, list))]
        if not inner:
            return False
        level = inner
    return True


def decoded_lines(piece: bytes, decode: Callable[[bytes], Decoded]) -> list[Decoded] | None:
    """Decode each line of ``piece``; ``None`` unless each is sound, whole and not nested too deep.

    Line by line: a decoder of many lines takes line ends for white space, so two rows glued
    together, or one cut by a line end, would pass unnoticed.
    """
    *lines, rest = piece.split(b"\n")
    if rest or may_be_too_deep(piece, len(lines)):
        return None
    try:
        return list(map(decode, lines))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def are_steps(values: list[Any]) -> bool:
    """Say whether each value of a list that is not empty is an integer within the limits."""
    return set(map(type, values)) == {int} and min(values) >= STEP_MIN and max(values) <= STEP_MAX


def may_be_too_deep(piece: bytes, lines: int) -> bool:
    """Say whether one of the ``lines`` of ``piece`` may be nested beyond the limit.

    Brackets in texts count too.
    """
    lists = piece.count(b"[") if b"[" in piece else 0  # few rows hold any: looking is cheaper
    if piece.count(b"{") + lists - lines < DEPTH_MAX:
        return False
    brackets = piece.translate(None, _NO_BRACKETS)
    return max(map(len, brackets.split(b"\n"))) > 2 * DEPTH_MAX


def is_safe_to_skip(piece: bytes) -> bool:
    """Say whether no member that a decoder skips unread can be damaged.

    Only reading a text shows a bad escape or bytes that are no UTF-8.
    """
    if b"\\" in piece:
        return False
    if piece.isascii():
        return True
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_metric_row(row: Row) -> bool:
    """Say whether a decoded line is a metric row, not a marker and nothing foreign."""
    return isinstance(row.get("_step"), int)
