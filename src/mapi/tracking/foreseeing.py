"""What `mapi.tracking.retention` would delete, counted, and nothing deleted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mapi.access.projects import project_names
from mapi.database.queries import query
from mapi.tracking.freed import Freed
from mapi.tracking.keeping import kept_by_rule, kept_runs
from mapi.wire.administration import RetentionAnswer, RetentionRow, RetentionRule

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mapi.database.door import Database, Reach
    from mapi.tracking.freed import Retention

__all__ = ["foresee", "read_retention"]

#: Runs of one look.
_LOOK_MAX: Final = 200
_NO_RUN: Final = UUID(int=0)


async def read_retention(
    database: Database, reach: Reach, *, retention: Retention
) -> RetentionAnswer:
    """Return how long what is kept, what each rule keeps, and what `apply` would delete now.

    Args:
        database: where the rows are.
        reach: the projects that are asked about.
        retention: how long what is kept.
    """
    ruled = await kept_by_rule(database, reach)
    kept = sorted({run for _, runs in ruled for run in runs})
    foreseen = await foresee(database, reach, retention=retention, kept=kept)
    return RetentionAnswer(
        trash_days=retention.trash_days,
        tracking_days=retention.tracking_days,
        media_days=retention.media_days,
        rules=[
            RetentionRule(
                number=rule.number,
                project=rule.project,
                filter=rule.filter,
                best=rule.best,
                sort=rule.sort,
                kept_runs=len(runs),
            )
            for rule, runs in ruled
        ],
        projects=[
            RetentionRow(
                project=project,
                purged_runs=freed.purged_runs,
                pruned_runs=freed.pruned_runs,
                kept_runs=freed.kept_runs,
                points=freed.points,
                log_lines=freed.log_lines,
                spans=freed.spans,
                media_items=freed.media_items,
                rows=freed.rows,
                size_bytes=freed.size_bytes,
            )
            for project, freed in sorted(foreseen.items())
        ],
        measured=datetime.now(UTC),
    )


async def foresee(
    database: Database, reach: Reach, *, retention: Retention, kept: list[UUID] | None = None
) -> dict[str, Freed]:
    """Return by project what `apply` would delete of a tenant now.

    Args:
        database: where the rows are.
        reach: all of the tenant, or the projects that are asked about.
        retention: how long what is kept.
        kept: the runs that rules keep; by default they are looked for.
    """
    found: dict[int, Freed] = {}

    def add(project_id: int, freed: Freed) -> None:
        found[project_id] = found.get(project_id, Freed()) + freed

    async with database.transaction(reach) as connection:
        names = await project_names(connection)
        cursor = await connection.execute(
            query("retention.trashed_sum"), {"days": retention.trash_days}
        )
        for project_id, *row in await cursor.fetchall():
            add(
                project_id,
                Freed(
                    purged_runs=row[0],
                    points=row[1],
                    log_lines=row[2],
                    log_bytes=row[3],
                    spans=row[4],
                    span_bytes=row[5],
                    media_items=row[6],
                    media_bytes=row[7],
                    compacted_points=row[8],
                ),
            )
    if kept is None:
        kept = await _kept(database, reach, retention)
    if retention.tracking_days is not None:
        async for project_id, freed in _foresee_pruning(
            database, reach, days=retention.tracking_days, kept=kept
        ):
            add(project_id, freed)
    if retention.media_days is not None:
        async with database.transaction(reach) as connection:
            cursor = await connection.execute(
                query("retention.media_of_old_runs_sum"),
                {
                    "days": retention.media_days,
                    "trash_days": retention.trash_days,
                    "kept": kept,
                },
            )
            for project_id, items, size_bytes in await cursor.fetchall():
                add(project_id, Freed(media_items=items, media_bytes=size_bytes))
    return {names[project_id]: found[project_id] for project_id in sorted(found)}


async def _foresee_pruning(
    database: Database, reach: Reach, *, days: int, kept: list[UUID]
) -> AsyncIterator[tuple[int, Freed]]:
    after = _NO_RUN
    while True:
        async with database.transaction(reach) as connection:
            cursor = await connection.execute(
                query("retention.foresee_pruning"),
                {"days": days, "kept": kept, "after": after, "limit": _LOOK_MAX},
            )
            rows = await cursor.fetchall()
        for _, project_id, is_kept, points, compacted, lines, log_bytes, spans, size in rows:
            if not points + lines + spans:
                continue
            if is_kept:
                yield project_id, Freed(kept_runs=1)
                continue
            yield (
                project_id,
                Freed(
                    pruned_runs=1,
                    points=points,
                    compacted_points=compacted,
                    log_lines=lines,
                    log_bytes=log_bytes,
                    spans=spans,
                    span_bytes=size,
                ),
            )
        if len(rows) < _LOOK_MAX:
            return
        after = rows[-1][0]


async def _kept(database: Database, reach: Reach, retention: Retention) -> list[UUID]:
    """Return the runs that rules keep, where anything goes for its age at all."""
    if retention.tracking_days is None and retention.media_days is None:
        return []
    return await kept_runs(database, reach)
