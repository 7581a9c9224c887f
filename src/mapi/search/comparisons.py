"""What a field is compared with: values, read by the type of their field.

``value = number | string | bare | time ;``
``text = string | bare | number ;``
"""

from __future__ import annotations

import difflib
from typing import Final, Literal, NoReturn, TypeAlias

from mapi.search.identity import RUN_PREFIX, canonical_id
from mapi.search.literals import (
    duration_from_word,
    is_bare,
    is_number,
    is_time,
    number_from_word,
    quoted,
    read_string,
    time_from_word,
)
from mapi.search.nodes import KINDS, STATUSES, Attribute, Field, Param, Value, ValueType
from mapi.search.printing import field_text
from mapi.search.source import KEYWORDS, Expectation, Source, fault
from mapi.wire.times import time_from_us, unit_of

__all__ = ["read_value"]

_Wanted: TypeAlias = ValueType | Literal["pattern"]

_TEXTS: Final = ("a word", "a text in quotes")
_ENUMERATIONS: Final[dict[str, tuple[str, ...]]] = {"kind": KINDS, "status": STATUSES}
_EXPECTED: Final[dict[_Wanted, tuple[str, ...]]] = {
    "number": ("a number",),
    "param": ("a number", *_TEXTS),
    "text": _TEXTS,
    "pattern": _TEXTS,
    "time": ("2026-11-20", "2026-11-20T10:00:00Z", "-7d"),
    "kind": KINDS,
    "status": STATUSES,
}


#: What may be any text, so that a strange character is one without its quotes.
_QUOTABLE: Final = frozenset({"param", "text", "pattern"})
#: A number of seconds, or of finer units, since 1970 is told as such up to the year 2100.
_LATEST_US: Final = 4_102_444_800_000_000
_EPOCH_DIGITS_MAX: Final = 19
_ENDS: Final = frozenset({"", "(", ")", ",", "=", "<", ">", "!", "~"})


def read_value(source: Source, field: Field, wanted: _Wanted) -> Value:
    """Read a value after white space.

    Args:
        source: the text.
        field: what it is compared with.
        wanted: of which type it has to be.

    Raises:
        InvalidError: it is of another type, or none.
    """
    source.skip_blanks()
    at = source.at
    of = field_text(field)
    open_kind = "literal" if wanted in _ENUMERATIONS else "value"
    source.miss(*(Expectation(text, open_kind, of) for text in _EXPECTED[wanted]))
    if source.peek() in {'"', "'"}:
        return _from_string(source, field, wanted)
    word = source.peek_word()
    if not word:
        if wanted in _QUOTABLE and source.peek() not in _ENDS:
            raise fault(f"a text with {source.peek()!r} stands in quotes", (at, 1), _TEXTS)
        source.fail_here("a value")
    value = _from_word(field, word, (at, len(word)), wanted=wanted)
    source.at = at + len(word)
    if source.peek() in {"*", "?"}:
        raise fault(f"a text with {source.peek()!r} stands in quotes", (source.at, 1), _TEXTS[1:])
    return value


def _from_string(source: Source, field: Field, wanted: _Wanted) -> Value:
    at = source.at
    text = read_string(source)
    place = (at, source.at - at)
    match wanted:
        case "number":
            is_param = isinstance(field, Param)
            order = "a param and a text have no order, and " if is_param else ""
            raise fault(f"{order}a number has no quotes", place, _EXPECTED["number"])
        case "time":
            value = time_from_word(text, at)
            if value is None:
                _refuse_time(text, place)
            return value
        case "kind" | "status":
            return _member(text, place, _ENUMERATIONS[wanted])
        case "text":
            return _text(field, text)
        case _:
            return text


def _from_word(field: Field, word: str, place: tuple[int, int], *, wanted: _Wanted) -> Value:
    match wanted:
        case "number":
            return _number(field, word, place)
        case "time":
            value = time_from_word(word, place[0])
            if value is None:
                _refuse_time(word, place)
            return value
        case "kind" | "status":
            return _member(word, place, _ENUMERATIONS[wanted])
        case "param" if is_number(word):
            return number_from_word(word, place[0])
        case _:
            if not (is_bare(word) or is_number(word) or is_time(word)):
                _refuse_word(word, place)
            return _text(field, word) if wanted == "text" else word


def _number(field: Field, word: str, place: tuple[int, int]) -> float:
    if is_number(word):
        return number_from_word(word, place[0])
    if field == Attribute("duration"):
        seconds = duration_from_word(word)
        if seconds is not None:
            return seconds
    expected = _EXPECTED["number"]
    if word.upper().lstrip("+-") == "NAN":
        raise fault(
            "nothing is equal to nan, and nothing orders it: IS NAN asks for it",
            place,
            ("IS NAN",),
        )
    if word.lower().lstrip("+-") in {"inf", "infinity"}:
        raise fault(f"infinity is written inf, not {word}", place, ("inf", "-inf"))
    raise fault(f"a number is expected, not {word[:40]!r}", place, expected)


def _text(field: Field, text: str) -> str:
    if isinstance(field, Attribute) and field.name in {"id", "parent"}:
        return canonical_id(text, RUN_PREFIX)
    return text


def _member(word: str, place: tuple[int, int], members: tuple[str, ...]) -> str:
    if word in members:
        return word
    near = difflib.get_close_matches(word.lower(), members, n=1)
    advice = f"; did you mean {near[0]}?" if near else ""
    raise fault(f"{word[:40]!r} is none of {', '.join(members)}{advice}", place, members)


def _refuse_time(word: str, place: tuple[int, int]) -> NoReturn:
    if word.isascii() and word.isdigit() and len(word) <= _EPOCH_DIGITS_MAX:
        found = unit_of(int(word), now_us=_LATEST_US)
        if found is not None:
            meant = time_from_us(found[1]).isoformat().replace("+00:00", "Z")
            raise fault(f"{word} looks like {found[0]} since 1970: write {meant}", place, (meant,))
    raise fault(
        f"{word[:40]!r} is no time: a date, a date with T and a time of day (RFC 3339), or a span "
        "ago such as -7d",
        place,
        _EXPECTED["time"],
    )


def _refuse_word(word: str, place: tuple[int, int]) -> NoReturn:
    if word.upper() in KEYWORDS:
        raise fault(f"{word} is a keyword; as a text it stands in quotes", place, (quoted(word),))
    raise fault(f"{word[:40]!r} stands in quotes", place, (quoted(word),))
