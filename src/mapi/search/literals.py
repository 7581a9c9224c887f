"""Numbers, times and quoted texts, as a filter spells them.

One syntax for what a user types; what a *param* of a run counts as a number is the business of the
series, not of this module.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from mapi.search.nodes import Ago
from mapi.search.source import KEYWORDS, Source, fault

__all__ = [
    "duration_from_word",
    "is_bare",
    "is_number",
    "is_time",
    "number_from_word",
    "quoted",
    "read_string",
    "time_from_word",
]

_NUMBER: Final = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf)")
_BARE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:@+-]*")
_AGO: Final = re.compile(r"-([0-9]+)([smhdw])")
_SPAN: Final = re.compile(r"([0-9]+)([smhdw])")
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_LOOKS_LIKE_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}|-[0-9]+[a-zA-Z]")
_HEX: Final = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES: Final = {'"': '"', "'": "'", "\\": "\\", "n": "\n", "t": "\t"}
#: Longer ago than any run, and far from where the calendar ends.
_AGO_MAX: Final = timedelta(days=36_525)


def is_bare(word: str) -> bool:
    """Say whether a word is a text without quotes: ``bare`` of the grammar."""
    return _BARE.fullmatch(word) is not None and word.upper() not in KEYWORDS


def is_number(word: str) -> bool:
    """Say whether a word is a number."""
    return _NUMBER.fullmatch(word) is not None


def is_time(word: str) -> bool:
    """Say whether a word has the form of a time, right or wrong."""
    return _LOOKS_LIKE_TIME.match(word) is not None


def number_from_word(word: str, at: int) -> float:
    """Return the float64 nearest to a word that `is_number`.

    ``number = [ "+" | "-" ] , ( digits , [ "." , [ digits ] ] | "." , digits ) , [ exponent ]
    | [ "+" | "-" ] , "inf" ;``

    Raises:
        InvalidError: it is beyond the largest float64.
    """
    number = float(word)
    if math.isinf(number) and not word.endswith("inf"):
        raise fault(
            f"{word[:40]} is beyond the largest number, 1.8e308; infinity is written inf",
            (at, len(word)),
            ("inf",),
        )
    return number


def duration_from_word(word: str) -> float | None:
    """Return the seconds of ``90s``, ``5m``, ``2h``, ``7d`` or ``1w``, or ``None``."""
    found = _SPAN.fullmatch(word)
    if found is None or len(found[1]) > _DIGITS_MAX:
        return None
    return Ago(int(found[1]), found[2]).span.total_seconds()


#: A timedelta holds no more than 999 999 999 days.
_DIGITS_MAX: Final = 8


def time_from_word(word: str, at: int) -> datetime | Ago | None:
    """Return the time in UTC that a word means, or ``None`` where it has another form.

    ``time = date , [ "T" , hh , ":" , mm , [ ":" , ss , [ "." , digits ] ] ,
    [ "Z" | ( "+" | "-" ) , hh , ":" , mm ] ] | "-" , digits , ( "s" | "m" | "h" | "d" | "w" ) ;``

    Raises:
        InvalidError: the calendar or the clock has no such time.
    """
    ago = _AGO.fullmatch(word)
    if ago is not None:
        return _ago(ago, at)
    found = _TIME.fullmatch(word)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    microsecond = int((found[7] or "").ljust(6, "0"))
    try:
        zone = _zone(found[8] or "Z")
        return datetime(
            year, month, day, hour, minute, second, microsecond, tzinfo=zone
        ).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise fault(f"there is no time {word}: {error}", (at, len(word)), _TIMES) from error


#: What a fault about a time offers.
_TIMES: Final = ("2026-11-20", "2026-11-20T10:00:00Z", "-7d")


def _ago(found: re.Match[str], at: int) -> Ago:
    if len(found[1]) > _DIGITS_MAX or Ago(int(found[1]), found[2]).span > _AGO_MAX:
        word = found[0]
        raise fault(f"{word[:40]} is more than 100 years ago", (at, len(word)), _TIMES)
    return Ago(int(found[1]), found[2])


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError(f"no zone {text}")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def read_string(source: Source) -> str:
    r"""Read a quoted text.

    ``string = '"' , { char | escape } , '"' | "'" , { char | escape } , "'" ;``
    ``escape = "\" , ( '"' | "'" | "\" | "n" | "t" | "u" , 4 * hex ) ;``

    Raises:
        InvalidError: it does not end, or an escape is none.
    """
    start, mark = source.at, source.peek()
    source.at += 1
    parts: list[str] = []
    while not source.is_at_end:
        character = source.peek()
        if character == mark:
            source.at += 1
            return "".join(parts)
        if character == "\\":
            parts.append(_read_escape(source))
        else:
            parts.append(character)
            source.at += 1
    raise fault(
        f"the text that begins with {mark} does not end",
        (start, len(source.text) - start),
        (mark,),
    )


def _read_escape(source: Source) -> str:
    start = source.at
    letter = source.text[start + 1 : start + 2]
    if letter != "u":
        if letter not in _ESCAPES:
            raise fault(
                f"'\\{letter}' is no escape",
                (start, 1 + len(letter)),
                ('\\"', "\\'", "\\\\", "\\n", "\\t", "\\u0000"),
            )
        source.at += 2
        return _ESCAPES[letter]
    unit = _read_unit(source)
    if 0xD800 <= unit < 0xDC00 and source.text.startswith("\\u", source.at):
        low = _read_unit(source)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
    if unit == 0 or 0xD800 <= unit < 0xE000:
        raise fault(
            f"U+{unit:04X} occurs in no value: no U+0000 and no half of a surrogate pair",
            (start, source.at - start),
        )
    return chr(unit)


def _read_unit(source: Source) -> int:
    found = _HEX.match(source.text, source.at + 2)
    if found is None:
        length = len(source.text[source.at : source.at + 6])
        raise fault("'\\u' takes four digits of 0-9 and a-f", (source.at, length), ("\\u00e9",))
    source.at += 6
    return int(found[0], 16)


def quoted(text: str) -> str:
    """Return a text in double quotes, as `read_string` reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'
