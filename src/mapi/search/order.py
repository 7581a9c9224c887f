"""Orders of a search: what they compare, which tables that needs, and what lies beyond a position.

The order is total: the keys, then ``created`` descending, then ``id`` descending. A value that is
missing or NaN stands last in both directions. A param is two components: numbers by size, and
after them the texts that are none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

from mapi.search.conditions import ATTRIBUTE_EXPRESSIONS, INDEXED_LENGTH
from mapi.search.nodes import Attribute, Field, Metric, Param, Search, SortKey, Tag
from mapi.search.statement import (
    EXPERIMENT_NAME,
    Parameters,
    metric_expression,
    param_rows,
    series_rows,
    tag_rows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Component",
    "Order",
    "Position",
    "beyond",
    "leading_order",
    "null_of",
    "plain_order",
    "position_of",
    "rest_order",
]

#: The values of all components of the order at one run; times and ids as texts.
Position: TypeAlias = tuple[float | int | str | None, ...]

_TEXT_ORDER: Final = ' collate "C"'


@dataclass(frozen=True, slots=True)
class Component:
    """One thing that the order looks at."""

    expression: str
    cast: str
    is_descending: bool
    is_nullable: bool = True


@dataclass(frozen=True, slots=True)
class Order:
    """All components, and the tables that they need."""

    components: tuple[Component, ...]
    joins: tuple[str, ...]
    source: str = "runs"
    condition: str = ""


_CREATED: Final = Component("runs.created", "timestamptz", is_descending=True, is_nullable=False)
_ID: Final = Component("runs.id", "uuid", is_descending=True, is_nullable=False)


def null_of(cast: str) -> str:
    """Return what stands for a component that no run of a statement has."""
    return f"null::{cast}"


def plain_order(search: Search, parameters: Parameters) -> Order:
    """Return the order in one statement."""
    components, joins = _components(search.sort, parameters)
    return Order(_total(components), joins)


def leading_order(search: Search, parameters: Parameters) -> Order:
    """Return the order of the runs that have a number for the first key, led by its index."""
    first = search.sort[0]
    source, rows, expression = _leader(first.field, parameters)
    (own, *texts), _ = _components([first], Parameters(search.project_id, search.now))
    own = replace(own, expression=expression, is_nullable=False)
    # Who has a number has no text that counts.
    texts = [replace(one, expression=null_of(one.cast)) for one in texts]
    others, joins = _components(search.sort[1:], parameters, start=1)
    alias = source.rpartition(" ")[2]
    joined = f" join runs on runs.tenant_id = {alias}.tenant_id and runs.id = {alias}.run_id"
    return Order(_total([own, *texts, *others]), (joined, *joins), source, rows)


def rest_order(search: Search, parameters: Parameters) -> Order:
    """Return the order of the runs that have no number for the first key."""
    first = search.sort[0]
    source, rows, _ = _leader(first.field, parameters)
    alias = source.rpartition(" ")[2]
    components, joins = _components(search.sort, parameters)
    number = replace(components[0], expression=null_of(components[0].cast))
    lacking = f"not exists (select from {source} where {alias}.run_id = runs.id and {rows})"
    if isinstance(first.field, Metric):
        joins = joins[1:]
    return Order(_total([number, *components[1:]]), joins, condition=lacking)


def _leader(field: Field, parameters: Parameters) -> tuple[str, str, str]:
    """Return table, condition and value for the runs that have a number for a field."""
    if isinstance(field, Metric):
        value = metric_expression(field, "leader")
        rows = series_rows(parameters, "leader", (field.key, field.labels))
        is_float = _metric_cast(field) == "float8"
        present = f"{value} < 'NaN'::float8" if is_float else f"{value} is not null"
        return "run_metric_summary as leader", f"{rows} and {present}", value
    assert isinstance(field, Param)
    rows = param_rows(parameters, "leader", field.key)
    return "run_params as leader", f"{rows} and leader.number is not null", "leader.number"


def _total(components: Sequence[Component]) -> tuple[Component, ...]:
    """Add what makes an order total, and leave out what can decide nothing any more."""
    total = list(components)
    if all(one.expression != _CREATED.expression for one in total):
        total.append(_CREATED)
    total.append(_ID)
    ends = next(number for number, one in enumerate(total) if one.expression == _ID.expression)
    return tuple(total[: ends + 1])


def _components(
    keys: Sequence[SortKey], parameters: Parameters, *, start: int = 0
) -> tuple[list[Component], tuple[str, ...]]:
    components: list[Component] = []
    joins: list[str] = []
    for number, key in enumerate(keys, start):
        alias = f"key{number}"
        found, join = _key_components(key, alias, parameters)
        components += found
        if join:
            joins.append(f" left join {join}")
    return components, tuple(joins)


def _metric_cast(metric: Metric) -> str:
    return "float8" if metric.stat in {"last", "min", "max", "mean"} else "int8"


def _key_components(
    key: SortKey, alias: str, parameters: Parameters
) -> tuple[list[Component], str]:
    """Return the components of one key, and the table that they need."""
    on = f"{alias}.run_id = runs.id and"
    match key.field:
        case Metric() as metric:
            cast = _metric_cast(metric)
            value = metric_expression(metric, alias)
            if cast == "float8":
                value = f"nullif({value}, 'NaN')"
            rows = series_rows(parameters, alias, (metric.key, metric.labels))
            join = f"run_metric_summary as {alias} on {on} {rows}"
            return [Component(value, cast, key.is_descending)], join
        case Param(name):
            # Numbers by size, and after them the texts that are none.
            text = f"case when {alias}.number is null then {_text(f'{alias}.text')} end"
            join = f"run_params as {alias} on {on} {param_rows(parameters, alias, name)}"
            return [
                Component(f"{alias}.number", "float8", key.is_descending),
                Component(text, "text", key.is_descending),
            ], join
        case Tag(name):
            join = f"run_tags as {alias} on {on} {tag_rows(parameters, alias, name)}"
            return [Component(_text(f"{alias}.text"), "text", key.is_descending)], join
        case Attribute(name):
            return [_attribute_component(name, is_descending=key.is_descending)], ""


def _text(expression: str) -> str:
    """Return a text as the order sees it: as far as a cursor carries it, by code points."""
    return f"left({expression}, {INDEXED_LENGTH}){_TEXT_ORDER}"


_ATTRIBUTE_CASTS: Final = {
    "id": "uuid",
    "parent": "uuid",
    "created": "timestamptz",
    "started": "timestamptz",
    "finished": "timestamptz",
    "duration": "float8",
    "attempts": "int8",
}


def _attribute_component(name: str, *, is_descending: bool) -> Component:
    cast = _ATTRIBUTE_CASTS.get(name, "text")
    expression = EXPERIMENT_NAME if name == "experiment" else ATTRIBUTE_EXPRESSIONS[name]
    if cast == "text":
        expression = _text(expression)
    is_nullable = name not in {"id", "created", "attempts"}
    return Component(expression, cast, is_descending, is_nullable)


def beyond(components: Sequence[Component], after: Position, parameters: Parameters) -> str:
    """Return the condition for the runs behind a position."""
    condition = ""
    for number in range(len(components) - 1, -1, -1):
        one, value = components[number], after[number]
        if one.expression == null_of(one.cast):
            continue
        if value is None:
            # Only runs that lack it too are left, and among those the next component decides.
            condition = f"({one.expression} is null and {condition})"
            continue
        given = parameters.add(value, one.cast)
        sign = "<" if one.is_descending else ">"
        further = f"{one.expression} {sign} {given}"
        if not condition:
            condition = further
            continue
        absent = f" or {one.expression} is null" if one.is_nullable else ""
        condition = f"({further} or ({one.expression} = {given} and {condition}){absent})"
        if not one.is_nullable:
            # Says nothing new, but is a range that an index can begin at.
            condition = f"({one.expression} {sign}= {given} and {condition})"
    return condition


def position_of(row: Sequence[Any]) -> Position:
    """Return the position of a row that a statement of `page_statements` gave."""
    return tuple(_plain(value) for value in row)


def _plain(value: Any) -> float | int | str | None:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
