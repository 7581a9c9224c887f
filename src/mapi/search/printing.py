"""Trees as text, in the one canonical form: it parses to the tree that it was printed from.

Compound operands are bracketed, labels are sorted, texts are quoted, families are in the plural.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mapi.search.literals import quoted
from mapi.search.nodes import (
    Ago,
    And,
    Attribute,
    Column,
    Compare,
    Field,
    IsMissing,
    IsNan,
    Match,
    Metric,
    MetricAt,
    Node,
    Not,
    OneOf,
    Or,
    Param,
    Predicate,
    SortKey,
    Tag,
    Value,
    field_type,
)
from mapi.series.names import series_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "column_text",
    "columns_text",
    "field_text",
    "filter_parts",
    "filter_text",
    "sort_text",
]

_PATH: Final = re.compile(r"[A-Za-z0-9_./:@+-]+")
#: Up to here float64 holds every whole number.
_WHOLE_MAX: Final = 2**53


def filter_text(node: Node) -> str:
    """Return a filter's canonical text; it is empty for the filter that says nothing."""
    match node:
        case And(operands):
            return " AND ".join(map(_operand, operands))
        case Or(operands):
            return " OR ".join(map(_operand, operands))
        case Not(operand):
            return f"NOT ({filter_text(operand)})"
        case _:
            return _predicate(node)


def filter_parts(node: Node) -> list[str]:
    """Return the conditions of a filter, none of which may fail; joined by AND they parse to it."""
    return [_operand(one) for one in (node.operands if isinstance(node, And) else (node,))]


def _operand(node: Node) -> str:
    return f"({filter_text(node)})" if isinstance(node, And | Or | Not) else _predicate(node)


def _predicate(predicate: Predicate) -> str:
    field = field_text(predicate.field)
    match predicate:
        case Compare(of, operator, value):
            return f"{field} {operator} {_value(of, value)}"
        case Match(_, pattern, is_negated):
            return f"{field} {'!~' if is_negated else '~'} {quoted(pattern)}"
        case OneOf(of, values, is_negated):
            listed = ", ".join(_value(of, one) for one in values)
            return f"{field} {'NOT IN' if is_negated else 'IN'} ({listed})"
        case IsMissing(_, is_negated):
            return f"{field} IS {'NOT ' if is_negated else ''}MISSING"
        case IsNan(_, is_negated):
            return f"{field} IS {'NOT ' if is_negated else ''}NAN"


def _value(field: Field, value: Value) -> str:
    match value:
        case Ago(count, unit):
            return f"-{count}{unit}"
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case str():
            return value if field_type(field) in {"kind", "status"} else quoted(value)
        case _:
            whole = value.is_integer() and abs(value) < _WHOLE_MAX and value != 0
            return str(int(value)) if whole else repr(value)


def field_text(field: Field) -> str:
    """Return a field's canonical text."""
    match field:
        case Metric(key, labels, stat):
            suffix = "" if stat == "last" else f".{stat}"
            return f"metrics.{series_text(key, labels)}{suffix}"
        case Param(key):
            return f"params.{_key(key)}"
        case Tag(key):
            return f"tags.{_key(key)}"
        case Attribute(name):
            return name


def _key(key: str) -> str:
    return key if _PATH.fullmatch(key) else quoted(key)


def column_text(column: Column) -> str:
    """Return a column's canonical text."""
    if isinstance(column, MetricAt):
        series = series_text(column.key, column.labels)
        of = series_text(column.of_key, column.of_labels)
        return f"metrics.{series} AT {column.extreme.upper()} metrics.{of}"
    return field_text(column)


def columns_text(columns: Sequence[Column]) -> str:
    """Return the canonical text of columns."""
    return ",".join(map(column_text, columns))


def sort_text(sort: Sequence[SortKey]) -> str:
    """Return the canonical text of a sort order."""
    return ",".join(("-" if key.is_descending else "") + field_text(key.field) for key in sort)
