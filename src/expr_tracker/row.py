"""A row: what users log, made into plain JSON values.

`RowEncoder` turns any object into `None`, booleans, numbers, text, lists and dicts at the moment of
the call, so a list that the user changes later does not change the row. It never raises for a
value: what cannot be encoded becomes its ``repr`` with one warning per key.

Numbers that JSON cannot hold stay floats in memory; `expr_tracker.nonfinite` takes them out for the file.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Real
from pathlib import Path, PurePath
from typing import Any

from expr_tracker.arrays import ELEMENTS_MAX, array_statistics, list_statistics, too_many
from expr_tracker.errors import StepError
from expr_tracker.interruption import is_from_signal
from expr_tracker.limits import (
    Room,
    TooLargeError,
    all_elements,
    first_elements,
    length_of,
)
from expr_tracker.surrogates import join_halves, storable_text
from expr_tracker.texts import cut, reason_of, shown, text_of, type_name

__all__ = [
    "INT_LIMIT",
    "META_NAMES",
    "RESERVED_NAMES",
    "STEP_MAX",
    "STEP_MIN",
    "MediaValue",
    "Row",
    "RowEncoder",
    "index_of",
    "items_of",
    "key_text",
    "step_from",
]

#: One row in memory: plain values by metric name.
Row = dict[str, Any]

#: The two members that every metric line begins with.
META_NAMES = ("_step", "_time")
#: Names that the file format owns; a user's value under one of them is ignored with a warning.
RESERVED_NAMES = frozenset(
    {
        *META_NAMES,
        "_nonfinite",
        "_attempt",
        "_attempt_end",
        "_clock_back",
        "_from_step",
        "_status",
        "_stream",
        "_rank",
        "_pid",
    }
)

#: A step fits a signed 64-bit integer, in the file as in every table and database that reads it.
STEP_MIN, STEP_MAX = -(2**63), 2**63 - 1

#: A longer repr is cut: it stands for a value that nobody will parse.
_REPR_CHARACTERS_MAX = 512
#: Deeper containers become their repr; the encoder of the lines recurses too.
_DEPTH_MAX = 64
#: Python neither prints nor reads longer integers (`sys.get_int_max_str_digits`).
INT_LIMIT = 10**4300


class MediaValue:
    """A value that lives in a file of its own; the row holds a reference to it.

    No abstract base class: asking ``isinstance`` of one costs 300 ns for every foreign value.
    """

    def reference(self, directory: Path) -> Row:
        """Write the content below ``directory`` (once per content) and return the reference."""
        raise TypeError(f"{type(self).__name__} does not say how it is stored in {directory}.")


def step_from(value: object) -> int:
    """Return ``value`` as a step.

    Whole numbers of any real type are taken (``3.0``, ``numpy.float32(3.0)``); anything else is not.

    Raises:
        StepError: not a whole number, or outside 64 bits.
    """
    if type(value) is int:
        step = value
    elif isinstance(value, float):
        if not value.is_integer():
            raise StepError(
                f"step={shown(value)}: a step is a whole number; round it or leave it out."
            )
        step = int(value)
    elif (index := index_of(value)) is not None:
        step = index
    elif isinstance(value, Real):  # numpy.float32, a Fraction
        step = _whole(value)
    else:
        raise StepError(
            f"step={shown(value)} ({type_name(value)}): a step is a whole number; "
            f"pass an int, or leave it out to take the next one."
        )
    if not STEP_MIN <= step <= STEP_MAX:
        raise StepError(f"step={shown(step)}: a step lies between -2**63 and 2**63 - 1.")
    return step


def index_of(value: object) -> int | None:
    """Return the int that an object is by its own ``__index__``, or ``None``."""
    try:
        # As an exact int: a truth value is one by itself.
        return int.__int__(operator.index(value))  # type: ignore[arg-type]
    # No number, an array of several elements, or the object's own fault.
    except Exception as error:
        if is_from_signal(error):
            raise
        return None


def _whole(value: Any) -> int:
    try:
        whole = int(value)
    except (ValueError, OverflowError) as error:  # not a number, infinite
        if is_from_signal(error):
            raise
        whole = None
    if whole is None or whole != value:
        raise StepError(
            f"step={shown(value)}: a step is a whole number; round it or leave it out."
        )
    return whole


def key_text(key: object) -> str:
    """Return a metric name for any mapping key: text as it is, anything else as ``str``.

    Of a text that is more than one, a member of a ``str`` enumeration for example, its text: a dict
    finds it under that, whatever ``str`` makes of it, and so does the row of another call. A key
    without a text, because its ``str`` raises, is named by its type.
    """
    if type(key) is str:
        return key
    # The text of a subclass of str is taken from it, whatever its methods say.
    return str.__str__(key) if issubclass(type(key), str) else text_of(str, key)


class RowEncoder:
    """Encodes the values that users log.

    Args:
        warn: called with ``(key, text)`` when a value degrades; de-duplication is the caller's.
        media_directory: where `MediaValue` contents go; ``None`` refuses them (they become text).
        drop: called likewise when a value is not stored, for another key has the text of its own;
            by default ``warn`` is.
        bytes_max: the longest line that the values may become a part of; ``None`` is any length. What
            is sure to be longer is given up before all of it has been looked at.
    """

    def __init__(
        self,
        warn: Callable[[str, str], None],
        media_directory: Path | None = None,
        *,
        drop: Callable[[str, str], None] | None = None,
        bytes_max: int | None = None,
    ) -> None:
        self.bytes_max = bytes_max
        self._warn = warn
        self._drop = warn if drop is None else drop
        self._media_directory = media_directory

    def row(self, data: object) -> Row:  # noqa: C901 - one loop, the frequent types first
        """Return the metrics of one ``log`` call, in the order they were given.

        Raises:
            TooLargeError: no line of ``bytes_max`` has room for them.
        """
        if data is None:
            return {}
        room = Room(self.bytes_max)
        if not issubclass(type(data), dict):  # isinstance would ask the object
            encoded = self._value("value", data, room)
            is_row = type(encoded) is dict and _has_members(data)
            return encoded if is_row else {"value": encoded}
        room.take_members(data)  # type: ignore[arg-type]
        row: Row = {}
        for key, value in items_of(data):  # type: ignore[arg-type]
            name = self._name(key)
            if name in row:
                self._drop(name, f"the text of two keys: {_LAST_STAYS}")
            if type(value) is str:
                row[name] = value if value.isascii() else self._text(name, value)
            elif type(value) in _ATOMS:
                if type(value) is int and not -INT_LIMIT < value < INT_LIMIT:
                    value = self._too_long(name, value)  # noqa: PLW2901 - the stored form
                row[name] = value
            elif issubclass(type(value), float):  # numpy.float64, the most frequent guest
                try:
                    row[name] = float(value)
                except Exception as error:  # as in `value`
                    if is_from_signal(error):
                        raise
                    row[name] = self._value(name, value, room)
            else:
                row[name] = self._value(name, value, room)
        return row

    def value(self, key: str, value: object) -> Any:
        """Return one value, plain; its ``repr`` (cut) with a warning where it has no plain form."""
        try:
            return self._value(key, value, Room(self.bytes_max))
        except TooLargeError as error:
            self._warn(key, f"not stored, only its type is: {error}")
            return f"<{type_name(value)}, too large>"  # its repr would take as long as the value

    def _value(self, key: str, value: object, room: Room) -> Any:
        try:
            return self._plain(key, value, 0, room)
        except TooLargeError:
            raise
        except Exception as error:  # any object may raise anything; nothing is lost
            if is_from_signal(error):
                raise
            self._warn(key, f"stored as its repr: {reason_of(error)}")
            return storable_text(cut(text_of(repr, value), _REPR_CHARACTERS_MAX))

    def _plain(  # noqa: C901, PLR0911, PLR0912, PLR0917
        self, key: str, value: object, depth: int, room: Room
    ) -> Any:
        # One ladder, most frequent first: a dispatch table would hide the order that matters
        # (bool before int, Enum before its mixed-in type, containers before duck typing).
        kind = type(value)
        if kind in _ATOMS:
            if kind is str:
                room.take(len(value))  # type: ignore[arg-type]
                if not value.isascii():  # type: ignore[attr-defined]
                    return self._text(key, value)  # type: ignore[arg-type]
                return value
            if kind is int and not -INT_LIMIT < value < INT_LIMIT:  # type: ignore[operator]
                return self._too_long(key, value)  # type: ignore[arg-type]
            return value
        if depth >= _DEPTH_MAX:
            raise ValueError(f"nested deeper than {_DEPTH_MAX} levels, or cyclic")
        if isinstance(value, Enum):
            return self._plain(key, value.value, depth + 1, room)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, int):
            return self._plain(key, int(value), depth + 1, room)
        if isinstance(value, str):
            return self._text(key, str.__str__(value))
        if isinstance(value, dict):
            return self._members(key, value, depth=depth, room=room)
        if isinstance(value, (list, tuple)):
            return self._list(key, value, depth=depth, room=room)
        if isinstance(value, MediaValue):
            if self._media_directory is None:
                raise TypeError("media cannot be stored here")
            return value.reference(self._media_directory)
        if getattr(value, "ndim", None) == 0 and kind.__name__ != "datetime64":
            return self._plain(key, value.item(), depth + 1, room)  # type: ignore[attr-defined]
        if isinstance(value, Mapping):
            return self._members(key, value, depth=depth, room=room)
        if isinstance(value, (set, frozenset, deque)):
            return self._list(key, value, depth=depth, room=room)
        if isinstance(value, Iterator):
            return self._list(key, first_elements(value, ELEMENTS_MAX), depth=depth, room=room)
        if isinstance(value, Decimal):
            return self._decimal(key, value)
        simple = _simple(value)
        if simple is not _NO_SIMPLE_FORM:
            return self._text(key, simple) if isinstance(simple, str) else simple
        return self._plain(key, self._opened(key, value), depth + 1, room)

    def _members(self, key: str, mapping: Mapping[Any, Any], *, depth: int, room: Room) -> Row:
        room.take_members(mapping)
        pairs = items_of(mapping)
        row = {self._name(k): self._plain(key, v, depth + 1, room) for k, v in pairs}
        for _ in range(len(pairs) - len(row)):
            self._drop(key, f"a dict with two keys of one text: {_LAST_STAYS}")
        return row

    def _list(self, key: str, values: Collection[Any], *, depth: int, room: Room) -> Any:
        elements = all_elements(values)
        statistics = list_statistics(elements)
        if statistics is not None:
            self._warn(key, too_many("a list", math.prod(statistics["shape"])))
            return statistics
        room.take_elements(len(elements))
        return [self._plain(key, item, depth + 1, room) for item in elements]

    def _decimal(self, key: str, value: Decimal) -> int | float:
        number = _number_from_decimal(value)
        if value.is_finite() and type(number) is float and Decimal(repr(number)) != value:
            shown = str(value)[:40]
            self._warn(key, f"{shown} has more digits than a float and is rounded to {number!r}")
        return number

    def _name(self, key: object) -> str:
        name = key_text(key)
        return name if name.isascii() else self._text(storable_text(name), name)

    def _text(self, key: str, text: str) -> str:
        whole = join_halves(text)
        stored = storable_text(whole)
        if stored != whole:
            self._warn(
                key, "text with half a surrogate pair, which no file can hold: the half is stored "
                "as the six characters of its escape"
            )  # fmt: skip
        return stored

    def _too_long(self, key: str, value: int) -> str:
        self._warn(key, "stored as text: no program reads an int of more than 4300 digits")
        return f"an int of {value.bit_length()} bits"

    def _opened(self, key: str, value: object) -> object:
        """Return the contents of a foreign object: one step towards plain values."""
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        dump = getattr(value, "model_dump", None)
        if callable(dump):
            return dump(mode="json")
        if isinstance(value, type) or callable(value):
            raise TypeError(f"{type(value).__name__} has no JSON form")
        statistics = array_statistics(value)
        if statistics is not None:
            self._warn(key, too_many("an array", math.prod(statistics["shape"])))
            return statistics
        detach = getattr(value, "detach", None)  # torch tensors with a gradient
        return _contents(detach() if callable(detach) else value)


#: What is said of the keys 1 and "1" of one dict.
_LAST_STAYS = "the last of their values is stored, the other is not"
_ATOMS = frozenset({float, int, str, bool, type(None)})
_NO_SIMPLE_FORM = object()


def _has_members(data: object) -> bool:
    """Say whether a ``log`` of ``data`` is one of several metrics: its members have names.

    Statistics of an array and the reference to an image are dicts too, but of our making.
    """
    kind = type(data)  # isinstance would ask the object
    if issubclass(kind, MediaValue):
        return False
    return (
        issubclass(kind, Mapping)
        or (dataclasses.is_dataclass(kind) and not issubclass(kind, type))
        or callable(getattr(kind, "model_dump", None))
    )


def _simple(value: object) -> Any:  # noqa: PLR0911 - one line per kind
    """Return the text or number of a standard value, or the mark that it has none."""
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, (datetime, date, time)):
        # pandas.NaT is a datetime whose text is "NaT".
        return None if value != value else value.isoformat()  # noqa: PLR0124
    if isinstance(value, timedelta):
        return None if value != value else value.total_seconds()  # noqa: PLR0124
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8")
    module, name = type(value).__module__, type(value).__name__
    if name == "Pattern" and module == "re":
        return value.pattern  # type: ignore[attr-defined]
    if module.startswith("pandas.") and name in {"NAType", "NaTType"}:
        return None
    if module in {"ipaddress", "uuid"} or (module.startswith("pydantic") and name.endswith("Url")):
        return str(value)
    if module == "numpy" and name == "datetime64":
        text = str(value)
        return None if text == "NaT" else text
    return _NO_SIMPLE_FORM


def _number_from_decimal(value: Decimal) -> int | float:
    if value.is_finite():
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= 0:
            if value.adjusted() >= 4300:  # see INT_LIMIT; int() of 1E+999999999 takes hours
                raise ValueError("a decimal of more than 4300 digits")
            return int(value)
        return float(value)
    if value.is_snan():
        raise ValueError("a signaling NaN has no float")
    return float(value)


def _contents(value: object) -> object:
    """Return what an object holds, by the first of its own words for it that works."""
    if _is_frame(value):
        return _columns(value)
    for method in ("tolist", "to_list", "item", "to_dict"):
        opened = getattr(value, method, None)
        if callable(opened):
            return opened()
    contents: object = getattr(value, "__dict__", None) or None
    # `dict` asks for keys() and takes their items, whether or not the value can be iterated.
    if isinstance(value, Iterable) or _has_keys(value):
        try:
            contents = _dict_of(value)
        except (TypeError, ValueError) as error:
            if is_from_signal(error):
                raise
            # Its words are about the arguments of dict, not about the value.
            contents = None if isinstance(value, Iterable) else contents
    if contents is None:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return contents


def _dict_of(value: Any) -> dict[Any, Any]:
    """Return ``dict(value)``, of a value that ends."""
    keys = value.keys() if _has_keys(value) else None
    pairs = value if keys is None else ((key, value[key]) for key in keys)
    return dict(first_elements(pairs, ELEMENTS_MAX))


def _has_keys(value: object) -> bool:
    return callable(getattr(value, "keys", None)) and hasattr(type(value), "__getitem__")


def _is_frame(value: object) -> bool:
    return type(value).__name__ == "DataFrame" and hasattr(value, "columns")


def _columns(frame: Any) -> dict[Any, Any]:
    """Return a data frame of polars or pandas as lists by column."""
    return {name: frame[name].to_list() for name in frame.columns}


def items_of(mapping: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Return the items of a mapping, as one list: another thread may add names meanwhile.

    Of a dict they are always there, whatever a subclass makes of ``items``.
    """
    if type(mapping) is dict:
        return list(mapping.items())
    most = max(length_of(mapping), ELEMENTS_MAX)
    try:
        return [(key, value) for key, value in first_elements(mapping.items(), most)]
    except Exception as error:  # the fault of a subclass; the dict below has none
        if is_from_signal(error) or not issubclass(type(mapping), dict):
            raise
    return list(dict.items(mapping))  # type: ignore[arg-type]
