"""The front door of the language: texts of a request in, trees out, or one fault that points.

Repeated filters are joined by AND. The name map is handed in: a quoted metric is a foreign name,
and which series that is, is decided elsewhere.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from mapi.errors import Fault, InvalidError
from mapi.search.fields import (
    FAMILIES,
    SeriesFromName,
    note_fields,
    read_field,
    read_series,
    refuse_blank_in_metric,
)
from mapi.search.grammar import LEVELS_MAX, PREDICATES_MAX, FilterParser
from mapi.search.nodes import (
    EVERYTHING,
    And,
    Attribute,
    Column,
    Field,
    Metric,
    MetricAt,
    Node,
    SortKey,
    levels,
    predicate_count,
)
from mapi.search.printing import columns_text, field_text, filter_text, sort_text
from mapi.search.source import TEXT_LENGTH_MAX, Expectation, Source, check_text, fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "COLUMNS_MAX",
    "DEFAULT_SORT",
    "LIMIT_DEFAULT",
    "LIMIT_MAX",
    "SORT_KEYS_MAX",
    "join_filters",
    "parse_columns",
    "parse_filter",
    "parse_limit",
    "parse_sort",
    "read_columns",
    "read_sort",
]

#: More keys decide between runs that nobody can tell apart any more.
SORT_KEYS_MAX: Final = 3
#: Each is a look-up for every run of a page.
COLUMNS_MAX: Final = 50
LIMIT_DEFAULT: Final = 50
#: A page is built in memory; 500 runs with 50 columns are about a megabyte.
LIMIT_MAX: Final = 500
DEFAULT_SORT: Final = (SortKey(Attribute("created"), is_descending=True),)


@contextmanager
def _pointed(pointer: str) -> Iterator[None]:
    """Put the pointer into the faults of what is parsed inside."""
    try:
        yield
    except InvalidError as error:
        raise InvalidError([replace(one, pointer=pointer) for one in error.faults]) from None


def parse_filter(
    text: str, *, series_from_name: SeriesFromName, pointer: str = "/query/filter"
) -> Node:
    """Return the tree of a filter; a blank text is the filter that lets every run through.

    Args:
        text: decoded, as the user typed it.
        series_from_name: the name map.
        pointer: where the text came from.

    Raises:
        InvalidError: with one fault, at the first thing that is wrong.
    """
    with _pointed(pointer):
        check_text(text)
        node = FilterParser(Source(text), series_from_name).read()
        _check_canonical(filter_text(node))
        return node


def join_filters(filters: Sequence[Node], *, pointer: str = "/query/filter") -> Node:
    """Return one filter that is true where all of several are: repeats, and that of a view.

    Raises:
        InvalidError: together they have too many predicates or levels.
    """
    operands: list[Node] = []
    for one in filters:
        operands.extend(one.operands if isinstance(one, And) else (one,))
    if len(operands) < 2:
        return operands[0] if operands else EVERYTHING
    joined = And(tuple(operands))
    with _pointed(pointer):
        if predicate_count(joined) > PREDICATES_MAX:
            raise fault(f"all filters together have at most {PREDICATES_MAX} predicates", (0, 0))
        if levels(joined) > LEVELS_MAX:
            raise fault(
                f"joined by AND, the filters are nested more than {LEVELS_MAX} deep", (0, 0)
            )
        _check_canonical(filter_text(joined))
    return joined


def _check_canonical(text: str) -> None:
    # Answers and cursors carry the canonical text, and it has to be good for a request again.
    length = len(text)
    if length > TEXT_LENGTH_MAX:
        raise fault(
            f"written out in full this has {length} characters: at most {TEXT_LENGTH_MAX}",
            (0, 0),
        )


def parse_sort(
    text: str, *, series_from_name: SeriesFromName, pointer: str = "/query/sort"
) -> tuple[SortKey, ...]:
    """Return the keys of a sort order; a blank text is the default, newest first.

    ``sort = key , { "," , key } ;      key = [ "-" ] , field ;``

    Raises:
        InvalidError: with one fault, at the first thing that is wrong.
    """
    with _pointed(pointer):
        check_text(text)
        keys = read_sort(Source(text), series_from_name)
        _check_canonical(sort_text(keys))
        return keys


def read_sort(source: Source, series_from_name: SeriesFromName) -> tuple[SortKey, ...]:
    """Read a whole text as a sort order."""
    source.skip_blanks()
    if source.is_at_end:
        note_fields(source)
        return DEFAULT_SORT
    keys: list[SortKey] = []
    while True:
        keys.append(_read_sort_key(source, series_from_name, keys))
        if _is_last(source):
            return tuple(keys)


def _read_sort_key(
    source: Source, series_from_name: SeriesFromName, before: Sequence[SortKey]
) -> SortKey:
    source.skip_blanks()
    start = source.at
    is_descending = source.take("-")
    field = read_field(source, series_from_name)
    end = source.at
    _refuse_after_field(source, field)
    if any(one.field == field for one in before):
        raise fault(f"{field_text(field)} is a key of this order already", (start, end - start))
    if len(before) == SORT_KEYS_MAX:
        raise fault(f"a sort order has at most {SORT_KEYS_MAX} keys", (start, end - start))
    return SortKey(field, is_descending)


def parse_columns(
    text: str, *, series_from_name: SeriesFromName, pointer: str = "/query/columns"
) -> tuple[Column, ...]:
    """Return columns; a blank text is none.

    ``columns = column , { "," , column } ;``

    Raises:
        InvalidError: with one fault, at the first thing that is wrong.
    """
    with _pointed(pointer):
        check_text(text)
        columns = read_columns(Source(text), series_from_name)
        _check_canonical(columns_text(columns))
        return columns


def read_columns(source: Source, series_from_name: SeriesFromName) -> tuple[Column, ...]:
    """Read a whole text as columns."""
    source.skip_blanks()
    if source.is_at_end:
        note_fields(source)
        return ()
    columns: list[Column] = []
    while True:
        source.skip_blanks()
        start = source.at
        columns.append(_read_column(source, series_from_name))
        if len(columns) > COLUMNS_MAX:
            raise fault(f"there are at most {COLUMNS_MAX} columns", (start, source.at - start))
        if _is_last(source):
            return tuple(columns)


def _read_column(source: Source, series_from_name: SeriesFromName) -> Column:
    """Read ``column = field | metric , "AT" , ( "MIN" | "MAX" ) , metric ;``, without suffixes."""
    source.skip_blanks()
    start = source.at
    field = read_field(source, series_from_name)
    end = source.at
    if isinstance(field, Metric):
        refuse_blank_in_metric(source)
        if source.take_keyword("AT"):
            if source.text[start:end].endswith(f".{field.stat}"):
                length = len(field.stat) + 1
                raise fault(
                    "a column with AT shows the value at one step: it has no suffix",
                    (end - length, length),
                )
            return _read_place(source, field, series_from_name)
    return field


def _read_place(source: Source, field: Metric, series_from_name: SeriesFromName) -> MetricAt:
    extreme: Literal["min", "max"]
    if source.take_keyword("MIN"):
        extreme = "min"
    elif source.take_keyword("MAX"):
        extreme = "max"
    else:
        source.fail_here("MIN or MAX")
    source.skip_blanks()
    head = source.peek_word().partition(".")[0]
    if FAMILIES.get(head) != "metrics":
        source.miss(Expectation("metrics."))
        source.fail_here("a metric")
    source.at += len(head)
    if not source.take("."):
        source.fail_here("'.' and a key")
    key, labels = read_series(source, series_from_name)
    if source.peek() == ".":
        length = len(source.peek_word())
        raise fault("a metric after AT has no suffix", (source.at, length), (",", "the end"))
    refuse_blank_in_metric(source)
    return MetricAt(field.key, field.labels, extreme, key, labels)


def _refuse_after_field(source: Source, field: Field) -> None:
    if isinstance(field, Metric):
        refuse_blank_in_metric(source)
        if source.peek_word().upper() == "AT":
            raise fault("AT stands in columns only", (source.at, 2), (",", "the end"))


def _is_last(source: Source) -> bool:
    source.skip_blanks()
    if source.is_at_end:
        source.miss(Expectation(","), Expectation("the end", "end"))
        return True
    if not source.take(","):
        source.miss(Expectation("the end", "end"))
        source.fail_here("',' or the end")
    # A comma promises another field.
    return False


def parse_limit(given: int | None, *, pointer: str = "/query/limit") -> int:
    """Return how many runs a page has.

    Raises:
        InvalidError: it is outside of 1 to 500.
    """
    if given is None:
        return LIMIT_DEFAULT
    if not 1 <= given <= LIMIT_MAX:
        raise InvalidError(
            Fault(pointer, f"a page has 1 to {LIMIT_MAX} runs, not {given}", expected=("1", "500"))
        )
    return given
