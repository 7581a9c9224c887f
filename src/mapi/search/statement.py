"""A statement for the database: its text, and beside it every value that a user had a hand in.

The text is made of our own words only. Values travel as named parameters in psycopg's
``%(name)s`` form, each with its type, so that no operator has to guess one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mapi.series.names import Labels, labels_hash

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from mapi.search.nodes import Metric

__all__ = [
    "EXPERIMENT_NAME",
    "Parameters",
    "Statement",
    "metric_expression",
    "param_rows",
    "series_rows",
    "tag_rows",
]


EXPERIMENT_NAME: Final = (
    "(select experiments.name from experiments where experiments.tenant_id ="
    " mapi.current_tenant() and experiments.id = runs.experiment_id)"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What to run, in a transaction of the tenant."""

    text: str
    parameters: Mapping[str, Any]


class Parameters:
    """The values of one statement, named as they come.

    Args:
        project_id: the project that it is about.
        now: up to when a run that goes on has lasted.
    """

    def __init__(self, project_id: int, now: datetime) -> None:
        self.values: dict[str, Any] = {"project": project_id, "now": now}

    def add(self, value: object, cast: str) -> str:
        """Take a value and return how the text names it."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f"%({name})s::{cast}"


def series_rows(parameters: Parameters, alias: str, series: tuple[str, Labels]) -> str:
    """Return the condition for the summaries of one series in the project.

    These are the first columns of the indexes over last, min and max.
    """
    key, labels = series
    return (
        f"{alias}.tenant_id = mapi.current_tenant() and {alias}.project_id = %(project)s"
        f" and {alias}.key = {parameters.add(key, 'text')}"
        f" and {alias}.labels_hash = {parameters.add(labels_hash(labels), 'int8')}"
    )


def param_rows(parameters: Parameters, alias: str, key: str) -> str:
    """Return the condition for the params of one key in the project."""
    return (
        f"{alias}.tenant_id = mapi.current_tenant() and {alias}.project_id = %(project)s"
        f" and {alias}.key = {parameters.add(key, 'text')}"
    )


#: The same columns by the same names.
tag_rows = param_rows


def metric_expression(metric: Metric, alias: str) -> str:
    """Return what a summary row says of one statistic; null where it says nothing."""
    match metric.stat:
        case "last" | "min" | "max":
            return f"{alias}.{metric.stat}_value"
        case "mean":
            return (
                f"mapi.mean_of({alias}.finite_sum, {alias}.huge_sum,"
                f" {alias}.count - {alias}.nonfinite_count, {alias}.min_value, {alias}.max_value)"
            )
        case "nonfinite":
            return f"{alias}.nonfinite_count"
        case "min_step" | "max_step":
            # A point without a step stands at -1, which is no step.
            return f"nullif({alias}.{metric.stat}, -1)"
        case _:
            return f"{alias}.{metric.stat}"
