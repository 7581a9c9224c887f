"""Who calls the API in tests: a token of a tenant, and an HTTP client that sends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import psycopg

from mapi.access.tokens import new_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar import Litestar
    from tests.mapi.tenants import Tenant

__all__ = ["Caller", "make_caller", "make_token"]


@dataclass(frozen=True)
class Caller:
    """A client with a token; answers are checked against the status that is expected."""

    client: httpx.AsyncClient
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def send(
        self, method: str, path: str, *, status: int = 200, **kwargs: Any
    ) -> httpx.Response:
        headers = {**self.headers, **kwargs.pop("headers", {})}
        answer = await self.client.request(method, path, headers=headers, **kwargs)
        assert answer.status_code == status, f"{answer.status_code}: {answer.text[:2_000]}"
        return answer

    async def get(self, path: str, *, status: int = 200, **kwargs: Any) -> Any:
        return (await self.send("GET", path, status=status, **kwargs)).json()

    async def post(self, path: str, body: Any, *, status: int = 200, **kwargs: Any) -> Any:
        return (await self.send("POST", path, status=status, json=body, **kwargs)).json()

    async def make_run(self, **sent: Any) -> str:
        found = await self.post("/v1/runs", sent, status=201)
        run: str = found["id"]
        return run

    async def log(
        self, run: str, key: str, values: Sequence[Any], *, start: int = 0, **sent: Any
    ) -> Any:
        """Log values at steps from ``start`` on; other columns by name."""
        series: dict[str, Any] = {
            "key": key,
            "values": list(values),
            "steps": sent.pop("steps", list(range(start, start + len(values)))),
        }
        for name in ("labels", "times"):
            if name in sent:
                series[name] = sent.pop(name)
        return await self.post(f"/v1/runs/{run}/metrics", {"series": [series], **sent})


def make_caller(
    app: Litestar,
    tenant: Tenant,
    *,
    scopes: Sequence[str] = ("admin",),
    project_id: int | None = None,
) -> Caller:
    """Make a service token and a client over the application itself, without a socket."""
    token = make_token(tenant, scopes=scopes, project_id=project_id)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)  # type: ignore[arg-type]
    client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
    return Caller(client, token)


def make_token(
    tenant: Tenant, *, scopes: Sequence[str] = ("admin",), project_id: int | None = None
) -> str:
    """Make a service token of the tenant, and return its text."""
    token = new_token()
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "insert into mapi.tokens (tenant_id, id, secret_hash, name, scopes, project_id)"
            " values (%s, %s, %s, 'test', %s, %s)",
            [tenant.id, token.id, token.secret_hash, list(scopes), project_id],
        )
    return token.text
