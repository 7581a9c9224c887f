"""The one way into the log: every writer of points ends here, in one transaction a batch.

The run's row is locked first. Then the series get their numbers, the points go into a staging table
and from there into the log, where the first value of a step stays, and what was new joins the
summaries. What is sent again changes nothing and is counted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from mapi.database.queries import query
from mapi.errors import NotFoundError
from mapi.series.names import labels_hash
from mapi.tracking.batch import (
    PointBatch,
    Series,
    binary_rows,
    summary_parts,
    without_repeats,
)

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection

__all__ = ["IngestCounts", "write_points"]

#: Below this, arrays as parameters are quicker than a staging table.
_STAGE_POINTS_MIN: Final = 800
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class IngestCounts:
    """What became of a batch."""

    accepted: int = 0
    """Points that are new in the log."""
    duplicates: int = 0
    """Points whose step was there; its first value stays."""
    conflicts: int = 0
    """Duplicates that came with another value."""


@dataclass(frozen=True, slots=True)
class _Run:
    project_id: int
    change_seq: int


async def write_points(
    connection: Connection,
    run_id: UUID,
    batch: PointBatch,
    *,
    attempt: int = 1,
    source: str = "api",
) -> IngestCounts:
    """Write a checked batch of stepped points into the log of a run.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        batch: the points; in any order, repeats included.
        attempt: which attempt of the run wrote them.
        source: ``api`` or ``runner``.

    Raises:
        NotFoundError: the tenant has no such run.
    """
    batch, repeats, conflicts = without_repeats(batch)
    run = await _lock_run(connection, run_id)
    if not len(batch):
        return IngestCounts()
    series_ids, made = await _resolve(connection, run_id, batch.series, attempt, source)
    is_new = await _insert(connection, batch, series_ids)
    accepted = int(is_new.sum())
    if accepted < len(batch):
        conflicts += await _count_conflicts(connection, batch.where(~is_new), series_ids)
    if accepted:
        change_seq = run.change_seq + 1
        await _merge(
            connection,
            batch.where(is_new) if accepted < len(batch) else batch,
            series_ids,
            {
                "run": run_id,
                "project": run.project_id,
                "attempt": attempt,
                "change_seq": change_seq,
                "source": source,
            },
        )
        await connection.execute(
            query("points.count_points"),
            {"run": run_id, "change_seq": change_seq, "points": accepted, "series": made},
        )
    return IngestCounts(accepted, repeats + len(batch) - accepted, conflicts)


async def _lock_run(connection: Connection, run_id: UUID) -> _Run:
    cursor = await connection.execute(query("points.lock_run"), {"run": run_id})
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"There is no run {run_id}.")
    return _Run(project_id=row[0], change_seq=row[2])


async def _resolve(
    connection: Connection, run_id: UUID, series: list[Series], attempt: int, source: str
) -> tuple[npt.NDArray[np.int64], int]:
    """Return the number of each series, and how many are new."""
    keys = [one.key for one in series]
    hashes = [labels_hash(one.labels) for one in series]
    cursor = await connection.execute(
        query("points.find_series"),
        {"run": run_id, "attempt": attempt, "keys": keys, "hashes": hashes},
        binary=True,
    )
    ids = np.zeros(len(series), dtype=np.int64)
    for ordinal, series_id, _sealed in await cursor.fetchall():
        ids[ordinal - 1] = series_id
    missing = np.flatnonzero(ids == 0).tolist()
    if missing:
        cursor = await connection.execute(
            query("points.make_series"),
            {
                "run": run_id,
                "attempt": attempt,
                "source": source,
                "keys": [keys[at] for at in missing],
                "hashes": [hashes[at] for at in missing],
                "labels": [_labels_json(series[at]) for at in missing],
            },
        )
        ids[missing] = [row[0] for row in await cursor.fetchall()]
    return ids, len(missing)


def _labels_json(series: Series) -> str:
    return json.dumps(dict(series.labels), ensure_ascii=False)


async def _insert(
    connection: Connection, batch: PointBatch, series_ids: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Insert the points; return which of them were new."""
    if len(batch) < _STAGE_POINTS_MIN:
        cursor = await connection.execute(
            query("points.insert_arrays"),
            {
                "series": series_ids[batch.index].tolist(),
                "steps": batch.steps.tolist(),
                "times": _times(batch.times_us),
                "values": batch.values.tolist(),
                "count": len(batch),
            },
            binary=True,
        )
    else:
        await connection.execute(query("points.make_stage"))
        async with connection.cursor().copy(query("points.copy_stage")) as copy:
            await copy.write(binary_rows(batch, series_ids))
        cursor = await connection.execute(
            query("points.insert_stage"), {"count": len(batch)}, binary=True
        )
    count, series, steps = await cursor.fetchone() or (0, [], [])
    if count == len(batch):
        return np.ones(len(batch), dtype=np.bool_)
    new = set(zip(series or [], steps or [], strict=True))
    mine = zip(series_ids[batch.index].tolist(), batch.steps.tolist(), strict=True)
    return np.fromiter((pair in new for pair in mine), dtype=np.bool_, count=len(batch))


async def _count_conflicts(
    connection: Connection, batch: PointBatch, series_ids: npt.NDArray[np.int64]
) -> int:
    cursor = await connection.execute(
        query("points.count_conflicts"),
        {
            "series": series_ids[batch.index].tolist(),
            "steps": batch.steps.tolist(),
            "values": batch.values.tolist(),
        },
        binary=True,
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])


async def _merge(
    connection: Connection,
    batch: PointBatch,
    series_ids: npt.NDArray[np.int64],
    about: dict[str, Any],
) -> None:
    parts = summary_parts(batch)
    series = [batch.series[at] for at in parts.index.tolist()]
    await connection.execute(
        query("points.merge_summaries"),
        {
            **about,
            "keys": [one.key for one in series],
            "hashes": [labels_hash(one.labels) for one in series],
            "labels": [_labels_json(one) for one in series],
            "series": series_ids[parts.index].tolist(),
            "counts": parts.counts.tolist(),
            "nonfinites": parts.nonfinite_counts.tolist(),
            "first_times": _times(parts.first_times_us),
            "last_times": _times(parts.last_times_us),
            "last_steps": parts.last_steps.tolist(),
            "last_values": parts.last_values.tolist(),
            "min_values": parts.min_values,
            "min_steps": parts.min_steps,
            "max_values": parts.max_values,
            "max_steps": parts.max_steps,
            "finite_sums": parts.finite_sums.tolist(),
        },
        binary=True,
    )


def _times(times_us: npt.NDArray[np.int64]) -> list[datetime]:
    # Whole microseconds added to a date: a float of seconds would lose some.
    return [_EPOCH + timedelta(microseconds=one) for one in times_us.tolist()]
