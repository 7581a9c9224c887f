"""People, tokens and requests for the tests of rights."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import psycopg

from mapi.access.tokens import NewToken, new_token
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from datetime import datetime

    from tests.mapi.tenants import Tenant

__all__ = ["Person", "caller", "give_token", "make_group", "make_person", "value_of"]


@dataclass(frozen=True)
class Person:
    """A user with a token of all scopes: the role decides."""

    user_id: int
    name: str
    token: str


def make_person(tenant: Tenant, role: Role | None, *, project_id: int | None = None) -> Person:
    """Make a user; without a project the role holds in all of them, without a role nowhere."""
    name = f"a {role.value if role else 'stranger'} {new_token().id}"
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        row = connection.execute(
            "insert into mapi.users (tenant_id, name) values (%s, %s) returning id",
            [tenant.id, name],
        ).fetchone()
        assert row is not None
        if role is not None:
            connection.execute(
                "insert into mapi.members (tenant_id, user_id, project_id, role)"
                " values (%s, %s, %s, %s)",
                [tenant.id, row[0], project_id, role.value],
            )
    token = give_token(tenant, Scope.ADMIN, user_id=row[0])
    return Person(row[0], name, token.text)


def give_token(
    tenant: Tenant,
    *scopes: Scope,
    user_id: int | None = None,
    project_id: int | None = None,
    expires: datetime | None = None,
) -> NewToken:
    """Put a token into the table, past every rule."""
    token = new_token()
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "insert into mapi.tokens"
            " (tenant_id, id, secret_hash, name, scopes, user_id, project_id, expires)"
            " values (%s, %s, %s, %s, %s, %s, %s, %s)",
            [
                tenant.id,
                token.id,
                token.secret_hash,
                f"token {token.id}",
                [scope.value for scope in scopes],
                user_id,
                project_id,
                expires,
            ],
        )
    return token


def make_group(tenant: Tenant, table: str) -> uuid.UUID:
    """Make an experiment or a saved view, whose table is named, and return its number."""
    number = uuid.uuid4()
    value_of(
        tenant,
        f"insert into mapi.{table} (tenant_id, id, project_id, name) values (%s, %s, %s, %s)",
        tenant.id,
        number,
        tenant.project_id,
        str(number),
    )
    return number


def value_of(tenant: Tenant, statement: str, *values: Any) -> Any:
    """Return the one value that a statement finds, as the superuser."""
    with psycopg.connect(tenant.server.superuser_url(), autocommit=True) as connection:
        cursor = connection.execute(statement, list(values))
        row = cursor.fetchone() if cursor.description else None
    return None if row is None else row[0]


def caller(app: Any, token: str | None = None, **more: Any) -> httpx.AsyncClient:
    """Return a client of an application in this process."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://127.0.0.1:8765",
        headers={**headers, **more.pop("headers", {})},
        **more,
    )
