"""Two transactions that meet: one holds a lock until the other waits for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["until_waited_for"]

_SECONDS_MAX = 30


async def until_waited_for(holder: Connection) -> None:
    """Return as soon as somebody waits for a lock that this connection holds."""
    async with asyncio.timeout(_SECONDS_MAX):
        while True:
            row = holder.execute(
                "select exists (select from pg_locks as waiting where not waiting.granted"
                " and pg_backend_pid() = any (pg_blocking_pids(waiting.pid)))"
            ).fetchone()
            if row == (True,):
                return
            await asyncio.sleep(0.005)
