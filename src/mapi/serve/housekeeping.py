"""The job that deletes what is over; every replica has it, one at a time does it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

import psycopg

from mapi.database.door import Reach
from mapi.database.turns import in_turn
from mapi.errors import MapiError
from mapi.tracking.heartbeat import list_tenants
from mapi.tracking.leftovers import collect_leftovers
from mapi.tracking.retention import Freed, Retention, apply

if TYPE_CHECKING:
    from mapi.config import Settings
    from mapi.database.door import Database
    from mapi.objects.store import ObjectStore

__all__ = ["keep_house", "retention_of", "tidy"]

_logger: Final = logging.getLogger("mapi.serve")
#: What is counted in days is looked for once an hour.
_SECONDS: Final = 3_600.0
_TURN: Final = "housekeeping"


def retention_of(settings: Settings) -> Retention:
    """Return the rules that the operator decided."""
    return Retention(
        trash_days=settings.trash_days,
        tracking_days=settings.tracking_retention_days,
        media_days=settings.media_retention_days,
    )


async def keep_house(database: Database, store: ObjectStore, retention: Retention) -> None:
    """Delete what is over, until cancelled: at the start, and once an hour.

    Args:
        database: the door.
        store: the objects.
        retention: how long what is kept.
    """
    while True:
        try:
            freed = await tidy(database, store, retention)
        except (MapiError, psycopg.Error) as error:
            _logger.warning("what is over was not deleted: %s", error)
        else:
            if freed is not None and freed.rows:
                _logger.info("deleted %d rows, about %d bytes", freed.rows, freed.size_bytes)
        await asyncio.sleep(_SECONDS)


async def tidy(database: Database, store: ObjectStore, retention: Retention) -> Freed | None:
    """Delete what is over in every tenant; ``None`` where another replica is at it."""

    async def work() -> Freed:
        total = Freed()
        for tenant_id in await list_tenants(database):
            total += await apply(database, store, Reach(tenant_id), retention=retention)
        await collect_leftovers(database, store)
        return total

    return await in_turn(database, _TURN, work)
