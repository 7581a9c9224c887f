"""Media between two stores: an object goes only when it is known that no row has it."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.mapi.storing import temporary_objects

from mapi.database.door import Database
from mapi.errors import NotFoundError, UnavailableError
from mapi.tracking.leftovers import collect_leftovers
from mapi.tracking.letting_go import let_go
from mapi.tracking.media import MediaPlace, check_content, record_media
from mapi.tracking.writing import API

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.mapi.tenants import Tenant

    from mapi.objects.store import ObjectStore

pytestmark = pytest.mark.anyio

TABLE = b'{"columns": ["a"], "data": [[%d]]}'


@pytest.fixture
def store() -> ObjectStore:
    return temporary_objects()[0]


def place() -> MediaPlace:
    return MediaPlace("sample", (), 1, "", datetime.now(UTC))


async def keep(
    database: Database, store: ObjectStore, tenant: Tenant, run_id: uuid.UUID, number: int
) -> None:
    content = TABLE % number
    await record_media(
        database,
        store,
        tenant.reach,
        run_id=run_id,
        sender=API,
        place=place(),
        content=content,
        header=check_content(content, said=None),
    )


def object_keys(tenant: Tenant) -> list[str]:
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        rows = connection.execute(
            "select object_key from mapi.run_media where tenant_id = %s", [tenant.id]
        ).fetchall()
    return [key for (key,) in rows]


async def stored(store: ObjectStore) -> list[str]:
    return [head.key async for head in store.heads("media")]


class CuttingProxy:
    """Stands before the database, and cuts a connection behind the answer to a commit.

    The commit is done, and whoever asked for it never hears so.
    """

    def __init__(self, url: str) -> None:
        self._parts: dict[str, Any] = conninfo_to_dict(url)
        self.cuts_at: int | None = None
        self.commits = 0

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            yield make_conninfo(**{**self._parts, "host": "127.0.0.1", "port": port})

    async def _serve(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        path = f"{self._parts['host']}/.s.PGSQL.{self._parts['port']}"
        database, forth = await asyncio.open_unix_connection(path)
        is_cut = asyncio.Event()

        async def ask() -> None:
            while content := await client.read(65_536):
                if b"COMMIT" in content:
                    self.commits += 1
                    if self.commits == self.cuts_at:
                        is_cut.set()
                forth.write(content)
            forth.close()

        async def answer() -> None:
            while content := await database.read(65_536):
                if is_cut.is_set():
                    break
                back.write(content)
            back.close()

        with contextlib.suppress(OSError):
            await asyncio.gather(ask(), answer())


async def test_where_the_answer_to_a_commit_is_lost_the_row_has_its_object(
    database_url: str, tenant: Tenant, store: ObjectStore
) -> None:
    run_id = tenant.run()
    proxy = CuttingProxy(database_url)
    async with proxy.serving() as url:
        database = Database(url, connections=1)
        await database.open()
        try:
            # The first commit is that of the look before anything is stored.
            proxy.cuts_at = proxy.commits + 2
            with pytest.raises(UnavailableError):
                await keep(database, store, tenant, run_id, 1)
        finally:
            await database.close()
    assert object_keys(tenant) == await stored(store)
    assert len(object_keys(tenant)) == 1


async def test_what_is_refused_leaves_no_object(
    database: Database, tenant: Tenant, store: ObjectStore
) -> None:
    with pytest.raises(NotFoundError):
        await keep(database, store, tenant, uuid.uuid4(), 1)
    assert await stored(store) == []


async def test_an_object_that_cannot_be_deleted_is_told_and_keeps_no_other(
    database: Database, tenant: Tenant, store: ObjectStore, caplog: pytest.LogCaptureFixture
) -> None:
    run_id = tenant.run()
    await keep(database, store, tenant, run_id, 1)
    (key,) = object_keys(tenant)
    await let_go(database, store, ["media/../none", key])
    assert await stored(store) == []
    assert "'media/../none' was not deleted" in caplog.text


@pytest.fixture
def backup_turn(tenant: Tenant) -> Any:
    """Hold the turn of a backup, as far as this says so; other tests run beside no other one."""

    @contextlib.contextmanager
    def held() -> Any:
        with psycopg.connect(tenant.server.superuser_url(), autocommit=True) as connection:
            connection.execute(
                "insert into mapi.turns values ('backup', gen_random_uuid(), now() + '1 h')"
            )
            try:
                yield
            finally:
                connection.execute("delete from mapi.turns where name = 'backup'")

    return held


async def test_under_a_backup_what_is_replaced_stays_and_is_collected_behind_it(
    database: Database, tenant: Tenant, store: ObjectStore, backup_turn: Any
) -> None:
    from datetime import timedelta

    run_id = tenant.run()
    await keep(database, store, tenant, run_id, 1)
    (first,) = object_keys(tenant)
    with backup_turn():
        await keep(database, store, tenant, run_id, 2)
        (second,) = object_keys(tenant)
        await let_go(database, store, [first])
        await collect_leftovers(database, store, age=timedelta(0))
        assert sorted(await stored(store)) == sorted([first, second])
    await keep(database, store, tenant, run_id, 3)
    (third,) = object_keys(tenant)
    # What a transaction let go of goes at once where there is no backup.
    assert sorted(await stored(store)) == sorted([first, third])
    await collect_leftovers(database, store, age=timedelta(0))
    assert await stored(store) == [third]
