"""What a query says, read: the labels, series, fields and filters that several routes take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mapi.errors import Fault, InvalidError
from mapi.search import Column, Node, join_filters, parse_columns, parse_filter
from mapi.search.nodes import Metric
from mapi.series.name_map import series_from_name
from mapi.series.names import canonical_labels, check_key, check_labels
from mapi.tracking.batch import Series
from mapi.tracking.curves import Stretch
from mapi.wire.decoding import FAULTS_MAX, pointer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.datastructures import MultiDict

__all__ = [
    "KEYS_MAX",
    "LABEL",
    "check_keys",
    "read_columns",
    "read_filters",
    "read_labels",
    "read_series",
    "read_series_text",
    "read_stretch",
]

#: ``label.split=val`` asks for the label ``split``.
LABEL: Final = "label."
#: Of one question.
KEYS_MAX: Final = 100
#: A filter has at most 50 predicates.
_FILTERS_MAX: Final = 50
_METRICS: Final = ("metrics.", "metric.")


def check_keys(keys: Sequence[str] | None) -> None:
    """Check the keys of a query, ``key=loss&key=accuracy``.

    Raises:
        InvalidError: one breaks its rule.
    """
    for at, key in enumerate(keys or []):
        if (wrong := check_key(key)) is not None:
            raise InvalidError(Fault(pointer("query", "key", at), wrong))


def read_labels(query: MultiDict[Any]) -> dict[str, str]:
    """Return the labels of a query, ``label.split=val``.

    Raises:
        InvalidError: a name or a value breaks its rule.
    """
    labels = {
        name.removeprefix(LABEL): value
        for name, value in query.multi_items()
        if name.startswith(LABEL)
    }
    faults = [
        Fault(pointer("query", f"{LABEL}{name[:80]}"), wrong)
        for name, value in labels.items()
        if (wrong := check_labels({name: value}, reserved=True)) is not None
    ]
    if not faults and (wrong := check_labels(labels, reserved=True)) is not None:
        faults.append(Fault("/query/label", wrong))
    if faults:
        raise InvalidError(faults[:FAULTS_MAX])
    return labels


def read_series(key: str, query: MultiDict[Any]) -> Series:
    """Return the series that ``key`` and the labels of a query name; both may stand in ``key``.

    Raises:
        InvalidError: the key or a label breaks its rule, or labels are given twice.
    """
    if "{" in key:
        if read_labels(query):
            raise InvalidError(
                Fault(
                    "/query/key",
                    "labels stand in braces behind the key, or in label.*: not in both",
                )
            )
        return read_series_text(key, at="/query/key")
    wrong = check_key(key)
    if wrong is not None:
        raise InvalidError(Fault("/query/key", wrong))
    return Series(key, canonical_labels(read_labels(query)))


def read_columns(text: str, *, at: str, count_max: int) -> tuple[Column, ...]:
    """Return the fields that a parameter lists, as the search language writes them.

    Raises:
        InvalidError: with the place in the text.
    """
    columns = parse_columns(text, series_from_name=series_from_name, pointer=at)
    if not 1 <= len(columns) <= count_max:
        raise InvalidError(Fault(at, f"{len(columns)} fields are given: 1 to {count_max}"))
    return columns


def read_filters(texts: Sequence[str] | None) -> Node:
    """Return the filter that all of several are; without any, the one that lets all runs through.

    Raises:
        InvalidError: with the place in the text; of several, ``/query/filter/1`` is the second.
    """
    if not texts:
        return join_filters(())
    if len(texts) > _FILTERS_MAX:
        raise InvalidError(
            Fault("/query/filter", f"{len(texts)} filters are given: at most {_FILTERS_MAX}")
        )
    return join_filters(
        [
            parse_filter(
                text,
                series_from_name=series_from_name,
                pointer="/query/filter" if len(texts) == 1 else pointer("query", "filter", at),
            )
            for at, text in enumerate(texts)
        ]
    )


def read_series_text(text: str, *, at: str) -> Series:
    """Return the series that a text such as ``loss{split=val}`` names.

    Raises:
        InvalidError: it names something else, with the place in the text.
    """
    prefix = "" if text.lstrip().startswith(_METRICS) else _METRICS[0]
    try:
        (column,) = read_columns(prefix + text, at=at, count_max=1)
    except InvalidError as error:
        raise InvalidError([_moved(one, len(prefix)) for one in error.faults]) from None
    if not isinstance(column, Metric) or column.stat != "last":
        raise InvalidError(
            Fault(
                at, f"{text[:80]!r} is no series: write a key with its labels, loss{{split=val}}"
            )
        )
    return Series(column.key, column.labels)


def read_stretch(first: int, last: int) -> Stretch:
    """Return the steps that ``from`` and ``to`` name, both included.

    A range that ends just before its first step is an empty one, which programs come to.

    Raises:
        InvalidError: the last one stands further before the first.
    """
    if last < first - 1:
        raise InvalidError(
            Fault(
                "/query/to", f"{last} is before from, {first}: to is the last step, and included"
            )
        )
    return Stretch(first, last)


def _moved(fault: Fault, by: int) -> Fault:
    offset = None if fault.offset is None else max(0, fault.offset - by)
    return Fault(
        fault.pointer, fault.message, fault.code, offset, fault.length, tuple(fault.expected)
    )
