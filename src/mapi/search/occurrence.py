"""Which fields of a search occur at all: a name that no run has is a typo more often than not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mapi.search.nodes import And, Attribute, Metric, Node, Not, Or, Param, Tag
from mapi.search.statement import Parameters, Statement, param_rows, series_rows, tag_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from mapi.search.nodes import Field

__all__ = ["fields_of_filter", "named_fields", "occurrence_statement"]


def fields_of_filter(node: Node) -> list[Field]:
    """Return the fields that the predicates of a filter name, in their order."""
    match node:
        case Not(operand):
            return fields_of_filter(operand)
        case And(operands) | Or(operands):
            return [field for one in operands for field in fields_of_filter(one)]
        case _:
            return [node.field]


def named_fields(fields: Iterable[Field]) -> list[Metric | Param | Tag]:
    """Return the fields that users have named, each once; attributes are ours."""
    return list(dict.fromkeys(one for one in fields if not isinstance(one, Attribute)))


def occurrence_statement(
    project_id: int, fields: Sequence[Metric | Param | Tag], *, now: datetime
) -> Statement:
    """Return the statement whose one row says of each field whether a run of the project has it.

    Args:
        project_id: the project.
        fields: one at least; of a metric the series counts.
        now: of the search.
    """
    parameters = Parameters(project_id, now)
    parts = []
    for field in fields:
        match field:
            case Metric(key, labels):
                rows = series_rows(parameters, "named", (key, labels))
                parts.append(f"exists (select from run_metric_summary as named where {rows})")
            case Param(key):
                rows = param_rows(parameters, "named", key)
                parts.append(f"exists (select from run_params as named where {rows})")
            case Tag(key):
                rows = tag_rows(parameters, "named", key)
                parts.append(f"exists (select from run_tags as named where {rows})")
    return Statement(f"select {', '.join(parts)}", parameters.values)
