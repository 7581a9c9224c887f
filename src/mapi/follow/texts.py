"""A row's values that are no numbers → one line of the platform's log: pure.

The line's message names them, its fields are the values. What the platform has no room or no character
for is changed as little as it has to be, and counted.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from mapi.sdk.checks import plain
from mapi.series.name_map import full_name
from mapi.wire.metrics import FOREIGN_NAME_LENGTH_MAX
from mapi.wire.times import time_from_us

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mapi.follow.rows import TextRow
    from mapi.series.names import Labels

__all__ = ["LogLine", "fields_within", "line_of_row", "name_to_keep", "plain_value", "storable"]

LogLine = dict[str, Any]

#: JSON of one line's fields: the platform takes 64 KiB, and its spelling may be a little longer.
_FIELDS_BYTES_MAX: Final = 60_000
#: Nested deeper, a value is kept as its JSON text.
_DEPTH_MAX: Final = 20
_NAMES_LENGTH_MAX: Final = 1_000
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"


def line_of_row(row: TextRow) -> tuple[LogLine, list[str]]:
    """Return the line, and what had to be changed for it, a reason for each value."""
    changes: list[str] = []
    fields = fields_within(row.values, changes, bytes_max=_FIELDS_BYTES_MAX)
    names = ", ".join(fields)
    if len(names) > _NAMES_LENGTH_MAX:
        names = names[:_NAMES_LENGTH_MAX] + "…"
    line = {
        "message": f"step {row.step}: {names}",
        "fields": fields,
        "time": time_from_us(row.time_us),
    }
    return line, changes


def fields_within(
    values: Mapping[str, Any], changes: list[str], *, bytes_max: int
) -> dict[str, Any]:
    """Return values as the platform takes them beside a line or a span.

    Args:
        values: by name.
        changes: takes in what had to be changed, a reason for each value.
        bytes_max: of their JSON.
    """
    fields = {
        storable(name, changes): _field(value, changes, depth=0) for name, value in values.items()
    }
    if _size(fields) <= bytes_max:
        return fields
    room = max(20, bytes_max // (8 * len(fields)))
    for name, value in fields.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) > room:
            fields[name] = text[:room] + "…"
            changes.append("cut: the platform has no room for as much beside a line or a span")
    if _size(fields) > bytes_max:  # very many
        changes += [
            "left out: the platform has no room for as many beside a line or a span"
        ] * len(fields)
        fields = {}
    return fields


def storable(text: str, changes: list[str]) -> str:
    """Return a text with U+FFFD in place of what the platform has no character for."""
    if _UNSTORABLE.search(text) is None:
        return text
    changes.append("kept with U+FFFD in place of U+0000, which the platform cannot hold")
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def plain_value(value: Any, changes: list[str]) -> Any:
    """Return a value of a document as the platform's JSON can hold it; what it changes is told.

    However deep it nests: what lies deeper than a request may is text first.
    """
    return plain(_field(value, changes, depth=0))


def name_to_keep(name: str, labels: Labels) -> str | None:
    """Return the name that the platform keeps beside labels that have no room for it, if they have none."""
    kept = full_name(name, labels)
    return None if kept is None or len(kept) > FOREIGN_NAME_LENGTH_MAX else kept


def _size(fields: dict[str, Any]) -> int:
    return len(json.dumps(fields, ensure_ascii=False).encode(errors="replace"))


def _field(value: Any, changes: list[str], *, depth: int) -> Any:
    if isinstance(value, str):
        return storable(value, changes)
    if isinstance(value, (dict, list)) and depth >= _DEPTH_MAX:
        return storable(json.dumps(value, ensure_ascii=False), changes)
    if isinstance(value, dict):
        return {
            storable(name, changes): _field(inner, changes, depth=depth + 1)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_field(inner, changes, depth=depth + 1) for inner in value]
    if type(value) is int and not -(2**63) <= value < 2**64:
        return str(value)
    return value
