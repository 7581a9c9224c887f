"""Callers of the application, without a socket: a token of their own, JSON in and out."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any

import httpx
import psycopg
from litestar.exceptions import LitestarDeprecationWarning
from psycopg.types.json import Jsonb
from tests.mapi.storing import temporary_objects

from mapi.access.identifiers import RUN, text_from_uuid
from mapi.access.tokens import new_token
from mapi.api.app import build_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

__all__ = ["Caller", "caller_of", "set_limits"]


class Caller:
    """Calls about one run."""

    def __init__(self, client: httpx.AsyncClient, run: str) -> None:
        self._client = client
        self.run = run

    async def __call__(
        self, method: str, path: str, body: Any = None, *, status: int = 200, **query: Any
    ) -> Any:
        """Return the answer, whose status must be the expected one."""
        answer = await self._client.request(
            method, f"/v1/runs/{self.run}{path}", json=body, params=query or None
        )
        assert answer.status_code == status, (answer.status_code, answer.text)
        self.headers = answer.headers
        return answer.json() if answer.content else None

    async def raw(self, method: str, path: str, body: bytes) -> Any:
        """Return the answer to bytes, whatever its status."""
        answer = await self._client.request(
            method,
            f"/v1/runs/{self.run}{path}",
            content=body,
            headers={"Content-Type": "application/json"},
        )
        return answer.json()


@contextlib.asynccontextmanager
async def caller_of(
    database: Database, tenant: Tenant, *, scope: str = "runs:write", run: str | None = None
) -> AsyncIterator[Caller]:
    """Give a caller with a service token of a tenant, and a run that is new unless one is named."""
    token = new_token()
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "insert into mapi.tokens (tenant_id, id, secret_hash, name, scopes)"
            " values (%s, %s, %s, %s, %s)",
            [tenant.id, token.id, token.secret_hash, f"the {scope} caller", [scope]],
        )
    with warnings.catch_warnings():
        # Some routes still name their parameters in the way that ends with the framework's next
        # great version.
        warnings.simplefilter("ignore", LitestarDeprecationWarning)
        app = build_app(database, version="0", objects=temporary_objects())
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app),  # type: ignore[arg-type]
        base_url="http://127.0.0.1",
        headers={"Authorization": f"Bearer {token.text}"},
    ) as client:
        yield Caller(client, run or text_from_uuid(RUN, tenant.run()))


def set_limits(tenant: Tenant, **limits: int | str) -> None:
    """Give the project of a tenant limits of its own."""
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "update mapi.projects set limits = %s where id = %s",
            [Jsonb(limits), tenant.project_id],
        )
