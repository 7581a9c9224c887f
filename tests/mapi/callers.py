"""Who calls the API in tests: a token of a tenant, and an HTTP client that sends it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import httpx
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import give_token

from mapi.access.identifiers import RUN, text_from_uuid
from mapi.api.app import build_app
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

__all__ = ["Caller", "RunCaller", "caller_of", "client_of", "make_caller", "make_token"]


class Caller:
    """A client with a token; answers are checked against the status that is expected."""

    def __init__(self, client: httpx.AsyncClient, token: str) -> None:
        self.client = client
        self.token = token

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


class RunCaller(Caller):
    """Calls about one run."""

    def __init__(self, client: httpx.AsyncClient, token: str, run: str) -> None:
        super().__init__(client, token)
        self.run = run
        self.answered: dict[str, str] = {}
        """The headers of the last answer."""

    async def __call__(
        self, method: str, path: str, body: Any = None, *, status: int = 200, **query: Any
    ) -> Any:
        """Return the answer, whose status must be the expected one."""
        answer = await self.send(
            method, f"/v1/runs/{self.run}{path}", status=status, json=body, params=query or None
        )
        self.answered = dict(answer.headers)
        return answer.json() if answer.content else None

    async def raw(self, method: str, path: str, body: bytes) -> Any:
        """Return the answer to bytes, whatever its status."""
        answer = await self.client.request(
            method,
            f"/v1/runs/{self.run}{path}",
            content=body,
            headers={**self.headers, "Content-Type": "application/json"},
        )
        return answer.json()


def client_of(app: Any, token: str | None = None, **more: Any) -> httpx.AsyncClient:
    """Return a client over the application itself, without a socket."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app, raise_app_exceptions=False),
        base_url="http://127.0.0.1:8765",
        headers={**headers, **more.pop("headers", {})},
        **more,
    )


def make_token(
    tenant: Tenant, *, scopes: Sequence[str] = ("admin",), project_id: int | None = None
) -> str:
    """Make a service token of the tenant, called ``test``, and return its text."""
    return give_token(tenant, *map(Scope, scopes), project_id=project_id, name="test").text


def make_caller(
    app: Litestar,
    tenant: Tenant,
    *,
    scopes: Sequence[str] = ("admin",),
    project_id: int | None = None,
) -> Caller:
    """Make a service token and a client that sends it."""
    return Caller(client_of(app), make_token(tenant, scopes=scopes, project_id=project_id))


@contextlib.asynccontextmanager
async def caller_of(
    database: Database, tenant: Tenant, *, scope: str = "runs:write", run: str | None = None
) -> AsyncIterator[RunCaller]:
    """Give a caller of an application of its own, and a run that is new unless one is named."""
    app = build_app(database, version="0", objects=temporary_objects())
    async with client_of(app) as client:
        token = make_token(tenant, scopes=[scope])
        yield RunCaller(client, token, run or text_from_uuid(RUN, tenant.run()))
