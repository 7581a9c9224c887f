r"""The line format: the specification, and the only code that encodes or decodes a line.

A line file is UTF-8 text; each line is one JSON object, strict JSON (RFC 8259), ended by ``\n``. A
line without its end is not there yet. Readers skip empty lines and lines they cannot read (and
count them), and members that they do not know.

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
from typing import TYPE_CHECKING, Any

import msgspec

from expr_tracker.row import Row, with_nonfinite, without_nonfinite
from expr_tracker.surrogates import storable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "decode_line",
    "encode_canonical_line",
    "encode_exact_line",
    "encode_finite",
    "encode_line",
    "is_metric_row",
]

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
    """Return the object of one line, non-finite numbers restored; ``None`` if it is unreadable."""
    try:
        row = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # Older files hold bare NaN tokens, 1e999 and halves of surrogate pairs: Python's own
        # parser reads all of them.
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(row, dict):
            return None
    if "_nonfinite" in row:
        with_nonfinite(row)
    return row


def is_metric_row(row: Row) -> bool:
    """Say whether a decoded line is a metric row, not a marker and nothing foreign."""
    return isinstance(row.get("_step"), int)
