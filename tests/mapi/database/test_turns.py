"""One replica at a time does a job, without a connection or a lock of its own meanwhile."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

import psycopg
import pytest

from mapi.database.turns import in_turn

if TYPE_CHECKING:
    from mapi.database.door import Database
    from mapi.database.embedded.server import EmbeddedServer

pytestmark = pytest.mark.anyio


@pytest.fixture
def name() -> str:
    return "test_" + "".join(chr(ord("a") + int(digit, 16)) for digit in uuid.uuid4().hex[:16])


async def answer() -> str:
    return "done"


async def test_of_two_that_come_at_once_one_works_and_then_the_other_may(
    database: Database, name: str
) -> None:
    begun, told = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        begun.set()
        await told.wait()
        return "first"

    first = asyncio.create_task(in_turn(database, name, work))
    await begun.wait()
    assert await in_turn(database, name, answer) is None
    told.set()
    assert await first == "first"
    assert await in_turn(database, name, answer) == "done"


async def test_while_the_job_runs_no_connection_is_lent_and_no_lock_is_held(
    database: Database, server: EmbeddedServer, name: str
) -> None:
    async def work() -> tuple[int, int]:
        with psycopg.connect(server.superuser_url()) as connection:
            locks = connection.execute(
                "select count(*) from pg_locks where locktype = 'advisory'"
            ).fetchone()
        lent = database.stats()["pool_size"] - database.stats()["pool_available"]
        return lent, (locks or (1,))[0]

    assert await in_turn(database, name, work) == (0, 0)


async def test_a_job_that_fails_gives_its_turn_back(database: Database, name: str) -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await in_turn(database, name, work)
    assert await in_turn(database, name, answer) == "done"


async def test_the_turn_of_a_dead_holder_ends_by_the_clock_of_the_database(
    database: Database, server: EmbeddedServer, name: str
) -> None:
    take = "select mapi.take_turn_v1(%s, gen_random_uuid(), 3600)"
    with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
        assert connection.execute(take, [name]).fetchone() == (True,)
        assert await in_turn(database, name, answer) is None
        connection.execute("update mapi.turns set until = now() where name = %s", [name])
    assert await in_turn(database, name, answer) == "done"


async def test_a_job_longer_than_its_lease_keeps_its_turn(
    database: Database, server: EmbeddedServer, name: str
) -> None:
    ends = "select until from mapi.turns where name = %s"

    async def work() -> str:
        with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
            (first,) = connection.execute(ends, [name]).fetchone() or (None,)
            passed = "select clock_timestamp() > %s + interval '1 second'"
            while connection.execute(passed, [first]).fetchone() != (True,):  # noqa: ASYNC110 - no bell
                await asyncio.sleep(0.05)
        return "kept"

    assert await in_turn(database, name, work, lease_seconds=3.0) == "kept"


async def test_who_is_stopped_while_the_turn_is_lost_is_stopped(
    database: Database, server: EmbeddedServer, name: str
) -> None:
    stopping = asyncio.Event()

    async def work() -> None:
        with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
            connection.execute(
                "update mapi.turns set holder = gen_random_uuid(), until = now() + '1 hour'"
                " where name = %s",
                [name],
            )
        try:
            await asyncio.Event().wait()
        finally:
            stopping.set()
            await asyncio.Event().wait()

    job = asyncio.create_task(in_turn(database, name, work, lease_seconds=1.0))
    await stopping.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job


async def test_who_lost_the_turn_stops_and_leaves_it_to_the_other(
    database: Database, server: EmbeddedServer, name: str
) -> None:
    stopped = asyncio.Event()

    async def work() -> str:
        with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
            connection.execute(
                "update mapi.turns set holder = gen_random_uuid(), until = now() + '1 hour'"
                " where name = %s",
                [name],
            )
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return "never"

    assert await in_turn(database, name, work, lease_seconds=1.0) is None
    assert stopped.is_set()
    assert await in_turn(database, name, answer) is None


async def test_a_server_that_stops_ends_its_turn(database: Database, name: str) -> None:
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(in_turn(database, name, work))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await in_turn(database, name, answer) == "done"
