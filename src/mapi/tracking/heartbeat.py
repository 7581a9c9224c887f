"""Signs of life: a run that is silent for too long is lost, and runs again when it speaks.

Only runs that are logged from outside send them; those that are executed have leases. One replica
at a time looks for the silent ones, all by the clock of the database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mapi.database.door import Reach
from mapi.database.queries import query
from mapi.database.turns import in_turn
from mapi.errors import NotFoundError
from mapi.wire.enums import RunStatus

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection, Database

__all__ = ["beat", "find_lost", "list_tenants"]

_TURN: Final = "heartbeats"


async def beat(connection: Connection, run_id: UUID) -> tuple[RunStatus, bool]:
    """Note that a run lives; a lost one runs again.

    Returns:
        Its status, by which a client learns that somebody cancelled it, and whether it was lost.

    Raises:
        NotFoundError: there is no such run.
    """
    cursor = await connection.execute(query("life.beat"), {"run": run_id})
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such run.")
    return RunStatus(row[0]), row[1]


async def find_lost(database: Database, *, timeout_seconds: float) -> list[tuple[int, int, UUID]]:
    """Mark the silent runs of every tenant as lost, unless another replica is at it.

    Args:
        database: the door.
        timeout_seconds: how long a run may be silent.

    Returns:
        Tenant, project and number of each run that was marked.
    """
    reason = f"It sent no heartbeat for {timeout_seconds:g} seconds."

    async def mark(connection: Connection) -> list[tuple[UUID, int]]:
        cursor = await connection.execute(
            query("life.mark_lost"), {"timeout_seconds": timeout_seconds, "reason": reason}
        )
        return [(row[0], row[1]) for row in await cursor.fetchall()]

    async def look() -> list[tuple[int, int, UUID]]:
        found: list[tuple[int, int, UUID]] = []
        for tenant_id in await list_tenants(database):
            marked = await database.run(Reach(tenant_id), mark)
            found += [(tenant_id, project_id, run_id) for run_id, project_id in marked]
        return found

    return await in_turn(database, _TURN, look) or []


async def list_tenants(database: Database) -> list[int]:
    """Return the numbers of all tenants, for jobs that then work in each."""
    async with database.outside() as connection:
        cursor = await connection.execute(query("life.list_tenants"))
        return [row[0] for row in await cursor.fetchall()]
