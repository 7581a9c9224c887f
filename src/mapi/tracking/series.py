"""The series of a run as their summaries tell: no point is read for them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg.rows import dict_row

from mapi.database.queries import query
from mapi.series.name_map import name_from_series
from mapi.series.names import canonical_labels
from mapi.tracking.batch import HUGE_SCALE, step_from_stored
from mapi.tracking.pruned import pruned_from_row
from mapi.wire.enums import Source
from mapi.wire.metrics import SeriesSummary
from mapi.wire.values import value_to_wire

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from mapi.database.door import Connection

__all__ = ["SeriesPosition", "list_series", "summary_from_row"]


@dataclass(frozen=True, slots=True)
class SeriesPosition:
    """Where a page of series ended."""

    key: str
    labels_text: str
    labels_hash: int


async def list_series(
    connection: Connection,
    run_id: UUID,
    *,
    keys: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    after: SeriesPosition | None = None,
    limit: int,
) -> tuple[list[SeriesSummary], SeriesPosition | None]:
    """Return series by key, then labels.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        keys: only these; ``None`` is all.
        labels: only series that have all of these labels, among others.
        after: the position that the page before ended at.
        limit: how many at most.

    Returns:
        The series, and the position at their end if there are more.
    """
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            query("curves.list_series"),
            {
                "run": run_id,
                "keys": None if keys is None else list(keys),
                "labels": json.dumps(dict(labels or {})),
                "after_key": None if after is None else after.key,
                "after_labels": None if after is None else after.labels_text,
                "after_hash": None if after is None else after.labels_hash,
                "limit": limit + 1,
            },
        )
        rows = await cursor.fetchall()
    found = [summary_from_row(row) for row in rows[:limit]]
    if len(rows) <= limit:
        return found, None
    end = rows[limit - 1]
    return found, SeriesPosition(end["key"], end["labels_text"], end["labels_hash"])


def summary_from_row(row: Mapping[str, Any]) -> SeriesSummary:
    """Return what a row of ``run_metric_summary`` says."""
    finite_count = row["count"] - row["nonfinite_count"]
    return SeriesSummary(
        key=row["key"],
        labels=row["labels"],
        name=name_from_series(row["key"], canonical_labels(row["labels"]), kept=row["full_name"]),
        attempt=row["attempt"],
        is_scalar=row["is_scalar"],
        count=row["count"],
        nonfinite_count=row["nonfinite_count"],
        first_time=row["first_time"],
        last_time=row["last_time"],
        last_step=step_from_stored(row["last_step"]),
        last_value=value_to_wire(row["last_value"]),
        min_value=row["min_value"],
        min_step=step_from_stored(row["min_step"]),
        max_value=row["max_value"],
        max_step=step_from_stored(row["max_step"]),
        mean=_mean(row, finite_count) if finite_count else None,
        source=Source(row["source"]),
        user=row["user"],
        pruned=pruned_from_row(row),
    )


def _mean(row: Mapping[str, Any], count: int) -> float:
    """Return the mean of finite values, as the database's ``mean_of`` does."""
    if not row["huge_sum"]:
        mean: float = row["finite_sum"] / count
        return mean
    scaled = (row["finite_sum"] * HUGE_SCALE + row["huge_sum"]) / count
    low, high = row["min_value"] * HUGE_SCALE, row["max_value"] * HUGE_SCALE
    scaled = min(scaled, high) if scaled > 0 else max(scaled, low)
    return float(scaled / HUGE_SCALE)
