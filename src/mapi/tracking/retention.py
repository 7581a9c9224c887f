"""What is deleted for good: runs from the trash, and what has grown old.

A run that is purged is gone with its rows in one transaction; its objects are deleted behind it. A
run that is pruned for its age keeps what searches ask for (summaries, scalars, params, tags, name
and note) and loses points, spans and log lines. Each step is a small transaction of its own: a job
that is killed goes on where it was, and one that runs twice finds nothing to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mapi.access.audit import OPERATOR, record
from mapi.access.identifiers import RUN, new_uuid, text_from_uuid
from mapi.access.notices import tell_of_deletion
from mapi.database.queries import query
from mapi.errors import NotFoundError, StateError
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.freed import Freed
from mapi.tracking.keeping import kept_runs
from mapi.tracking.letting_go import let_go
from mapi.tracking.pruned import MEDIA_RULE, TRACKING_RULE, enter_pruning

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mapi.access.rights import Principal
    from mapi.database.door import Connection, Database, Reach
    from mapi.objects.store import ObjectStore
    from mapi.tracking.freed import Retention

__all__ = ["apply", "prune_run", "purge_run"]

#: Runs, or media items, of one look: a look is short, and there is another one behind it.
_LOOK_MAX: Final = 200
#: A reader who comes back later than this is told that there is no such run.
_REMEMBERED_DAYS: Final = 7
#: Looks of one kind in one pass of the job, so that another tenant has its turn.
_LOOKS_MAX: Final = 500
_NO_RUN: Final = UUID(int=0)


async def purge_run(
    database: Database,
    store: ObjectStore,
    reach: Reach,
    *,
    run_id: UUID,
    principal: Principal | None,
    trash_days: int | None = 0,
) -> Freed:
    """Delete a run for good, with everything that it has.

    Args:
        database: where its rows are.
        store: where its objects are.
        reach: of whoever deletes.
        run_id: the run.
        principal: who deletes; ``None`` is the platform, whose trash is full.
        trash_days: for how long it must be in the trash; ``None`` takes it from anywhere.

    Raises:
        NotFoundError: there is no such run.
        StateError: it is not in the trash, or not for so long.
    """

    async def work(connection: Connection) -> tuple[Freed, list[str]]:
        await connection.execute(query("retention.take_time"))
        cursor = await connection.execute(
            query("retention.lock"), {"run": run_id, "days": trash_days or 0}
        )
        row = await cursor.fetchone()
        if row is None:
            raise NotFoundError("There is no such run.")
        project_id, is_trashed, log_lines, log_bytes, spans, span_bytes, media, media_bytes = row
        if trash_days is not None and not is_trashed:
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

    async for freed in _empty_trash(database, store, reach, days=retention.trash_days):
        add(freed)
    if retention.tracking_days is not None:
        async for freed in _prune_old_runs(database, reach, days=retention.tracking_days):
            add(freed)
    if retention.media_days is not None:
        async for freed in _delete_old_media(database, store, reach, days=retention.media_days):
            add(freed)
    async with database.transaction(reach) as connection:
        await connection.execute(query("retention.forget_deletions"), {"days": _REMEMBERED_DAYS})
    return total


async def _empty_trash(
    database: Database, store: ObjectStore, reach: Reach, *, days: int
) -> AsyncIterator[Freed]:
    for _ in range(_LOOKS_MAX):
        found = await _trashed(database, reach, days=days)
        for run_id in found:
            try:
                yield await purge_run(
                    database, store, reach, run_id=run_id, principal=None, trash_days=days
                )
            except (NotFoundError, StateError):
                # Purged or restored since the look: it is not in the trash any more.
                continue
        if len(found) < _LOOK_MAX:
            return


async def _trashed(database: Database, reach: Reach, *, days: int) -> list[UUID]:
    async with database.transaction(reach) as connection:
        cursor = await connection.execute(
            query("retention.trashed"), {"days": days, "limit": _LOOK_MAX}
        )
        return [run_id for (run_id,) in await cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A run as a look saw it: what changes later is not what the rules were asked about."""

    run_id: UUID
    seq: int


async def _looks(
    database: Database, reach: Reach, *, statement: str, days: int
) -> AsyncIterator[list[_Seen]]:
    """Yield the old runs that a statement finds and that no rule keeps, some at a time.

    The rules are asked behind each look. So whoever then finds a run unchanged under its lock knows
    that they do not keep it.
    """
    kept: list[UUID] | None = None
    after = _NO_RUN
    for _ in range(_LOOKS_MAX):
        if kept is None:
            kept = await kept_runs(database, reach)
        async with database.transaction(reach) as connection:
            cursor = await connection.execute(
                query(statement), {"days": days, "kept": kept, "after": after, "limit": _LOOK_MAX}
            )
            seen = [_Seen(*row) for row in await cursor.fetchall()]
        if not seen:
            return
        kept = await kept_runs(database, reach)
        saved = set(kept)
        yield [one for one in seen if one.run_id not in saved]
        if len(seen) < _LOOK_MAX:
            return
        after = seen[-1].run_id


async def _prune_old_runs(database: Database, reach: Reach, *, days: int) -> AsyncIterator[Freed]:
    async for seen in _looks(database, reach, statement="retention.prunable", days=days):
        for one in seen:
            yield await prune_run(database, reach, one.run_id, days=days, seq=one.seq)


async def prune_run(
    database: Database, reach: Reach, run_id: UUID, *, days: int, seq: int
) -> Freed:
    """Delete the points, spans and log lines of a run; what searches ask for stays.

    Of a run that is not as it was seen, or goes on again, nothing is deleted.

    Args:
        database: where its rows are.
        reach: of the run's tenant.
        run_id: the run.
        days: how long ago it must have ended.
        seq: its last change, as it was seen.
    """

    async def work(connection: Connection) -> Freed:
        about: dict[str, Any] = {"run": run_id}
        await connection.execute(query("retention.take_time"))
        cursor = await connection.execute(
            query("retention.lock_prunable"), {**about, "days": days, "seq": seq}
        )
        row = await cursor.fetchone()
        if row is None:
            return Freed()
        log_lines, log_bytes, spans, span_bytes = row
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
        await enter_pruning(
            connection, run_id, freed, rule=TRACKING_RULE, days=days, change_seq=seq + 1
        )
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
    database: Database, store: ObjectStore, reach: Reach, *, days: int
) -> AsyncIterator[Freed]:
    """Delete media portion by portion: the rows, then their objects, which nobody finds any more.

    Whoever stops it in between leaves objects that `leftovers` collects.
    """
    async for seen in _looks(
        database, reach, statement="retention.old_runs_with_media", days=days
    ):
        runs, pass_id = seen, str(new_uuid())
        while runs:
            freed, runs = await _delete_media(
                database, store, reach, days=days, runs=runs, pass_id=pass_id
            )
            yield freed


async def _delete_media(
    database: Database,
    store: ObjectStore,
    reach: Reach,
    *,
    days: int,
    runs: list[_Seen],
    pass_id: str,
) -> tuple[Freed, list[_Seen]]:
    """Delete some of the media of runs; return which of them may have more, as they are now."""

    async def work(connection: Connection) -> tuple[list[tuple[UUID, str, int]], list[_Seen]]:
        cursor = await connection.execute(
            query("retention.lock_old_with_media"),
            {
                "days": days,
                "ids": [one.run_id for one in runs],
                "seqs": [one.seq for one in runs],
            },
        )
        locked = {run_id for (run_id,) in await cursor.fetchall()}
        cursor = await connection.execute(
            query("retention.delete_media"), {"runs": list(locked), "limit": _LOOK_MAX}
        )
        gone: list[tuple[UUID, str, int]] = await cursor.fetchall()
        changed = {run_id for run_id, _, _ in gone}
        seqs = {one.run_id: one.seq for one in runs}
        for run_id in sorted(changed):
            sizes = [size for of_run, _, size in gone if of_run == run_id]
            await enter_pruning(
                connection,
                run_id,
                Freed(media_items=len(sizes)),
                rule=MEDIA_RULE,
                days=days,
                change_seq=seqs[run_id] + 1,
                pass_id=pass_id,
            )
            await record(
                connection,
                OPERATOR,
                "media.prune",
                text_from_uuid(RUN, run_id),
                rows=len(sizes),
                size_bytes=sum(sizes),
            )
        if len(gone) < _LOOK_MAX:
            return gone, []
        return gone, [
            _Seen(one.run_id, one.seq + (one.run_id in changed))
            for one in runs
            if one.run_id in locked
        ]

    gone, more = await database.run(reach, work)
    await let_go(database, store, [key for _, key, _ in gone])
    return Freed(media_items=len(gone), media_bytes=sum(size for _, _, size in gone)), more
