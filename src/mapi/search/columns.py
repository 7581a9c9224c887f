"""Columns of a page: looked up for its runs only, each by a primary key."""

# The words of a statement are ours, and what users say travels as parameters.
# ruff: noqa: S608

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mapi.search.conditions import ATTRIBUTE_EXPRESSIONS
from mapi.search.identity import RUN_PREFIX
from mapi.search.nodes import Attribute, Column, Metric, MetricAt, Param, Tag
from mapi.search.statement import (
    EXPERIMENT_NAME,
    Parameters,
    Statement,
    metric_expression,
    param_rows,
    series_rows,
    tag_rows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

__all__ = ["column_statement"]


def column_statement(
    project_id: int, columns: Sequence[Column], run_ids: Sequence[UUID], *, now: datetime
) -> Statement:
    """Return the statement that looks up columns for the runs of one page, in the page's order.

    Each row is the run's id and the values; missing is null, and NaN is NaN.

    Args:
        project_id: the project of the runs.
        columns: what is looked up.
        run_ids: the runs of the page.
        now: of the search.
    """
    parameters = Parameters(project_id, now)
    page = parameters.add(list(run_ids), "uuid[]")
    outputs = ", ".join(["runs.id", *(_column(one, parameters) for one in columns)])
    text = (
        f"select {outputs} from unnest({page}) with ordinality as page (id, ordinal)"
        " join runs on runs.tenant_id = mapi.current_tenant() and runs.id = page.id"
        " where runs.project_id = %(project)s order by page.ordinal"
    )
    return Statement(text, parameters.values)


def _column(column: Column, parameters: Parameters) -> str:
    match column:
        case Metric(key, labels):
            rows = series_rows(parameters, "summary", (key, labels))
            value = metric_expression(column, "summary")
            return _lookup(value, "run_metric_summary as summary", rows)
        case MetricAt():
            return _value_at(column, parameters)
        case Param(key):
            rows = param_rows(parameters, "params", key)
            return _lookup("params.text", "run_params as params", rows)
        case Tag(key):
            rows = tag_rows(parameters, "tags", key)
            return _lookup("tags.text", "run_tags as tags", rows)
        case Attribute(name):
            return _attribute(name)


def _attribute(name: str) -> str:
    if name == "experiment":
        return EXPERIMENT_NAME
    own = ATTRIBUTE_EXPRESSIONS[name]
    return f"'{RUN_PREFIX}' || {own}" if name in {"id", "parent"} else own


def _value_at(column: MetricAt, parameters: Parameters) -> str:
    """Return the value of a series at the step of another one's extreme, in the default reading.

    Of the attempts that have the step the newest is read, unless a newer one began at or below it.
    """
    labels = dict(column.labels)
    step = _lookup(
        f"summary.{column.extreme}_step",
        "run_metric_summary as summary",
        series_rows(parameters, "summary", (column.of_key, column.of_labels)),
    )
    stream = parameters.add(labels.get("stream", ""), "text")
    rank = parameters.add(labels.get("rank", "0"), "text")
    return (
        f"(select points.value from (select {step} as step) as wanted"
        " join run_series as series"
        " on series.tenant_id = mapi.current_tenant() and series.run_id = runs.id"
        f" and series.key = {parameters.add(column.key, 'text')}"
        f" and series.labels = {parameters.add(json.dumps(labels), 'jsonb')}"
        " cross join lateral mapi.series_points("
        "mapi.current_tenant(), series.id, wanted.step, wanted.step) as points"
        " where not exists (select from run_attempts as newer"
        " where newer.tenant_id = mapi.current_tenant() and newer.run_id = runs.id"
        f" and newer.stream = {stream} and newer.rank::text = {rank}"
        " and newer.attempt > series.attempt and newer.from_step <= points.step)"
        " order by series.attempt desc limit 1)"
    )


def _lookup(value: str, table: str, rows: str) -> str:
    alias = table.rpartition(" ")[2]
    return f"(select {value} from {table} where {alias}.run_id = runs.id and {rows})"
