"""Pruning of one run at once, whether or not it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from mapi.tracking.retention import prune_run

if TYPE_CHECKING:
    from uuid import UUID

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database
    from mapi.tracking.freed import Freed

__all__ = ["prune"]


async def prune(database: Database, tenant: Tenant, run_id: UUID) -> Freed:
    """Prune a run as if it had just ended; behind it, it stands as before."""
    with psycopg.connect(tenant.server.superuser_url(), autocommit=True) as connection:
        row = connection.execute(
            "select status, finished, change_seq from mapi.runs where id = %s", [run_id]
        ).fetchone()
        assert row is not None
        status, finished, seq = row
        connection.execute(
            "update mapi.runs set status = 'succeeded', finished = now() where id = %s", [run_id]
        )
        freed = await prune_run(database, tenant.reach, run_id, days=0, seq=seq)
        connection.execute(
            "update mapi.runs set status = %s, finished = %s where id = %s",
            [status, finished, run_id],
        )
    return freed
