"""Two transactions that meet: one holds a lock until the other waits for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

__all__ = ["until_task_waits", "until_waited_for"]

_SECONDS_MAX = 30


_WAITED_FOR: Final = (
    "select exists (select from pg_locks as waiting where not waiting.granted"
    " and pg_backend_pid() = any (pg_blocking_pids(waiting.pid)))"
)


async def until_waited_for(holder: Connection) -> None:
    """Return as soon as somebody waits for a lock that this connection holds."""
    async with asyncio.timeout(_SECONDS_MAX):
        while True:
            if holder.execute(_WAITED_FOR).fetchone() == (True,):
                return
            await asyncio.sleep(0.005)


async def until_task_waits(waiting: asyncio.Task[Any], holder: AsyncConnection[Any]) -> None:
    """Return as soon as somebody waits for a lock that this connection holds; a task is to do so."""
    while True:
        found = await holder.execute(_WAITED_FOR)
        if await found.fetchone() == (True,):
            return
        assert not waiting.done(), "it did not wait"
        await asyncio.sleep(0.005)
