"""Tenants for tests: each has one project, and no other test knows it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from mapi.database.door import Reach
from mapi.database.migrate import ensure_tenant

if TYPE_CHECKING:
    from mapi.database.embedded.server import EmbeddedServer

__all__ = ["Tenant", "make_tenant"]


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
    """Make a tenant with a name of its own."""
    name = f"tenant-{uuid.uuid4().hex[:12]}"
    tenant_id = ensure_tenant(server.superuser_url(), name)
    with psycopg.connect(server.superuser_url()) as connection:
        row = connection.execute(
            "insert into mapi.projects (tenant_id, name) values (%s, 'default') returning id",
            [tenant_id],
        ).fetchone()
    assert row is not None
    return Tenant(tenant_id, name, row[0], server)
