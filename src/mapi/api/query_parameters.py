"""The query of a request: what a route declares and nothing else, since a typo must not widen it.

A route's parameters are read from its signature, so there is no second list of them. Names that
nobody can list beforehand (``label.split``) are declared by their prefix, in the route's options
under `PREFIXES`.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from litestar.enums import ParamType
from litestar.params import ParameterKwarg

from mapi.errors import Fault, InvalidError
from mapi.search import Column, Node, join_filters, parse_columns, parse_filter
from mapi.search.nodes import Metric
from mapi.series.name_map import series_from_name
from mapi.series.names import canonical_labels, check_key, check_labels
from mapi.tracking.batch import Series
from mapi.wire.decoding import FAULTS_MAX, pointer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.connection import ASGIConnection
    from litestar.datastructures import MultiDict
    from litestar.handlers.base import BaseRouteHandler

__all__ = [
    "LABEL",
    "PREFIXES",
    "query_name",
    "read_columns",
    "read_filters",
    "read_labels",
    "read_series",
    "read_series_text",
    "refuse_unknown_parameters",
]

#: The option of a route that takes parameters by prefix.
PREFIXES: Final = "query_prefixes"
#: ``label.split=val`` asks for the label ``split``.
LABEL: Final = "label."
_RESERVED: Final = frozenset(
    {"request", "socket", "scope", "state", "headers", "cookies", "query", "body", "data"}
)
#: A filter has at most 50 predicates.
_FILTERS_MAX: Final = 50
_PATH_NAME: Final = re.compile(r"\{([^:}]+)")
_METRICS: Final = ("metrics.", "metric.")


def refuse_unknown_parameters(
    connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
) -> None:
    """Refuse a query with a name that the route does not know, or one too often.

    Raises:
        InvalidError: there is one.
    """
    if not connection.scope["query_string"]:
        return
    known = _declared(handler)
    given = Counter(name for name, _ in connection.query_params.multi_items())
    found = (_fault_of(name, count, known) for name, count in given.items())
    faults = [fault for fault in found if fault is not None]
    if faults:
        raise InvalidError(faults[:FAULTS_MAX])


def query_name(handler: BaseRouteHandler, parameter: str) -> str:
    """Return what a parameter of a route's function is called in the query."""
    field = handler.parsed_fn_signature.parameters.get(parameter)
    kwarg = None if field is None else field.kwarg_definition
    return (kwarg.name if isinstance(kwarg, ParameterKwarg) else None) or parameter


@dataclass(frozen=True, slots=True)
class _Declared:
    names: frozenset[str]
    repeatable: frozenset[str]
    """Those that may stand several times."""
    prefixes: tuple[str, ...]


@lru_cache(maxsize=1024)
def _declared(handler: BaseRouteHandler) -> _Declared:
    """Return what a route's query may hold."""
    names, repeatable = set(), set()
    elsewhere = _RESERVED | set(handler.resolve_dependencies())
    for name, field in handler.parsed_fn_signature.parameters.items():
        if name in elsewhere:
            continue
        kwarg = field.kwarg_definition
        if isinstance(kwarg, ParameterKwarg) and kwarg.param_type is not ParamType.QUERY:
            continue
        called = (kwarg.name if isinstance(kwarg, ParameterKwarg) else None) or name
        names.add(called)
        if field.is_non_string_sequence or any(
            inner.is_non_string_sequence for inner in field.inner_types
        ):
            repeatable.add(called)
    in_path = {name for path in handler.paths for name in _PATH_NAME.findall(path)}
    return _Declared(
        frozenset(names - in_path), frozenset(repeatable), tuple(handler.opt.get(PREFIXES, ()))
    )


def _fault_of(name: str, count: int, known: _Declared) -> Fault | None:
    shown = name if len(name) <= 80 else f"{name[:80]}..."
    at = pointer("query", shown)
    if name in known.names or (known.prefixes and name.startswith(known.prefixes)):
        if count > 1 and name not in known.repeatable:
            return Fault(at, f"{shown!r} is given {count} times; it has one value")
        return None
    expected = sorted(known.names) + [f"{prefix}<name>" for prefix in known.prefixes]
    close = difflib.get_close_matches(name[:80], expected, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    listed = f": it knows {', '.join(expected)}" if expected else ": it knows none"
    return Fault(
        at, f"there is no parameter {shown!r} here{listed}{hint}", expected=tuple(expected)
    )


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
    """Return the series that ``key`` and the labels of a query name.

    Raises:
        InvalidError: the key or a label breaks its rule.
    """
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


def _moved(fault: Fault, by: int) -> Fault:
    offset = None if fault.offset is None else max(0, fault.offset - by)
    return Fault(
        fault.pointer, fault.message, fault.code, offset, fault.length, tuple(fault.expected)
    )
