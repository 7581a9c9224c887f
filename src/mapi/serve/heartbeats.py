"""The job that looks for silent runs; every replica has it, one at a time does it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

import psycopg

from mapi.errors import MapiError
from mapi.tracking.heartbeat import find_lost

if TYPE_CHECKING:
    from mapi.database.door import Database
    from mapi.tracking.changes import Changes

__all__ = ["watch_heartbeats"]

_logger: Final = logging.getLogger("mapi.serve")
#: A silent run is found at most this part of the timeout later.
_PART: Final = 4
#: With a long timeout it is still looked for this often.
_SECONDS_MAX: Final = 15.0


async def watch_heartbeats(
    database: Database, changes: Changes, *, timeout_seconds: float
) -> None:
    """Look for silent runs until cancelled.

    Args:
        database: the door.
        changes: hears of each run that is lost.
        timeout_seconds: how long a run may be silent.
    """
    while True:
        await asyncio.sleep(min(_SECONDS_MAX, timeout_seconds / _PART))
        try:
            for tenant_id, _, run_id in await find_lost(database, timeout_seconds=timeout_seconds):
                changes.touch(tenant_id, run_id)
        except (MapiError, psycopg.Error) as error:
            _logger.warning("silent runs were not looked for: %s", error)
