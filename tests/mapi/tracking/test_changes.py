"""What replicas tell each other: nothing is lost for long, whichever of them fails, or the database."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from mapi.errors import UnavailableError
from mapi.tracking.changes import Changes
from mapi.tracking.following import Following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from contextlib import AbstractAsyncContextManager
    from uuid import UUID

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Connection, Database, Reach


pytestmark = pytest.mark.anyio


class Hearing(logging.Handler):
    """Keeps lines, and tells when there are enough."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.enough = asyncio.Event()
        self._count = count

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if len(self.lines) >= self._count:
            self.enough.set()


async def test_attempts_to_listen_grow_rarer(database: Database) -> None:
    hearing = Hearing(3)
    logger = logging.getLogger("mapi.live")
    logger.addHandler(hearing)
    changes = Changes(database, "postgresql://nobody@127.0.0.1:1/none")
    try:
        await changes.open()
        await asyncio.wait_for(hearing.enough.wait(), 20)
    finally:
        await changes.close()
        logger.removeHandler(hearing)
    pauses = [line.partition(" s: ")[0].rpartition(" ")[2] for line in hearing.lines[:3]]
    assert pauses == ["1", "2", "4"]


@dataclass
class Refusing:
    """A database whose next transactions fail, as while it starts again."""

    database: Database
    failures: int

    def transaction(self, reach: Reach) -> AbstractAsyncContextManager[Connection]:
        if self.failures:
            self.failures -= 1
            raise UnavailableError("The database starts again.")
        return self.database.transaction(reach)


@asynccontextmanager
async def listening(
    database: Database, url: str, tenant: Tenant, run: UUID
) -> AsyncIterator[asyncio.Event]:
    """Another replica, and whether it hears of the run."""
    other = Changes(database, url)
    await other.open()
    woken = asyncio.Event()
    try:
        with other.following_run(tenant.id, run, woken.set):
            yield woken
    finally:
        await other.close()


async def test_a_notice_that_the_database_does_not_take_is_sent_later(
    database: Database, database_url: str, tenant: Tenant
) -> None:
    run = tenant.run()
    changes = Changes(cast("Database", Refusing(database, 1)), None)
    async with listening(database, database_url, tenant, run) as woken:
        await changes.open()
        changes.touch(tenant.id, run)
        await asyncio.wait_for(woken.wait(), 20)
        await changes.close()


async def test_notices_that_wait_are_told_once_a_round_and_grow_rarer(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    hearing = Hearing(3)
    logger = logging.getLogger("mapi.live")
    logger.addHandler(hearing)
    changes = Changes(cast("Database", Refusing(database, 1_000)), None)
    try:
        await changes.open()
        for one in (tenant, other_tenant):
            changes.touch(one.id, one.run())
        await asyncio.wait_for(hearing.enough.wait(), 20)
    finally:
        await changes.close()
        logger.removeHandler(hearing)
    assert [line.partition(" s: ")[0].rpartition(" ")[2] for line in hearing.lines[:3]] == [
        "1",
        "2",
        "4",
    ]


async def test_a_replica_that_stops_tells_of_its_last_write(
    database: Database, database_url: str, tenant: Tenant
) -> None:
    run = tenant.run()
    changes = Changes(database, None)
    async with listening(database, database_url, tenant, run) as woken:
        await changes.open()
        changes.touch(tenant.id, run)
        await changes.close()
        await asyncio.wait_for(woken.wait(), 20)


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled", "lost"])
async def test_the_end_of_a_run_is_told_though_its_replica_says_nothing(
    database: Database, database_url: str, tenant: Tenant, status: str
) -> None:
    run = tenant.run()
    async with listening(database, database_url, tenant, run) as woken:
        async with database.transaction(tenant.reach) as connection:
            await connection.execute("update runs set status = %s where id = %s", [status, run])
        await asyncio.wait_for(woken.wait(), 20)


async def test_who_follows_a_run_finds_what_nobody_told(
    database: Database, tenant: Tenant
) -> None:
    run = tenant.run()
    changes = Changes(database, None)  # it hears nothing
    following = Following(database, changes, look_seconds=0.01)
    frames = cast("AsyncGenerator[bytes]", following.follow(tenant.reach, run, None))
    async with aclosing(frames):
        assert b'"running"' in await anext(frames)
        async with database.transaction(tenant.reach) as connection:
            await connection.execute(
                "update runs set name = 'found', change_seq = change_seq + 1 where id = %s", [run]
            )
        assert b'"found"' in await asyncio.wait_for(anext(frames), 20)
