"""What a batch of many series costs grows with their number, and not with its square."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from psycopg import sql

from mapi.database.door import Database
from mapi.tracking.batch import PointBatch, Series
from mapi.tracking.ingest import write_points

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from uuid import UUID

    from psycopg.errors import Diagnostic
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Connection
    from mapi.database.embedded.server import EmbeddedServer
    from mapi.tracking.writing import Counts

pytestmark = pytest.mark.anyio

SERIES = 300
#: Every statement tells its plan and what it did, those within functions too.
TELLS = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_nested_statements": "on",
    "client_min_messages": "log",
}
COMPARED = re.compile(r"Rows Removed by (?:Join )?Filter: (\d+)")


@pytest.fixture
async def telling(server: EmbeddedServer, database_url: str) -> AsyncIterator[Database]:
    """A door whose one connection tells its plans; only who owns the server may ask for them."""
    role = sql.Identifier(str(psycopg.conninfo.conninfo_to_dict(database_url)["user"]))
    with psycopg.connect(server.superuser_url(), autocommit=True) as owner:
        for name, value in TELLS.items():
            owner.execute(
                sql.SQL("alter role {} set {} = {}").format(
                    role, sql.SQL(name), sql.Literal(value)
                )
            )
        try:
            found = Database(database_url, connections=1)
            await found.open()
        finally:
            # Nobody else's connections are to tell theirs.
            for name in TELLS:
                owner.execute(sql.SQL("alter role {} reset {}").format(role, sql.SQL(name)))
    try:
        yield found
    finally:
        await found.close()


def batch_of(first: int, stop: int, *, step: int) -> PointBatch:
    count = stop - first
    return PointBatch.of(
        [Series(f"loss_{at % 7}", (("layer", str(at)),)) for at in range(first, stop)],
        index=np.arange(count),
        steps=np.full(count, step),
        times_us=np.full(count, 1_780_000_000_000_000),
        values=np.sin(np.arange(count)),
    )


async def write(
    database: Database, tenant: Tenant, run_id: UUID, batch: PointBatch
) -> tuple[Counts, list[str]]:
    """Write a batch, and return what became of it and the plans that it took."""
    plans: list[str] = []

    def hear(told: Diagnostic) -> None:
        plans.append(told.message_primary or "")

    async def work(connection: Connection) -> Counts:
        connection.add_notice_handler(hear)
        try:
            return await write_points(connection, run_id, batch)
        finally:
            connection.remove_notice_handler(hear)

    return await database.run(tenant.reach, work), plans


async def test_no_plan_compares_each_series_with_each(telling: Database, tenant: Tenant) -> None:
    small = tenant.run()
    # Statements and functions keep their plans after some calls: made for the few series of these.
    for step in range(12):
        await write(telling, tenant, small, batch_of(step, step + 3, step=step))
        await write(telling, tenant, small, batch_of(step, step + 3, step=step))
    run_id = tenant.run()
    for batch in (
        batch_of(0, SERIES, step=5),  # all new
        batch_of(0, SERIES, step=6),  # all known
        batch_of(SERIES // 2, 2 * SERIES, step=7),  # some
        batch_of(0, SERIES, step=1),  # the long way: before what is there
        batch_of(SERIES, 3 * SERIES, step=2),
    ):
        counts, plans = await write(telling, tenant, run_id, batch)
        assert counts.accepted == len(batch)
        assert any("run_metric_summary" in plan for plan in plans)
        compared = [int(found) for plan in plans for found in COMPARED.findall(plan)]
        assert max(compared, default=0) < 10 * SERIES
