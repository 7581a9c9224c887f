"""One real PostgreSQL for all tests of the platform; each test acts for a tenant of its own."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.mapi.tenants import Tenant, make_tenant

from mapi.database.door import Database
from mapi.database.embedded.binaries import find_binaries, find_identity
from mapi.database.embedded.server import EmbeddedServer
from mapi.database.migrate import migrate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

LOGIN, PASSWORD = "mapi", "a password for tests"


def _programs() -> Path | None:
    """``MAPI_TEST_PG_BIN`` runs these tests on another PostgreSQL than the wheel's."""
    named = os.environ.get("MAPI_TEST_PG_BIN")
    return Path(named) if named else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On another PostgreSQL only tests that ask one can differ."""
    if _programs() is None:
        return
    asks = {item for item in items if "server" in getattr(item, "fixturenames", ())}
    config.hook.pytest_deselected(items=[item for item in items if item not in asks])
    items[:] = [item for item in items if item in asks]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A migrated database in a server of its own."""
    found = EmbeddedServer(
        tmp_path_factory.mktemp("postgres"), find_binaries(_programs()), find_identity(65534)
    )
    found.start()
    try:
        migrate(found.superuser_url(), login=LOGIN, password=PASSWORD)
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="session")
def database_url(server: EmbeddedServer) -> str:
    """Connects as the role without power."""
    return server.url(LOGIN, PASSWORD, "postgres")


@pytest.fixture
def tenant(server: EmbeddedServer) -> Tenant:
    return make_tenant(server)


@pytest.fixture
def other_tenant(server: EmbeddedServer) -> Tenant:
    return make_tenant(server)


@pytest.fixture
async def database(database_url: str, anyio_backend: str) -> AsyncIterator[Database]:
    """The door, as the server opens it."""
    found = Database(database_url, connections=4)
    await found.open()
    try:
        yield found
    finally:
        await found.close()


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    """For tests whose examples are no coroutines."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def door(database_url: str, loop: asyncio.Runner) -> Iterator[Database]:
    """One for all examples of a module: to connect takes longer than an example."""
    database = Database(database_url, connections=4)
    loop.run(database.open())
    yield database
    loop.run(database.close())
