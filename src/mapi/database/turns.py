"""Turns: a job that every replica has, and one at a time does.

A turn is a row with an end by the clock of the database. While the job runs its holder moves the
end on, each time in a transaction of its own: no connection and no lock is held meanwhile, so any
pooler may stand between. Who dies leaves a turn that ends by itself.

A holder that cannot move the end on in time gives the job up, but another may have begun by then:
what is done in a turn must bear being done twice at once. The turn saves work, it guards no data.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID, uuid4

import psycopg

from mapi.database.queries import query
from mapi.errors import MapiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mapi.database.door import Database

__all__ = ["in_turn"]

_logger: Final = logging.getLogger("mapi.turns")
_Result = TypeVar("_Result")

#: How long a turn outlives its holder.
_LEASE_SECONDS: Final = 30.0
#: The end is moved on this often in the time of one lease, so that two failures cost nothing.
_RENEWALS: Final = 3


async def in_turn(
    database: Database,
    name: str,
    work: Callable[[], Awaitable[_Result]],
    *,
    lease_seconds: float = _LEASE_SECONDS,
) -> _Result | None:
    """Return what ``work`` returns; ``None`` where another has the turn, or took it.

    Args:
        database: whose clock counts.
        name: of the job: letters and underscores.
        work: may be cancelled where the turn is lost, and must bear being done twice.
        lease_seconds: how long the turn outlives its holder.

    Raises:
        UnavailableError: the database does not answer now.
    """
    turn = _Turn(database, name, lease_seconds=lease_seconds)
    if not await turn.take():
        return None
    job = asyncio.ensure_future(work())
    keeper = asyncio.create_task(turn.keep(job))
    try:
        return await job
    except asyncio.CancelledError:
        task = asyncio.current_task()
        # Whoever stops us too, while the job stops, is to hear of it.
        if not turn.is_lost or (task is not None and task.cancelling()):
            raise
        _logger.warning("the turn %s was lost; the job stopped", name)
        return None
    finally:
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)
        await turn.end()


class _Turn:
    """One holder's turn."""

    def __init__(self, database: Database, name: str, *, lease_seconds: float) -> None:
        self._database = database
        self._lease_seconds = lease_seconds
        self._about: dict[str, str | UUID] = {"name": name, "holder": uuid4()}
        self.is_lost = False

    async def take(self) -> bool:
        """Take the turn, or move its end on; say whether it is ours."""
        async with self._database.outside() as connection:
            cursor = await connection.execute(
                query("turns.take"), {**self._about, "seconds": self._lease_seconds}
            )
            (is_ours,) = await cursor.fetchone() or (False,)
        return bool(is_ours)

    async def keep(self, job: asyncio.Future[_Result]) -> None:
        """Move the end on until cancelled; cancel the job where the turn is not ours any more."""
        ends = time.monotonic() + self._lease_seconds
        while True:
            await asyncio.sleep(self._lease_seconds / _RENEWALS)
            asked = time.monotonic()
            try:
                is_ours = await self.take()
            except (MapiError, psycopg.Error):
                is_ours = time.monotonic() < ends
            else:
                ends = asked + self._lease_seconds
            if not is_ours:
                self.is_lost = True
                job.cancel()
                return

    async def end(self) -> None:
        """Let another have the turn; where that fails, its end comes by itself."""
        if self.is_lost:
            return
        with contextlib.suppress(MapiError, psycopg.Error):
            async with self._database.outside() as connection:
                await connection.execute(query("turns.end"), self._about)
