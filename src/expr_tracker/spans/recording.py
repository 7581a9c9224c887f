"""What a finished span leaves behind: its time in the open row, and its line in the span file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from expr_tracker.row import key_text
from expr_tracker.spans.hooks import JOINS
from expr_tracker.spans.stack import warn_once
from expr_tracker.store.lines import encode_finite, encode_line

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.spans.span import Span
    from expr_tracker.spans.target import SpanTarget

__all__ = ["ATTRIBUTES_BYTES_MAX", "record"]

#: Attributes say which batch or file it was; a document in each line would drown the timeline.
ATTRIBUTES_BYTES_MAX: Final = 64 * 1024
_ATOMS: Final = frozenset({float, int, str, bool, type(None)})
_NUMBERS: Final = frozenset({float, int, bool, type(None)})
#: A number of as many digits is never taken for a secret, under no name.
_COUNT_MAX: Final = 999_999
#: Integers that every JSON encoder writes as they are; larger ones take the slow way.
_INT_MAX: Final = 2**63 - 1


def record(target: SpanTarget, span: Span, start: float) -> bool:
    """Join a finished span to the open row and append its line.

    Args:
        target: the open run.
        span: the span; its ``metrics`` become plain values.
        start: when it began, in Unix seconds.

    Returns:
        False if the run has finished: nothing was taken.
    """
    path, duration_ms, metrics = span.path, span.duration_ms, span.metrics
    is_plain = True
    if metrics:
        metrics, is_plain = _encoded(target, metrics)
        span.metrics = metrics
    step = target.finished(path, duration_ms, metrics, joins=JOINS)
    if step is None:
        return False
    if not target.records:
        return True
    row: Row = {
        "_step": step,
        "name": path,
        "depth": span.depth,
        "track": span.track,
        "start": start,
        "dur_ms": duration_ms,
    }
    if metrics:
        row["metrics"] = metrics
    if span.error is not None:
        row["error"] = span.error
    if span.attributes:
        attributes, is_plain_too = _encoded(target, span.attributes)
        row["args"] = target.redact(attributes) if _may_hold_secrets(attributes) else attributes
        is_plain = is_plain and is_plain_too
    line = _line(row, is_plain)
    if len(line) > ATTRIBUTES_BYTES_MAX and "args" in row:
        line = _without_large_attributes(target, row, line)
    target.append(line)
    return True


def _line(row: Row, is_plain: bool) -> bytes:  # noqa: FBT001 - private, and named at each call
    if is_plain:
        try:
            return encode_finite(row) + b"\n"
        except UnicodeEncodeError:
            warn_once(
                "surrogates",
                f"The span {row['name'][:80]!r} has text with half a surrogate pair, which no file "
                "can hold: the half is stored as the six characters of its escape.",
            )
    return encode_line(row)


def _encoded(target: SpanTarget, values: Row) -> tuple[Row, bool]:
    """Return ``values`` as rows store them, and whether the fast encoder may write them."""
    for key, value in values.items():
        kind = type(value)
        if (
            kind not in _ATOMS
            or (kind is float and value - value != 0)
            or (kind is int and not -_INT_MAX <= value <= _INT_MAX)
            or type(key) is not str
        ):
            return {key_text(k): target.encode(key_text(k), v) for k, v in values.items()}, False
    return values, True


def _may_hold_secrets(attributes: Row) -> bool:
    """Say whether there is more than switches and small numbers: a look costs less than a search."""
    for value in attributes.values():
        kind = type(value)
        if kind not in _NUMBERS or (kind is int and not -_COUNT_MAX <= value <= _COUNT_MAX):
            return True
    return False


def _without_large_attributes(target: SpanTarget, row: Row, line: bytes) -> bytes:
    size = len(encode_line(row["args"]))
    if size <= ATTRIBUTES_BYTES_MAX:
        return line
    del row["args"]
    target.count_dropped("span attributes")
    warn_once(
        "attributes",
        f"The attributes of the span {row['name'][:80]!r} take {size} bytes, the limit is "
        f"{ATTRIBUTES_BYTES_MAX}: the span is kept without them. Log them, or save an artifact.",
    )
    return encode_line(row)
