"""One real PostgreSQL for all tests of the platform; each test acts for a tenant of its own."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
import pytest

from mapi.database.door import Database, Reach
from mapi.database.embedded.binaries import find_binaries, find_identity
from mapi.database.embedded.server import EmbeddedServer
from mapi.database.migrate import ensure_tenant, migrate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

LOGIN, PASSWORD = "mapi", "a password for tests"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A migrated database in a server of its own."""
    found = EmbeddedServer(
        tmp_path_factory.mktemp("postgres"), find_binaries(None), find_identity(65534)
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


@dataclass(frozen=True)
class Tenant:
    """A tenant with one project, which no other test knows."""

    id: int
    name: str
    project_id: int
    server: EmbeddedServer

    @property
    def reach(self) -> Reach:
        return Reach(self.id)

    def run(self, *, external_id: str | None = None) -> uuid.UUID:
        """Insert a run, past every rule, and return its number."""
        run_id = uuid.uuid4()
        with psycopg.connect(self.server.superuser_url()) as connection:
            connection.execute(
                "insert into mapi.runs (tenant_id, id, project_id, kind, status, external_id)"
                " values (%s, %s, %s, 'external', 'running', %s)",
                [self.id, run_id, self.project_id, external_id],
            )
        return run_id


def make_tenant(server: EmbeddedServer) -> Tenant:
    name = f"tenant-{uuid.uuid4().hex[:12]}"
    tenant_id = ensure_tenant(server.superuser_url(), name)
    with psycopg.connect(server.superuser_url()) as connection:
        row = connection.execute(
            "insert into mapi.projects (tenant_id, name) values (%s, 'default') returning id",
            [tenant_id],
        ).fetchone()
    assert row is not None
    return Tenant(tenant_id, name, row[0], server)


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
