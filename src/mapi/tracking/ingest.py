"""The one way into the log: every writer of points ends here, in one transaction a batch.

The run's row is locked first. Then the series get their numbers, the points go into a staging table
and from there into the log, and what was new joins the summaries. Of a step the first value stays,
of a scalar the newest by time; what is sent again changes nothing and is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from mapi.database.queries import query
from mapi.errors import NotFoundError
from mapi.series.names import labels_hash
from mapi.tracking.batch import (
    SCALAR_STEP,
    PointBatch,
    Series,
    binary_rows,
    joined,
    without_repeats,
)
from mapi.tracking.summaries import Writing, labels_json, merge, rebuild, times

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection

__all__ = ["IngestCounts", "write_points"]

#: Below this, arrays as parameters are quicker than a staging table.
_STAGE_POINTS_MIN: Final = 800


@dataclass(frozen=True, slots=True)
class IngestCounts:
    """What became of a batch."""

    accepted: int = 0
    """Points that changed the log."""
    duplicates: int = 0
    """Points whose step was there, and scalars that were not newer."""
    conflicts: int = 0
    """Duplicates of a step that came with another value."""


async def write_points(
    connection: Connection,
    run_id: UUID,
    batch: PointBatch,
    *,
    attempt: int = 1,
    source: str = "api",
) -> IngestCounts:
    """Write a checked batch of points into the log of a run.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        batch: the points, in any order, repeats included.
        attempt: which attempt of the run wrote them.
        source: ``api`` or ``runner``.

    Raises:
        NotFoundError: the tenant has no such run.
    """
    given = len(batch)
    found = without_repeats(batch)
    batch = found.kept
    writing = await _lock(connection, run_id, attempt=attempt, source=source)
    if not len(batch):
        return IngestCounts()
    series_ids, made = await _resolve(writing, batch.series)
    is_new = await _insert(connection, batch, series_ids)
    new, old = int(is_new.sum()), batch.where(~is_new)
    conflicts = found.conflicts(is_new)
    replaced: list[Series] = []
    if len(old):
        again = joined(old, found.repeats.where(~is_new[found.kept_at]))
        conflicts += await _count_conflicts(connection, again, series_ids)
        replaced = await _replace_scalars(connection, old, series_ids)
    if new:
        await merge(writing, batch.where(is_new) if len(old) else batch, series_ids)
    if replaced:
        await rebuild(writing, replaced)
    if new or replaced:
        await connection.execute(
            query("points.count_points"),
            {"run": run_id, "change_seq": writing.change_seq, "points": new, "series": made},
        )
    accepted = new + len(replaced)
    return IngestCounts(accepted, given - accepted, conflicts)


async def _lock(connection: Connection, run_id: UUID, *, attempt: int, source: str) -> Writing:
    cursor = await connection.execute(query("points.lock_run"), {"run": run_id})
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"There is no run {run_id}.")
    return Writing(
        connection,
        run_id,
        project_id=row[0],
        attempt=attempt,
        source=source,
        change_seq=row[2] + 1,
        newest_attempt=row[7],
    )


async def _resolve(writing: Writing, series: list[Series]) -> tuple[npt.NDArray[np.int64], int]:
    """Return the number of each series, and how many are new."""
    keys = [one.key for one in series]
    hashes = [labels_hash(one.labels) for one in series]
    about = {"run": writing.run_id, "attempt": writing.attempt}
    cursor = await writing.connection.execute(
        query("points.find_series"), {**about, "keys": keys, "hashes": hashes}, binary=True
    )
    ids = np.zeros(len(series), dtype=np.int64)
    for ordinal, series_id, _sealed in await cursor.fetchall():
        ids[ordinal - 1] = series_id
    missing = np.flatnonzero(ids == 0).tolist()
    if missing:
        cursor = await writing.connection.execute(
            query("points.make_series"),
            {
                **about,
                "source": writing.source,
                "keys": [keys[at] for at in missing],
                "hashes": [hashes[at] for at in missing],
                "labels": [labels_json(series[at]) for at in missing],
            },
        )
        ids[missing] = [row[0] for row in await cursor.fetchall()]
    return ids, len(missing)


async def _insert(
    connection: Connection, batch: PointBatch, series_ids: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Insert the points; return which of them were new."""
    if len(batch) < _STAGE_POINTS_MIN:
        cursor = await connection.execute(
            query("points.insert_arrays"),
            {**_columns(batch, series_ids), "count": len(batch)},
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
    stepped = batch.where(batch.steps != SCALAR_STEP)
    if not len(stepped):
        return 0
    cursor = await connection.execute(
        query("points.count_conflicts"), _columns(stepped, series_ids), binary=True
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])


async def _replace_scalars(
    connection: Connection, batch: PointBatch, series_ids: npt.NDArray[np.int64]
) -> list[Series]:
    """Let newer scalars take the place of older ones; return the series that changed."""
    scalars = batch.where(batch.steps == SCALAR_STEP)
    if not len(scalars):
        return []
    cursor = await connection.execute(
        query("points.replace_scalars"), _columns(scalars, series_ids), binary=True
    )
    changed = {row[0] for row in await cursor.fetchall()}
    return [batch.series[at] for at in scalars.index.tolist() if int(series_ids[at]) in changed]


def _columns(batch: PointBatch, series_ids: npt.NDArray[np.int64]) -> dict[str, object]:
    return {
        "series": series_ids[batch.index].tolist(),
        "steps": batch.steps.tolist(),
        "times": times(batch.times_us),
        "values": batch.values.tolist(),
    }
