"""Behind a transaction pooler, which may lend another connection to each transaction."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

import mapi
from mapi.database.door import Database, Reach, together
from mapi.database.migrate import ensure_tenant, migrate
from mapi.database.turns import in_turn
from mapi.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.services.pooler import Pooler
    from tests.services.postgres import ManagedDatabase

    from mapi.database.door import Connection

pytestmark = pytest.mark.anyio


@pytest.fixture
def migrated(managed_database: ManagedDatabase) -> ManagedDatabase:
    migrate(
        managed_database.operator_url,
        login=managed_database.login,
        password=managed_database.password,
    )
    return managed_database


@pytest.fixture
async def door(
    migrated: ManagedDatabase, start_pooler: Callable[[ManagedDatabase, int], Pooler]
) -> AsyncIterator[Database]:
    """Ten connections to a pooler that has one to the database."""
    found = Database(start_pooler(migrated, 1).url, connections=10, pooled=True)
    await found.open()
    try:
        yield found
    finally:
        await found.close()


async def test_a_job_in_its_turn_takes_nothing_from_those_who_ask_meanwhile(
    door: Database, migrated: ManagedDatabase
) -> None:
    reach = Reach(ensure_tenant(migrated.operator_url, "a"))

    async def ask(connection: Connection) -> int:
        cursor = await connection.execute("select count(*) from runs")
        (count,) = await cursor.fetchone() or (-1,)
        return int(count)

    async def work() -> list[int]:
        return await asyncio.gather(*(door.run(reach, ask) for _ in range(20)))

    assert await in_turn(door, "test", work) == [0] * 20


async def test_statements_sent_together_have_their_answers(door: Database) -> None:
    async with door.transaction(Reach(1)) as connection:
        async with together(connection):
            cursors = [await connection.execute("select %s::int", [one]) for one in range(5)]
        assert [await cursor.fetchone() for cursor in cursors] == [(one,) for one in range(5)]


async def test_every_transaction_has_the_settings_of_the_server_and_its_own_tenant(
    door: Database,
) -> None:
    async def ask(connection: Connection) -> tuple[str, ...]:
        cursor = await connection.execute(
            "select current_setting('search_path'), current_setting('statement_timeout'),"
            " current_setting('mapi.tenant')"
        )
        return tuple(await cursor.fetchone() or ())

    found = await asyncio.gather(*(door.run(Reach(one), ask) for one in range(20)))
    assert found == [("mapi, pg_temp", "30s", str(one)) for one in range(20)]


async def test_a_role_without_the_settings_is_refused_with_the_statements_that_help(
    migrated: ManagedDatabase, start_pooler: Callable[[ManagedDatabase, int], Pooler]
) -> None:
    def run(statement: str) -> None:
        with psycopg.connect(migrated.operator_url, autocommit=True) as connection:
            connection.execute(statement.encode())

    run(f'alter role "{migrated.login}" in database "{migrated.name}" reset search_path')
    with pytest.raises(DatabaseError, match="run as who may: alter role") as told:
        await Database(start_pooler(migrated, 1).url, connections=1, pooled=True).open()
    for statement in str(told.value).partition("run as who may: ")[2].split("; "):
        run(statement)
    found = Database(start_pooler(migrated, 1).url, connections=1, pooled=True)
    await found.open()
    await found.close()


async def test_a_pooler_that_nobody_named_is_told_by_its_own_words(
    migrated: ManagedDatabase, start_pooler: Callable[[ManagedDatabase, int], Pooler]
) -> None:
    with pytest.raises(DatabaseError, match="MAPI_DATABASE_DIRECT_URL"):
        await Database(start_pooler(migrated, 1).url, connections=1).open()


def test_only_the_door_sends_statements_ahead() -> None:
    """It knows whether a pooler stands between; a pipeline of anybody else would not."""
    source = Path(mapi.__file__).parent
    found = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if ".pipeline(" in path.read_text(encoding="utf-8")
    ]
    assert found == ["database/door.py"]
