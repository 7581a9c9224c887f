"""Searches as statements: a page of runs in order, and their number.

Where the first key is a metric or a param, a page is two statements: an index gives the runs that
have a number there in its own order, and only when they end is the rest asked for. Each row holds
the values of all components of the order, the run's id last; the row that ends a page is the
position where the next one begins.
"""

# The words of a statement are ours, and what users say travels as parameters.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mapi.search.conditions import condition_of
from mapi.search.nodes import Metric, Param, Search
from mapi.search.order import (
    Order,
    Position,
    beyond,
    leading_order,
    null_of,
    plain_order,
    rest_order,
)
from mapi.search.statement import Parameters, Statement

__all__ = ["count_statement", "page_statements"]

OrderOf: TypeAlias = Callable[[Search, Parameters], Order]


def page_statements(
    search: Search, limit: int, after: Position | None = None
) -> tuple[Statement, ...]:
    """Return statements to be run in order until together they gave ``limit`` + 1 rows.

    The row beyond the limit says that there is another page.

    Args:
        search: which runs, in which order.
        limit: how many a page has.
        after: the position of the last run of the page before.
    """
    first = search.sort[0] if search.sort else None
    if first is None or not isinstance(first.field, Metric | Param):
        return (_page(search, limit, plain_order, after=after),)
    if after is not None and after[0] is None:
        return (_page(search, limit, rest_order, after=after),)
    return (
        _page(search, limit, leading_order, after=after),
        _page(search, limit, rest_order),
    )


def _page(
    search: Search, limit: int, order_of: OrderOf, *, after: Position | None = None
) -> Statement:
    parameters = Parameters(search.project_id, search.now)
    order = order_of(search, parameters)
    conditions = [*_scope(search), condition_of(search.filter, parameters, search.now)]
    if order.condition:
        conditions.append(order.condition)
    if after is not None:
        conditions.append(beyond(order.components, after, parameters))
    outputs = ", ".join(one.expression for one in order.components)
    ordered = ", ".join(
        one.expression
        + (" desc" if one.is_descending else "")
        + (" nulls last" if one.is_nullable else "")
        for one in order.components
        if one.expression != null_of(one.cast)
    )
    text = (
        f"select {outputs} from {order.source}{''.join(order.joins)}"
        f" where {' and '.join(conditions)} order by {ordered}"
        f" limit {parameters.add(limit + 1, 'int8')}"
    )
    return Statement(text, parameters.values)


def _scope(search: Search) -> list[str]:
    trash = "is not null" if search.in_trash else "is null"
    return [
        "runs.tenant_id = mapi.current_tenant()",
        "runs.project_id = %(project)s",
        f"runs.trashed {trash}",
    ]


def count_statement(search: Search) -> Statement:
    """Return the statement that counts all runs of a search."""
    parameters = Parameters(search.project_id, search.now)
    conditions = [*_scope(search), condition_of(search.filter, parameters, search.now)]
    return Statement(
        f"select count(*) from runs where {' and '.join(conditions)}", parameters.values
    )
