"""Transactions: whole or not at all, and on connections that are there."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import psycopg
import pytest

from mapi.database.door import Database
from mapi.database.embedded.binaries import find_binaries, find_identity
from mapi.database.embedded.server import EmbeddedServer
from mapi.database.migrate import migrate
from mapi.errors import StateError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Connection

pytestmark = pytest.mark.anyio

INSERT = "insert into audit (tenant_id, principal, action, object) values (%s, 'p', 'a', 'o')"


async def test_what_fails_leaves_nothing_and_its_connection_serves_on(
    database_url: str, tenant: Tenant
) -> None:
    one = Database(database_url, connections=1)

    async def fail_here(connection: Connection) -> None:
        await connection.execute(INSERT, [tenant.id])
        raise ZeroDivisionError

    async def fail_there(connection: Connection) -> None:
        await connection.execute(INSERT, [tenant.id])
        await connection.execute("select 1 / 0")

    await one.open()
    try:
        with pytest.raises(ZeroDivisionError):
            await one.run(tenant.reach, fail_here)
        with pytest.raises(psycopg.errors.DivisionByZero):
            await one.run(tenant.reach, fail_there)
        async with one.transaction(tenant.reach) as connection:
            cursor = await connection.execute("select count(*) from audit")
            assert await cursor.fetchone() == (0,)
    finally:
        await one.close()


async def test_a_snapshot_sees_one_moment_and_writes_nothing(
    database: Database, tenant: Tenant
) -> None:
    count = "select count(*) from audit where action = 'a'"
    async with database.snapshot(tenant.reach) as reading:
        before = await (await reading.execute(count)).fetchone()
        async with database.transaction(tenant.reach) as writing:
            await writing.execute(INSERT, [tenant.id])
        assert await (await reading.execute(count)).fetchone() == before == (0,)
    async with database.snapshot(tenant.reach) as reading:
        assert await (await reading.execute(count)).fetchone() == (1,)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            await reading.execute(INSERT, [tenant.id])


async def test_a_connection_keeps_nothing_of_whom_a_call_acted_for(
    database_url: str, tenant: Tenant
) -> None:
    one = Database(database_url, connections=1)
    await one.open()
    try:
        statement = (
            "select set_config('mapi.tenant', %(tenant)s, true),"
            " set_config('mapi.projects', %(projects)s, true)"
        )
        assert await one.call(statement, tenant.reach.for_call()) == (str(tenant.id), "*")
        async with one.outside() as connection:
            cursor = await connection.execute("select count(*) from projects")
            assert await cursor.fetchone() == (0,)
    finally:
        await one.close()


async def test_a_connection_that_the_database_closed_is_not_lent(
    database_url: str, tenant: Tenant
) -> None:
    one = Database(database_url, connections=1)
    await one.open()
    try:
        async with one.transaction(tenant.reach) as connection:
            cursor = await connection.execute("select pg_backend_pid()")
            (backend,) = await cursor.fetchone() or (0,)
        with psycopg.connect(tenant.server.superuser_url(), autocommit=True) as superuser:
            superuser.execute("select pg_terminate_backend(%s, 5000)", [backend])
        async with one.transaction(tenant.reach) as connection:
            cursor = await connection.execute("select pg_backend_pid()")
            assert await cursor.fetchone() != (backend,)
    finally:
        await one.close()


async def test_a_nested_transaction_can_fail_alone(database: Database, tenant: Tenant) -> None:
    async def fail(connection: Connection) -> None:
        async with connection.transaction():
            await connection.execute(INSERT, [tenant.id])
            raise ZeroDivisionError

    async with database.transaction(tenant.reach) as connection:
        await connection.execute(INSERT, [tenant.id])
        with pytest.raises(ZeroDivisionError):
            await fail(connection)
    async with database.transaction(tenant.reach) as connection:
        cursor = await connection.execute("select count(*) from audit")
        assert await cursor.fetchone() == (1,)


async def test_what_was_deleted_meanwhile_is_told_as_such(
    database: Database, tenant: Tenant
) -> None:
    async def work(connection: Connection) -> None:
        await connection.execute(
            "insert into runs (tenant_id, id, project_id, kind, status)"
            " values (mapi.current_tenant(), gen_random_uuid(), -1, 'external', 'running')"
        )

    with pytest.raises(StateError, match="deleted meanwhile"):
        await database.run(tenant.reach, work)
    async with database.transaction(tenant.reach) as connection:  # the connection works on
        cursor = await connection.execute("select 1")
        assert await cursor.fetchone() == (1,)


async def test_the_words_of_the_database_are_for_the_log_and_not_for_who_asks(
    database: Database, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    words = 'could not open file "base/5/17603"'

    async def work(connection: Connection) -> None:
        await connection.execute(
            f"do $$ begin raise exception '{words}' using errcode = 'io_error'; end $$"
        )

    with pytest.raises(UnavailableError) as caught:
        await database.run(tenant.reach, work)
    assert str(caught.value) == "The database does not answer; try again."
    (told,) = [one.getMessage() for one in caplog.records if one.name == "mapi.database"]
    assert words in told


async def test_a_database_that_is_down_is_told_from_one_without_a_free_connection(
    tmp_path: Path,
) -> None:
    server = EmbeddedServer(tmp_path / "pg", find_binaries(None), find_identity(65534))
    server.start()
    try:
        migrate(server.superuser_url(), login="mapi", password="p")
        one = Database(server.url("mapi", "p", "postgres"), connections=2)
        await one.open()
        try:
            async with one.outside() as connection:
                await connection.execute("select 1")
            server.stop()
            for _ in range(2):
                started = time.monotonic()
                with pytest.raises(UnavailableError, match="The database does not answer"):
                    async with one.outside() as connection:
                        await connection.execute("select 1")
                assert time.monotonic() - started < 8
        finally:
            await one.close()
    finally:
        server.stop()


async def test_who_waits_for_a_connection_that_others_have_gets_it_when_they_are_done(
    database_url: str,
) -> None:
    one = Database(database_url, connections=1)
    await one.open()
    looked = asyncio.Event()

    async def wait() -> None:
        async with one.outside() as connection:
            await connection.execute("select 1")
        looked.set()

    try:
        async with one.outside():
            waiting = asyncio.create_task(wait())
            # Longer than it takes to ask whether there is a database.
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(looked.wait(), 1.5)
            assert not waiting.done()
        await asyncio.wait_for(waiting, 5)
    finally:
        await one.close()
