"""Numbers that JSON cannot hold, in a row: out of it for the file, and back when it is read.

In the file each is null, and the row's member ``_nonfinite`` says which: a JSON pointer (RFC 6901) →
``NaN``, ``Infinity`` or ``-Infinity``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from expr_tracker.row import Row

__all__ = ["with_nonfinite", "without_nonfinite"]

_NAMES: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def without_nonfinite(row: Row) -> Row:
    """Return ``row`` as strict JSON can hold it.

    Non-finite floats, nested ones too, become ``None`` and are listed under ``_nonfinite``: JSON
    pointer (RFC 6901) → ``NaN``, ``Infinity`` or ``-Infinity``. A finite row is returned as it is.
    """
    found: dict[str, str] = {}
    strict = {key: _strict(value, "/" + _pointer_part(key), found) for key, value in row.items()}
    if not found:
        return row
    strict["_nonfinite"] = found
    return strict


def _strict(value: Any, pointer: str, found: dict[str, str]) -> Any:
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        found[pointer] = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return None
    if isinstance(value, dict):
        return {k: _strict(v, f"{pointer}/{_pointer_part(k)}", found) for k, v in value.items()}
    if isinstance(value, list):
        return [_strict(v, f"{pointer}/{i}", found) for i, v in enumerate(value)]
    return value


def _pointer_part(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def with_nonfinite(row: Row) -> Row:
    """Put the floats that ``_nonfinite`` names back into a decoded line, in place.

    Pointers that lead nowhere, or to a value that is not null, are left alone: a damaged member
    must not cost the rest of the row.
    """
    found = row.pop("_nonfinite", None)
    if not isinstance(found, dict):
        return row
    for pointer, name in found.items():
        number = _NAMES.get(name) if isinstance(name, str) else None
        if number is not None:
            _put(row, pointer, number)
    return row


def _put(row: Row, pointer: str, number: float) -> None:
    *path, last = [p.replace("~1", "/").replace("~0", "~") for p in pointer.split("/")[1:]] or [""]
    place: Any = row
    for part in path:
        place = _member(place, part)
    if isinstance(place, dict):
        if last in place and place[last] is None:
            place[last] = number
    elif isinstance(place, list) and last.isdecimal() and int(last) < len(place):
        index = int(last)
        if place[index] is None:
            place[index] = number


def _member(place: Any, part: str) -> Any:
    if isinstance(place, dict):
        return place.get(part)
    if isinstance(place, list) and part.isdecimal() and int(part) < len(place):
        return place[int(part)]
    return None
