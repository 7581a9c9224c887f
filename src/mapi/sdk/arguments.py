"""What a call is given, of the kind that it takes: else it is told before there is a request.

Types in signatures tell a type checker; a program that runs none gets here what it would have said, with
the name of the argument, its value and what is taken.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import Any, Final

from mapi.errors import Fault, InvalidError
from mapi.wire.enums import LogLevel, SeriesStat
from mapi.wire.metrics import ATTEMPT_MAX, RANK_MAX, STEP_MAX

__all__ = [
    "INT64_MAX",
    "check_callable",
    "checked_path",
    "is_header",
    "items_of",
    "last_of",
    "mapping_of",
    "query_of",
    "rows_of",
    "shown",
    "text_of",
    "texts_of_list",
    "truth_of",
    "version_of",
    "whole_of",
    "whole_or_none",
]

INT64_MAX: Final = 2**63 - 1
_INT32_MAX: Final = 2**31 - 1
#: Parameters that are whole numbers: from and to, both included. How many at once is the server's to say.
_WHOLE: Final = {
    "after": (0, INT64_MAX),
    "attempt": (1, ATTEMPT_MAX),
    "before": (0, INT64_MAX),
    "buckets": (1, _INT32_MAX),
    "from": (0, STEP_MAX),
    "limit": (1, _INT32_MAX),
    "rank": (0, RANK_MAX),
    "step": (-1, STEP_MAX),  # of media: -1 are those without a step
    "time": (-INT64_MAX, INT64_MAX),
    "to": (0, STEP_MAX),
}
#: Those that are one of a list.
_WORDS: Final = {
    "if_exists": ("fail", "get"),
    "level": tuple(one.value for one in LogLevel),
    "stat": tuple(one.value for one in SeriesStat),
}
#: By name, what the interface takes where nothing is said.
_TRUTHS: Final = {"archived": None, "curves": True, "total": False, "trashed": False}
#: What the methods call what the interface calls so.
_OWN_NAMES: Final = {"from": "start", "to": "stop", "q": "text"}


def query_of(**values: Any) -> list[tuple[str, str]]:
    """Return the parameters of a query that are given: lists repeat, a trailing ``_`` is dropped.

    Raises:
        InvalidError: one is of another kind than the parameter.
    """
    found: list[tuple[str, str]] = []
    for written, value in values.items():
        name = written.rstrip("_")
        if value is None:
            continue
        at = f"/{_OWN_NAMES.get(name, name)}"
        if name in _TRUTHS:
            if truth_of(value, at=at) is not _TRUTHS[name]:
                found.append((name, "true" if value else "false"))
        elif name in _WHOLE:
            first, last = _WHOLE[name]
            found.append((name, str(whole_of(value, at=at, first=first, last=last))))
        elif isinstance(value, list | tuple):
            found += [(name, text_of(one, at=f"{at}/{i}")) for i, one in enumerate(value)]
        else:
            found.append((name, text_of(value, at=at, words=_WORDS.get(name, ()))))
    return found


def last_of(stop: Any) -> int | None:
    """Return the last step of a range as the interface takes it: ours ends before ``stop``.

    Raises:
        InvalidError: it is no step.
    """
    return None if stop is None else whole_of(stop, at="/stop", first=1, last=STEP_MAX) - 1


def whole_or_none(value: Any) -> int | None:
    """Return a whole number, of NumPy too; ``None`` of all else."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def whole_of(value: Any, *, at: str, first: int, last: int) -> int:
    """Return a whole number of a range.

    Raises:
        InvalidError: it is none.
    """
    found = whole_or_none(value)
    if found is None or not first <= found <= last:
        bounds = f"from {first} on" if last >= _INT32_MAX else f"{first} to {last}"
        raise InvalidError(Fault(at, f"{shown(value)} is no whole number {bounds}"))
    return found


def truth_of(value: Any, *, at: str) -> bool:
    """Return a boolean.

    Raises:
        InvalidError: it is none: ``"no"`` would count as true.
    """
    if not isinstance(value, bool):
        raise InvalidError(Fault(at, f"{shown(value)} is neither True nor False"))
    return value


def text_of(value: Any, *, at: str, words: tuple[str, ...] = ()) -> str:
    """Return a text that can be sent.

    Args:
        value: the text.
        at: what it is given as.
        words: those that are taken; none is any.

    Raises:
        InvalidError: it is none.
    """
    if not isinstance(value, str):
        raise InvalidError(Fault(at, f"{shown(value)} is no text"))
    if words and value not in words:
        message = f"{shown(value)} is not in the list: {', '.join(words)}"
        raise InvalidError(Fault(at, message, expected=words))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidError(
            Fault(at, f"{shown(value)} has half of a surrogate pair, which is no text")
        ) from None
    return str(value)


def texts_of_list(value: Any, *, at: str) -> list[str]:
    """Return a list of texts; one text alone is no list of its characters.

    Raises:
        InvalidError: it is none.
    """
    items = items_of(value)
    if items is None:
        raise InvalidError(Fault(at, f"{shown(value)} is no list of texts: write [...]"))
    return [text_of(one, at=f"{at}/{i}") for i, one in enumerate(items)]


def items_of(value: Any) -> list[Any] | None:
    """Return what is in a list, an array or the like; ``None`` of what holds no items for this."""
    if isinstance(value, str | bytes | bytearray | Mapping):
        return None
    try:
        return list(value)
    except TypeError:  # an array without a dimension says only here that it has no items
        return None


def mapping_of(value: Any, *, at: str) -> dict[str, Any]:
    """Return a mapping with texts as its keys.

    Raises:
        InvalidError: it is none.
    """
    if not isinstance(value, Mapping):
        raise InvalidError(Fault(at, f"{shown(value)} is no mapping: write {{...}}"))
    for key in value:
        if not isinstance(key, str):
            raise InvalidError(Fault(at, f"the key {shown(key)} is no text"))
    return dict(value)


def rows_of(value: Any, *, at: str) -> list[dict[str, Any]]:
    """Return a list of mappings.

    Raises:
        InvalidError: it is none.
    """
    items = items_of(value)
    if items is None:
        raise InvalidError(Fault(at, f"{shown(value)} is no list of mappings: write [{{...}}]"))
    return [mapping_of(one, at=f"{at}/{i}") for i, one in enumerate(items)]


def version_of(value: Any) -> str | None:
    """Return the version that was read, as a header takes it.

    Raises:
        InvalidError: it is none.
    """
    if value is not None and not is_header(value):
        raise InvalidError(
            Fault("/if_match", f"{shown(value)} is no version: give the etag of what was read")
        )
    return None if value is None else str(value)


def is_header(value: Any) -> bool:
    """Say whether a value can stand in a header: a text of printable ASCII."""
    return isinstance(value, str) and value.isascii() and value.isprintable() and bool(value)


def check_callable(value: Any, *, at: str) -> None:
    """Refuse what cannot be called.

    Raises:
        InvalidError: it is neither a function nor `None`.
    """
    if value is not None and not callable(value):
        raise InvalidError(Fault(at, f"{shown(value)} is no function"))


def checked_path(value: str | os.PathLike[str], *, at: str) -> str:
    """Return a path that a system can be asked for.

    Raises:
        InvalidError: it is empty, or has a NUL or half of a surrogate pair in it.
    """
    found = os.fspath(value)
    try:
        is_path = found != "" and b"\0" not in os.fsencode(found)
    except UnicodeEncodeError:
        is_path = False
    if not is_path:
        raise InvalidError(Fault(at, f"{shown(value)} can be no path of this system"))
    return found


def shown(value: object) -> str:
    """Return how a value is shown in a message: not longer than a line."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an object that is not ours
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:80]}..."
