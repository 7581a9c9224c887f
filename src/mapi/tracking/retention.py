"""What is deleted for good: runs from the trash, and what has grown old.

A run that is purged is gone with its rows in one transaction; its objects are deleted behind it. A
run that is pruned for its age keeps what searches ask for (summaries, scalars, params, tags, name
and note) and loses points, spans and log lines. Each step is a small transaction of its own: a job
that is killed goes on where it was, and one that runs twice finds nothing to do.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from mapi.access.audit import OPERATOR, record
from mapi.access.identifiers import RUN, text_from_uuid
from mapi.access.notices import tell_of_deletion
from mapi.database.queries import query
from mapi.errors import NotFoundError, StateError
from mapi.series.budgets import point_bytes
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.letting_go import let_go

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection, Database, Reach
    from mapi.objects.store import ObjectStore

__all__ = ["Freed", "Retention", "apply", "delete_project", "foresee", "purge_run"]

#: Runs, or media items, of one look: a look is short, and there is another one behind it.
_LOOK_MAX: Final = 200
#: A reader who comes back later than this is told that there is no such run.
_REMEMBERED_DAYS: Final = 7
#: Of one pass of the job, so that another tenant has its turn.
_LOOKS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what is kept; ``None`` is for ever."""

    trash_days: int = 30
    tracking_days: int | None = None
    media_days: int | None = None


@dataclass(frozen=True, slots=True)
class Freed:
    """What was deleted, or would be."""

    purged_runs: int = 0
    pruned_runs: int = 0
    points: int = 0
    compacted_points: int = 0
    """Of ``points``, those that stood in chunks."""
    log_lines: int = 0
    spans: int = 0
    media_items: int = 0
    log_bytes: int = 0
    span_bytes: int = 0
    media_bytes: int = 0

    def __add__(self, other: Freed) -> Freed:
        """Return both together."""
        return Freed(
            **{
                one.name: getattr(self, one.name) + getattr(other, one.name)
                for one in fields(Freed)
            }
        )

    @property
    def rows(self) -> int:
        """Rows of all kinds, the runs' own included."""
        return self.purged_runs + self.points + self.log_lines + self.spans + self.media_items

    @property
    def size_bytes(self) -> int:
        """Bytes: of media exactly, of rows about."""
        points = point_bytes(self.points, compacted=self.compacted_points)
        return points + self.log_bytes + self.span_bytes + self.media_bytes


async def purge_run(
    database: Database,
    store: ObjectStore,
    reach: Reach,
    *,
    run_id: UUID,
    principal: Principal | None,
    from_trash: bool = True,
) -> Freed:
    """Delete a run for good, with everything that it has.

    Args:
        database: where its rows are.
        store: where its objects are.
        reach: of whoever deletes.
        run_id: the run.
        principal: who deletes; ``None`` is the platform, whose trash is full.
        from_trash: refuse a run that is not in the trash.

    Raises:
        NotFoundError: there is no such run.
        StateError: it is not in the trash.
    """

    async def work(connection: Connection) -> tuple[Freed, list[str]]:
        cursor = await connection.execute(query("retention.lock"), {"run": run_id})
        row = await cursor.fetchone()
        if row is None:
            raise NotFoundError("There is no such run.")
        project_id, is_trashed, _, log_lines, log_bytes, spans, span_bytes, media, media_bytes = (
            row
        )
        if from_trash and not is_trashed:
            raise StateError("The run is not in the trash: DELETE puts it there first.")
        cursor = await connection.execute(query("retention.objects"), {"run": run_id})
        objects = [key for (key,) in await cursor.fetchall()]
        points = await _delete_points(connection, run_id, first=SCALAR_STEP)
        await connection.execute(query("retention.delete_run"), {"run": run_id})
        await connection.execute(
            query("retention.remember_deletion"), {"run": run_id, "project": project_id}
        )
        await tell_of_deletion(connection, project_id, run_id)
        freed = points + Freed(
            purged_runs=1,
            log_lines=log_lines,
            spans=spans,
            media_items=media,
            log_bytes=log_bytes,
            span_bytes=span_bytes,
            media_bytes=media_bytes,
        )
        await record(
            connection,
            OPERATOR if principal is None else principal.name,
            "run.purge",
            text_from_uuid(RUN, run_id),
            rows=freed.rows,
            size_bytes=freed.size_bytes,
        )
        return freed, objects

    freed, objects = await database.run(reach, work)
    await let_go(database, store, objects)
    return freed


async def _delete_points(connection: Connection, run_id: UUID, *, first: int) -> Freed:
    """Delete the points of a run from a step on, and all of its chunks."""
    cursor = await connection.execute(query("retention.delete_chunks"), {"run": run_id})
    (in_chunks,) = await cursor.fetchone() or (0,)
    rows = await connection.execute(
        query("retention.delete_points"), {"run": run_id, "first": first}
    )
    return Freed(points=int(in_chunks) + rows.rowcount, compacted_points=int(in_chunks))


async def delete_project(
    database: Database,
    store: ObjectStore,
    reach: Reach,
    *,
    project_id: int,
    principal: Principal,
) -> Freed:
    """Delete a project for good: its runs one by one, then what is left of it.

    Whoever stops it in between finds the project with fewer runs, and can go on.
    """
    total = Freed()
    while True:
        async with database.transaction(reach) as connection:
            cursor = await connection.execute(
                query("retention.runs_of_project"), {"project": project_id, "limit": _LOOK_MAX}
            )
            found = [run_id for (run_id,) in await cursor.fetchall()]
        if not found:
            break
        for run_id in found:
            total += await purge_run(
                database, store, reach, run_id=run_id, principal=principal, from_trash=False
            )

    async def work(connection: Connection) -> None:
        await connection.execute(query("retention.delete_project"), {"project": project_id})

    await database.run(reach, work)
    return total


async def foresee(connection: Connection, retention: Retention) -> Freed:
    """Return what `apply` would delete of a tenant now."""
    total = Freed()
    cursor = await connection.execute(
        query("retention.trashed_sum"), {"days": retention.trash_days}
    )
    row: Any = await cursor.fetchone()
    total += Freed(
        purged_runs=row[0],
        points=row[1],
        log_lines=row[2],
        log_bytes=row[3],
        spans=row[4],
        span_bytes=row[5],
        media_items=row[6],
        media_bytes=row[7],
        compacted_points=row[8],
    )
    if retention.tracking_days is not None:
        cursor = await connection.execute(
            query("retention.prunable_sum"), {"days": retention.tracking_days}
        )
        row = await cursor.fetchone()
        total += Freed(
            pruned_runs=row[0],
            points=row[1],
            log_lines=row[2],
            log_bytes=row[3],
            spans=row[4],
            span_bytes=row[5],
            compacted_points=row[6],
        )
    if retention.media_days is not None:
        cursor = await connection.execute(
            query("retention.media_of_old_runs_sum"), {"days": retention.media_days}
        )
        row = await cursor.fetchone()
        total += Freed(media_items=row[0], media_bytes=row[1])
    return total


async def apply(
    database: Database, store: ObjectStore, reach: Reach, *, retention: Retention
) -> Freed:
    """Delete of one tenant what the rules say; again finds nothing.

    Args:
        database: where the rows are.
        store: where the objects are.
        reach: all of the tenant.
        retention: the rules.
    """
    total = Freed()
    for _ in range(_LOOKS_MAX):
        found = await _look(database, reach, "retention.trashed", days=retention.trash_days)
        for run_id in found:
            total += await purge_run(database, store, reach, run_id=run_id, principal=None)
        if len(found) < _LOOK_MAX:
            break
    if retention.tracking_days is not None:
        for _ in range(_LOOKS_MAX):
            found = await _look(
                database, reach, "retention.prunable", days=retention.tracking_days
            )
            for run_id in found:
                total += await _prune(database, reach, run_id)
            if len(found) < _LOOK_MAX:
                break
    if retention.media_days is not None:
        total += await _delete_old_media(database, store, reach, days=retention.media_days)
    async with database.transaction(reach) as connection:
        await connection.execute(query("retention.forget_deletions"), {"days": _REMEMBERED_DAYS})
    return total


async def _look(database: Database, reach: Reach, name: str, *, days: int) -> list[UUID]:
    async with database.transaction(reach) as connection:
        cursor = await connection.execute(query(name), {"days": days, "limit": _LOOK_MAX})
        return [run_id for (run_id,) in await cursor.fetchall()]


async def _prune(database: Database, reach: Reach, run_id: UUID) -> Freed:
    """Delete the points, spans and log lines of a run; what searches ask for stays."""

    async def work(connection: Connection) -> Freed:
        about: dict[str, Any] = {"run": run_id}
        cursor = await connection.execute(query("retention.lock"), about)
        row = await cursor.fetchone()
        if row is None:
            return Freed()
        _, _, _, log_lines, log_bytes, spans, span_bytes, _, _ = row
        await connection.execute(query("retention.seal"), about)
        points = await _delete_points(connection, run_id, first=SCALAR_STEP + 1)
        await connection.execute(query("retention.delete_lines"), about)
        await connection.execute(query("retention.delete_spans"), about)
        await connection.execute(
            query("retention.note_pruned"), {**about, "points": points.points}
        )
        return points + Freed(
            pruned_runs=1,
            log_lines=log_lines,
            spans=spans,
            log_bytes=log_bytes,
            span_bytes=span_bytes,
        )

    return await database.run(reach, work)


async def _delete_old_media(
    database: Database, store: ObjectStore, reach: Reach, *, days: int
) -> Freed:
    total = Freed()
    for _ in range(_LOOKS_MAX):

        async def work(connection: Connection) -> list[tuple[str, int]]:
            cursor = await connection.execute(
                query("retention.media_of_old_runs"), {"days": days, "limit": _LOOK_MAX}
            )
            ids = [row[0] for row in await cursor.fetchall()]
            cursor = await connection.execute(query("retention.delete_media"), {"ids": ids})
            return [(row[0], row[1]) for row in await cursor.fetchall()]

        gone = await database.run(reach, work)
        await let_go(database, store, [key for key, _ in gone])
        total += Freed(media_items=len(gone), media_bytes=sum(size for _, size in gone))
        if len(gone) < _LOOK_MAX:
            break
    return total
