"""What is deleted for good: runs from the trash, and what has grown old.

A run that is purged is gone with its rows in one transaction; its objects are deleted behind it. A
run that is pruned for its age keeps what searches ask for (summaries, scalars, params, tags, name
and note) and loses points, spans and log lines. Each step is a small transaction of its own: a job
that is killed goes on where it was, and one that runs twice finds nothing to do.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mapi.access.audit import OPERATOR, record
from mapi.access.identifiers import RUN, text_from_uuid
from mapi.access.notices import tell_of_deletion
from mapi.access.projects import project_names
from mapi.database.queries import query
from mapi.errors import NotFoundError, StateError
from mapi.series.budgets import point_bytes
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.keeping import kept_runs
from mapi.tracking.letting_go import let_go

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mapi.access.rights import Principal
    from mapi.database.door import Connection, Database, Reach
    from mapi.objects.store import ObjectStore

__all__ = ["Freed", "Retention", "apply", "delete_project", "foresee", "prune_run", "purge_run"]

#: Runs, or media items, of one look: a look is short, and there is another one behind it.
_LOOK_MAX: Final = 200
#: A reader who comes back later than this is told that there is no such run.
_REMEMBERED_DAYS: Final = 7
#: Of one pass of the job, so that another tenant has its turn.
_LOOKS_MAX: Final = 500
_NO_RUN: Final = UUID(int=0)


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
    kept_runs: int = 0
    """Runs that are old enough, and that a rule keeps."""
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
        await connection.execute(query("retention.take_time"))
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


async def foresee(database: Database, reach: Reach, *, retention: Retention) -> dict[str, Freed]:
    """Return by project what `apply` would delete of a tenant now.

    Args:
        database: where the rows are.
        reach: all of the tenant.
        retention: how long what is kept.
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


async def apply(
    database: Database,
    store: ObjectStore,
    reach: Reach,
    *,
    retention: Retention,
    told: Callable[[int], None] | None = None,
) -> Freed:
    """Delete of one tenant what the rules say; again finds nothing.

    Args:
        database: where the rows are.
        store: where the objects are.
        reach: all of the tenant.
        retention: how long what is kept.
        told: hears after each run, or portion of media, how many rows are gone.
    """
    total = Freed()

    def add(freed: Freed) -> None:
        nonlocal total
        total += freed
        if told is not None:
            told(freed.rows)

    for _ in range(_LOOKS_MAX):
        found = await _trashed(database, reach, days=retention.trash_days)
        for run_id in found:
            add(await purge_run(database, store, reach, run_id=run_id, principal=None))
        if len(found) < _LOOK_MAX:
            break
    kept = await _kept(database, reach, retention)
    if retention.tracking_days is not None:
        async for run_id in _prunable(database, reach, days=retention.tracking_days, kept=kept):
            add(await prune_run(database, reach, run_id))
    if retention.media_days is not None:
        async for freed in _delete_old_media(
            database, store, reach, days=retention.media_days, kept=kept
        ):
            add(freed)
    async with database.transaction(reach) as connection:
        await connection.execute(query("retention.forget_deletions"), {"days": _REMEMBERED_DAYS})
    return total


async def _kept(database: Database, reach: Reach, retention: Retention) -> list[UUID]:
    """Return the runs that rules keep, where anything goes for its age at all."""
    if retention.tracking_days is None and retention.media_days is None:
        return []
    return await kept_runs(database, reach)


async def _trashed(database: Database, reach: Reach, *, days: int) -> list[UUID]:
    async with database.transaction(reach) as connection:
        cursor = await connection.execute(
            query("retention.trashed"), {"days": days, "limit": _LOOK_MAX}
        )
        return [run_id for (run_id,) in await cursor.fetchall()]


async def _prunable(
    database: Database, reach: Reach, *, days: int, kept: list[UUID]
) -> AsyncIterator[UUID]:
    after = _NO_RUN
    while True:
        async with database.transaction(reach) as connection:
            cursor = await connection.execute(
                query("retention.prunable"),
                {"days": days, "kept": kept, "after": after, "limit": _LOOK_MAX},
            )
            found = [run_id for run_id, _ in await cursor.fetchall()]
        for run_id in found:
            yield run_id
        if len(found) < _LOOK_MAX:
            return
        after = found[-1]


async def prune_run(database: Database, reach: Reach, run_id: UUID) -> Freed:
    """Delete the points, spans and log lines of a run; what searches ask for stays.

    Args:
        database: where its rows are.
        reach: of the run's tenant.
        run_id: the run.
    """

    async def work(connection: Connection) -> Freed:
        about: dict[str, Any] = {"run": run_id}
        await connection.execute(query("retention.take_time"))
        cursor = await connection.execute(query("retention.lock"), about)
        row = await cursor.fetchone()
        if row is None:
            return Freed()
        _, _, _, log_lines, log_bytes, spans, span_bytes, _, _ = row
        await connection.execute(query("retention.keep_summaries"), about)
        await connection.execute(query("retention.seal"), about)
        points = await _delete_points(connection, run_id, first=SCALAR_STEP + 1)
        await connection.execute(query("retention.delete_lines"), about)
        await connection.execute(query("retention.delete_spans"), about)
        await connection.execute(
            query("retention.note_pruned"), {**about, "points": points.points}
        )
        freed = points + Freed(
            log_lines=log_lines, spans=spans, log_bytes=log_bytes, span_bytes=span_bytes
        )
        if not freed.rows:
            return freed
        await record(
            connection,
            OPERATOR,
            "run.prune",
            text_from_uuid(RUN, run_id),
            rows=freed.rows,
            size_bytes=freed.size_bytes,
        )
        return freed + Freed(pruned_runs=1)

    return await database.run(reach, work)


async def _delete_old_media(
    database: Database, store: ObjectStore, reach: Reach, *, days: int, kept: list[UUID]
) -> AsyncIterator[Freed]:
    """Delete media portion by portion: the rows, then their objects, which nobody finds any more.

    Whoever stops it in between leaves objects that `leftovers` collects.
    """
    for _ in range(_LOOKS_MAX):

        async def work(connection: Connection) -> list[tuple[UUID, str, int]]:
            cursor = await connection.execute(
                query("retention.media_of_old_runs"),
                {"days": days, "kept": kept, "limit": _LOOK_MAX},
            )
            ids = [row[0] for row in await cursor.fetchall()]
            cursor = await connection.execute(query("retention.delete_media"), {"ids": ids})
            gone: list[tuple[UUID, str, int]] = [
                (row[0], row[1], row[2]) for row in await cursor.fetchall()
            ]
            for run_id in sorted({one[0] for one in gone}):
                sizes = [size for of_run, _, size in gone if of_run == run_id]
                await record(
                    connection,
                    OPERATOR,
                    "media.prune",
                    text_from_uuid(RUN, run_id),
                    rows=len(sizes),
                    size_bytes=sum(sizes),
                )
            return gone

        gone = await database.run(reach, work)
        await let_go(database, store, [key for _, key, _ in gone])
        if gone:
            yield Freed(media_items=len(gone), media_bytes=sum(size for _, _, size in gone))
        if len(gone) < _LOOK_MAX:
            break
