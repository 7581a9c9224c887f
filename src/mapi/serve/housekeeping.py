"""The job that deletes what is over and compacts what is kept; one replica at a time does it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

import psycopg

from mapi.access.idempotency import delete_old_keys
from mapi.database.door import Reach
from mapi.database.turns import in_turn
from mapi.errors import MapiError
from mapi.tracking.compaction import compact
from mapi.tracking.freed import Freed, Retention
from mapi.tracking.heartbeat import list_tenants
from mapi.tracking.leftovers import collect_leftovers
from mapi.tracking.retention import apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapi.config import Settings
    from mapi.database.door import Database
    from mapi.objects.store import ObjectStore

__all__ = ["compact_all", "keep_house", "retention_of", "tidy"]

_logger: Final = logging.getLogger("mapi.serve")
#: What is counted in days is looked for once an hour.
_SECONDS: Final = 3_600.0
_TURN: Final = "housekeeping"
_COMPACTION_TURN: Final = "compaction"
_HOUR_SECONDS: Final = 3_600.0


def retention_of(settings: Settings) -> Retention:
    """Return the rules that the operator decided."""
    return Retention(
        trash_days=settings.trash_days,
        tracking_days=settings.tracking_retention_days,
        media_days=settings.media_retention_days,
    )


async def keep_house(
    database: Database, store: ObjectStore, retention: Retention, *, compaction_hours: int
) -> None:
    """Delete what is over and compact what is kept, until cancelled: now, and once an hour.

    Args:
        database: the door.
        store: the objects.
        retention: how long what is kept.
        compaction_hours: how long ago a run must have ended whose points are compacted.
    """
    while True:
        try:
            freed = await tidy(database, store, retention)
        except (MapiError, psycopg.Error) as error:
            _logger.warning("what is over was not deleted: %s", error)
        else:
            if freed is not None and freed.rows:
                _logger.info("deleted %d rows, about %d bytes", freed.rows, freed.size_bytes)
        try:
            points = await compact_all(database, hours=compaction_hours)
        except (MapiError, psycopg.Error) as error:
            _logger.warning("runs that are over were not compacted: %s", error)
        else:
            if points:
                _logger.info("compacted %d points", points)
        await asyncio.sleep(_SECONDS)


async def tidy(
    database: Database,
    store: ObjectStore,
    retention: Retention,
    *,
    told: Callable[[int], None] | None = None,
    failed: Callable[[int, Exception], None] | None = None,
) -> Freed | None:
    """Delete what is over in every tenant; ``None`` where another replica is at it.

    Args:
        database: the door.
        store: the objects.
        retention: how long what is kept.
        told: hears now and then how many more rows are gone.
        failed: hears of each tenant where it failed, and why; without it that is logged.
    """

    async def work() -> Freed:
        total = Freed()
        for tenant_id in await list_tenants(database):
            try:
                total += await apply(
                    database, store, Reach(tenant_id), retention=retention, told=told
                )
                await delete_old_keys(database, Reach(tenant_id))
            except (MapiError, psycopg.Error) as error:
                # The others' trash must not wait for what is wrong with one.
                if failed is not None:
                    failed(tenant_id, error)
                    continue
                _logger.warning("what is over in tenant %d was not deleted: %s", tenant_id, error)
        await collect_leftovers(database, store)
        return total

    return await in_turn(database, _TURN, work)


async def compact_all(
    database: Database,
    *,
    hours: int,
    told: Callable[[int], None] | None = None,
    failed: Callable[[int, Exception], None] | None = None,
) -> int | None:
    """Compact the runs of every tenant that are over; ``None`` where another replica is at it.

    Args:
        database: the door.
        hours: how long ago a run must have ended.
        told: hears after each run how many of its points moved.
        failed: hears of each tenant where it failed, and why; without it that is logged.

    Returns:
        How many points moved into chunks.
    """

    async def work() -> int:
        seconds = hours * _HOUR_SECONDS
        points = 0
        for tenant_id in await list_tenants(database):
            try:
                points += await compact(database, Reach(tenant_id), age_seconds=seconds, told=told)
            except (MapiError, psycopg.Error) as error:
                if failed is not None:
                    failed(tenant_id, error)
                    continue
                _logger.warning("runs of tenant %d were not compacted: %s", tenant_id, error)
        return points

    return await in_turn(database, _COMPACTION_TURN, work)
