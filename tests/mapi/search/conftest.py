"""One embedded database for the tests of this room, a tenant in it, and a door for each role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
import pytest

from mapi.database.embedded.binaries import find_binaries, find_identity
from mapi.database.embedded.server import EmbeddedServer
from mapi.database.migrate import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mapi.search.statement import Statement


@dataclass(frozen=True)
class Doors:
    """Connections to the test database."""

    owner: psycopg.Connection[Any]
    """Sees everything; puts rows in."""
    app: psycopg.Connection[Any]
    """The role without power, acting for `tenant_id` in the transaction that is open."""
    tenant_id: int
    project_id: int

    def act(self, tenant_id: int | None = None) -> None:
        """Begin a transaction of the application for a tenant."""
        self.app.rollback()
        self.app.execute(
            "select set_config('mapi.tenant', %s, true), set_config('mapi.projects', '*', true)",
            [str(tenant_id or self.tenant_id)],
        )

    def rows(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Run a statement as the application does."""
        return self.app.execute(statement.text, statement.parameters, prepare=False).fetchall()


@pytest.fixture(scope="session")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    server = EmbeddedServer(
        tmp_path_factory.mktemp("search") / "database", find_binaries(None), find_identity(65534)
    )
    server.start()
    try:
        migrate(server.superuser_url(), login="mapi_login", password="secret")
        options = "-c search_path=mapi,pg_temp -c timezone=UTC"
        url = server.url("mapi_login", "secret", "postgres")
        with (
            psycopg.connect(server.superuser_url(), autocommit=True, options=options) as owner,
            psycopg.connect(url, options=options) as app,
        ):
            tenant_id = _id(owner, "insert into tenants (name) values ('one') returning id")
            insert: LiteralString = (
                "insert into projects (tenant_id, name) values (%s, 'default') returning id"
            )
            yield Doors(owner, app, tenant_id, _id(owner, insert, [tenant_id]))
    finally:
        server.stop()


def _id(
    connection: psycopg.Connection[Any],
    text: LiteralString,
    parameters: Sequence[Any] | Mapping[str, Any] = (),
) -> int:
    row = connection.execute(text, parameters).fetchone()
    assert row is not None
    return int(row[0])
