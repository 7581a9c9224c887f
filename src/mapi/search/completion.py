"""What could stand at a place of an unfinished text: the parser's own expectations there.

Literal options are what may be typed. Open ones name a class, such as the keys of metrics or the
values of a label, whose members the caller knows: a list of the project's fields, say.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from mapi.errors import InvalidError
from mapi.search.fields import FAMILIES
from mapi.search.grammar import FilterParser
from mapi.search.parsing import read_columns, read_sort
from mapi.search.source import TEXT_LENGTH_MAX, Expectation, Source

if TYPE_CHECKING:
    from mapi.search.fields import SeriesFromName

__all__ = ["Completion", "complete"]

Kind: TypeAlias = Literal["filter", "sort", "columns"]

_WORD_BEFORE: Final = re.compile(r"[A-Za-z0-9_./:@+-]*\Z")
_OPEN_STRING: Final = re.compile(r"""(?:[^"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Completion:
    """What could stand at the cursor."""

    start: int
    """Where the unfinished word begins, in code points; an option replaces it up to the cursor."""
    prefix: str
    """The unfinished word, without an opening quote."""
    options: tuple[Expectation, ...]
    """What fits: literals that begin with the prefix, and every open class."""
    begins_field: bool = False
    """Whether a field could begin here: its family may still have to be typed."""


def complete(
    text: str, cursor: int, *, series_from_name: SeriesFromName, kind: Kind = "filter"
) -> Completion:
    """Return what could stand at a cursor, judged by the text before it.

    Args:
        text: what was typed so far.
        cursor: where, in code points; beyond the end counts as the end.
        series_from_name: the name map.
        kind: which of the three languages the text is in.
    """
    before = text[: max(0, min(cursor, len(text), TEXT_LENGTH_MAX))]
    start, prefix = _unfinished(before, series_from_name, kind)
    is_quoted = before[start : start + 1] in {'"', "'"}
    options = _expected_after(before[:start], series_from_name, kind)
    folded = prefix.lower()
    fitting = tuple(
        one
        for one in options
        if one.kind not in {"literal", "end"}
        or (one.kind == "literal" and not is_quoted and one.text.lower().startswith(folded))
    )
    begins_field = not is_quoted and Expectation(f"{FAMILIES['metric']}.") in options
    return Completion(start, prefix, fitting, begins_field=begins_field)


def _unfinished(before: str, series_from_name: SeriesFromName, kind: Kind) -> tuple[int, str]:
    """Return where the last word begins that could still become another one, and the word."""
    closed = _OPEN_STRING.match(before)
    assert closed is not None
    if closed.end() < len(before):
        return closed.end(), before[closed.end() + 1 :]
    found = _WORD_BEFORE.search(before)
    assert found is not None
    start, word = found.start(), found[0]
    if before[start - 1 : start] in {"}", '"', "'"} and word.startswith("."):
        return start + 1, word[1:]
    if word.startswith("-") and kind == "sort":
        start, word = start + 1, word[1:]
    head, dot, rest = word.partition(".")
    fields = {one.text for one in _expected_after(before[:start], series_from_name, kind)}
    if not (dot and head in FAMILIES and f"{FAMILIES[head]}." in fields):
        return start, word
    _, dot, stat = rest.partition(".")
    if FAMILIES[head] == "metrics" and dot:
        return len(before) - len(stat), stat
    return len(before) - len(rest), rest


def _expected_after(text: str, series_from_name: SeriesFromName, kind: Kind) -> list[Expectation]:
    """Return what the grammar looks for at the end of a text; nothing if it is wrong before."""
    source = Source(text)
    with contextlib.suppress(InvalidError):
        match kind:
            case "filter":
                FilterParser(source, series_from_name).read()
            case "sort":
                read_sort(source, series_from_name)
            case "columns":
                read_columns(source, series_from_name)
    return source.expectations() if source.is_at_end else []
