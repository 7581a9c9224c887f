"""What stands before every route: hosts, origins, sizes, headers, the log, the rate."""

from __future__ import annotations

import io
import json
import logging
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.mapi.callers import client_of
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import give_token
from tests.mapi.walking import address, routes

from mapi.api.app import build_app
from mapi.api.entrance import Entrance
from mapi.api.journal import JsonLines
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("host", "is_known"),
    [
        ("127.0.0.1:8765", True),
        ("[::1]:8765", True),
        ("10.1.2.3", True),
        ("localhost:1", True),
        ("LOCALHOST", True),
        ("mapi.example", True),
        ("box.lan:8765", True),
        ("evil.example", False),
        ("mapi.example.evil.example", False),
        ("localhost.evil.example", False),
        ("", False),
        ("[::1", False),
    ],
)
async def test_only_our_own_names_are_served(
    database: Database, host: str, is_known: bool
) -> None:
    entrance = Entrance(
        checks_host=True, public_url="https://mapi.example", names=frozenset({"box.lan"})
    )
    async with client_of(
        build_app(database, version="0", objects=temporary_objects(), entrance=entrance)
    ) as client:
        answer = await client.get("/healthz", headers={"Host": host})
    assert answer.status_code == (200 if is_known else 421)
    if not is_known:
        assert answer.json()["code"] == "HOST_UNKNOWN"
        assert answer.json()["detail"].startswith("this server is not called")


@pytest.mark.parametrize(
    ("origin", "is_ours"),
    [
        ("http://127.0.0.1:8765", True),
        ("http://127.0.0.1:8766", False),
        ("https://127.0.0.1:8765", False),
        ("https://evil.example", False),
        ("null", False),
        ("https://mapi.example", True),
        ("https://mapi.example:443", True),
    ],
)
async def test_pages_of_other_origins_do_not_write(
    database: Database, tenant: Tenant, origin: str, is_ours: bool
) -> None:
    entrance = Entrance(public_url="https://mapi.example")
    token = give_token(tenant, Scope.WRITE)
    app = build_app(database, version="0", objects=temporary_objects(), entrance=entrance)
    async with client_of(app, token.text, headers={"Origin": origin}) as client:
        assert (await client.post("/v1/runs", json={})).status_code == (201 if is_ours else 403)
        assert (await client.get("/v1/session")).status_code == 200


async def test_every_answer_tells_a_browser_to_be_careful_and_has_an_id(app: Litestar) -> None:
    async with client_of(app) as client:
        answers = [
            await client.get(path) for path in ("/healthz", "/nothing", "/v1/runs/x", "/sign-in")
        ]
    ids = set()
    for answer in answers:
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "script-src 'self';" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers
        ids.add(answer.headers["x-request-id"])
    assert len(ids) == len(answers)


@pytest.mark.parametrize(
    ("path", "headers", "status", "code"),
    [
        ("/v1/session?" + "a" * 40_000, {}, 414, "ADDRESS_TOO_LONG"),
        ("/v1/session", {"X-Long": "a" * 40_000}, 431, "HEADERS_TOO_LARGE"),
    ],
)
async def test_long_addresses_and_headers_are_refused_before_anything_is_looked_up(
    app: Litestar, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    async with client_of(app, headers=headers) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/v1/limits?project=a%00b", "/query"),
        ("/v1/runs/a%00b", "/path"),
        ("/v1/a%00b", "/path"),
    ],
)
async def test_an_address_with_a_zero_is_refused_before_the_database_sees_it(
    app: Litestar, tenant: Tenant, path: str, place: str
) -> None:
    async with client_of(app, give_token(tenant, Scope.ADMIN).text) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (422, "SCHEMA_INVALID")
    assert [one["pointer"] for one in answer.json()["errors"]] == [place]


async def test_a_misspelt_parameter_is_refused_with_the_right_one(
    app: Litestar, tenant: Tenant
) -> None:
    async with client_of(app, give_token(tenant, Scope.ADMIN).text) as client:
        answer = await client.get("/v1/audit", params={"limti": 3})
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert fault["pointer"] == "/query/limti"
    assert "did you mean 'limit'" in fault["message"]


async def test_too_many_requests_are_told_when_to_come_back(
    database: Database, tenant: Tenant
) -> None:
    app = build_app(
        database,
        version="0",
        objects=temporary_objects(),
        entrance=Entrance(requests_per_second=0.2),
    )
    one, other = give_token(tenant, Scope.READ), give_token(tenant, Scope.READ)
    async with client_of(app, one.text) as client:
        statuses = [(await client.get("/v1/session")).status_code for _ in range(3)]
        refused = await client.get("/v1/session")
    assert statuses == [200, 200, 429]
    assert refused.json()["code"] == "RATE_LIMITED"
    assert refused.json()["retryable"] is True
    assert 1 <= int(refused.headers["retry-after"]) <= 5
    async with client_of(app, other.text) as client:
        assert (await client.get("/v1/session")).status_code == 200


async def test_who_guesses_tokens_is_stopped(database: Database) -> None:
    app = build_app(
        database,
        version="0",
        objects=temporary_objects(),
        entrance=Entrance(requests_per_second=1),
    )
    async with client_of(app, "mapi_guess") as client:
        found = {(await client.get("/v1/session")).status_code for _ in range(260)}
    assert found == {401, 429}


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    text = io.StringIO()
    writer = logging.StreamHandler(text)
    writer.setFormatter(JsonLines())
    logger = logging.getLogger("mapi")
    before = logger.level, logger.propagate
    logger.addHandler(writer)
    logger.setLevel(logging.INFO)
    try:
        yield text
    finally:
        logger.removeHandler(writer)
        logger.setLevel(before[0])
        logger.propagate = before[1]


async def test_the_log_has_a_line_for_each_request_and_no_secret_or_body(
    database: Database, tenant: Tenant, log: io.StringIO
) -> None:
    app = build_app(
        database, version="0", objects=temporary_objects(), entrance=Entrance(logs_requests=True)
    )
    token = give_token(tenant, Scope.WRITE)
    async with client_of(app, token.text) as client:
        made = await client.post("/v1/runs", json={"name": "private words", "params": {"k": "v9"}})
        await client.get("/v1/runs/private-words", params={"x": "secret-filter"})
        await client.get("/sign-in", params={"code": token.text})
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    requests = [line for line in lines if line["logger"] == "mapi.requests"]
    assert [line["route"] for line in requests] == ["/v1/runs", "/v1/runs/{run}", "/sign-in"]
    first = requests[0]
    assert first["request_id"] == made.headers["x-request-id"]
    assert (first["status"], first["method"]) == (201, "POST")
    assert (first["tenant"], first["token"]) == (tenant.id, token.id)
    for word in ("private", "v9", "secret-filter", token.text, token.text.split("_", 2)[2]):
        assert word not in log.getvalue()


async def test_a_defect_is_answered_with_its_request_id_and_logged_without_secrets(
    database: Database, tenant: Tenant, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = give_token(tenant, Scope.READ)

    async def broken(*_: Any) -> None:
        raise RuntimeError(f"it was {token.text} at postgresql://mapi:hunter2@db")

    monkeypatch.setattr("mapi.api.projects.list_projects", broken)
    app = build_app(database, version="0", objects=temporary_objects())
    served: Any = app
    transport = httpx.ASGITransport(served, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.get(
            "/v1/projects", headers={"Authorization": f"Bearer {token.text}"}
        )
    assert answer.status_code == 500
    assert "hunter2" not in answer.text
    (line,) = [
        one for one in map(json.loads, log.getvalue().splitlines()) if one["level"] == "error"
    ]
    assert line["request_id"] == answer.json()["request_id"]
    assert line["error"] == "RuntimeError"
    assert any("projects.py" in frame for frame in line["frames"])
    assert "hunter2" not in log.getvalue()
    assert token.text not in log.getvalue()


def _by_path(app: Litestar) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for method, path, _ in routes(app):
        found.setdefault(path, set()).add(method)
    return found


async def test_every_address_lists_all_of_its_methods(app: Litestar, tenant: Tenant) -> None:
    async with client_of(app, give_token(tenant, Scope.ADMIN).text) as client:
        for path, methods in _by_path(app).items():
            where = address(path, tenant)
            own = methods | {"OPTIONS"}
            if "GET" in methods and not path.endswith("/events"):
                own |= {"HEAD"}
            for answer, status in (
                (await client.options(where), 204),
                (await client.request("TRACE", where), 405),
            ):
                assert answer.status_code == status
                assert answer.headers["allow"] == ", ".join(sorted(own)), path
        assert "allow" not in (await client.options("/v1/nothing")).headers


async def test_head_is_answered_as_get_without_a_body(app: Litestar, tenant: Tenant) -> None:
    async with client_of(app, give_token(tenant, Scope.ADMIN).text) as client:
        for path, methods in _by_path(app).items():
            where = address(path, tenant)
            head = await client.head(where)
            assert head.content == b""
            if "GET" not in methods or path.endswith("/events"):
                assert head.status_code == 405, path
                continue
            got = await client.get(where)
            assert head.status_code == got.status_code, path
            for name in ("content-type", "content-length", "etag", "allow", "cache-control"):
                if name == "content-length" and path in {"/metrics", "/v1/usage"}:
                    continue  # figures that grow meanwhile
                assert head.headers.get(name) == got.headers.get(name), (path, name)


async def test_no_address_ends_with_a_slash(app: Litestar, tenant: Tenant) -> None:
    """A client tidies `…/tags/..` to the run's own address with one: that deleted the run."""
    async with client_of(app, give_token(tenant, Scope.ADMIN).text) as client:
        run = (await client.post("/v1/runs", json={})).json()["id"]
        for method, path, _ in routes(app):
            if path == "/":
                continue  # the page of the server: the shortest address there is
            answer = await client.request(method, f"{address(path, tenant)}/")
            assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), path
        for path in ("/", "//", "/tags/", "//tags//"):
            answer = await client.delete(f"/v1/runs/{run}{path}")
            assert answer.status_code == 404
        found = (await client.get(f"/v1/runs/{run}")).json()
        assert found["trashed"] is None
        kept = await client.put(f"/v1/runs/{run}/tags", json={"tags": {"..": "a"}})
        assert kept.json()["errors"][0]["pointer"] == "/tags/.."
        # What a key holds is encoded, and stands behind no slash of the address then.
        assert (
            await client.put(f"/v1/runs/{run}/tags", json={"tags": {"a/": "b"}})
        ).status_code == 200
        assert (await client.delete(f"/v1/runs/{run}/tags/a%2F")).status_code == 204


@pytest.mark.parametrize("is_keyed", [False, True])
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/runs", "application/json"),
        ("/v1/import", "application/x-ndjson"),
        ("/v1/uploads", "multipart/form-data; boundary=x"),
        ("/sign-in", "application/x-www-form-urlencoded"),
    ],
)
async def test_a_client_that_goes_away_in_its_body_is_no_defect(
    database: Database, tenant: Tenant, log: io.StringIO, path: str, kind: str, *, is_keyed: bool
) -> None:
    entrance = Entrance(logs_requests=True, metrics_open=True)
    app = build_app(database, version="0", objects=temporary_objects(), entrance=entrance)
    headers = {
        "host": "127.0.0.1",
        "authorization": f"Bearer {give_token(tenant, Scope.ADMIN).text}",
        "content-type": kind,
        "content-length": "99",
    }
    if is_keyed:
        headers["idempotency-key"] = "once"
    messages: list[Any] = [
        {"type": "http.request", "body": b'{"name": ', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Any:
        return messages.pop(0) if len(messages) > 1 else messages[0]

    async def send(_message: Any) -> None:
        pass  # there is nobody

    scope: Any = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8765),
    }
    await app(scope, receive, send)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(line["level"], line.get("status")) for line in lines] == [("info", 499)]
    async with client_of(app) as client:
        assert 'status="500"' not in (await client.get("/metrics")).text


async def test_the_meters_are_open_on_loopback_only_or_to_the_operators_token(
    database: Database, tenant: Tenant
) -> None:
    for entrance, token, status in (
        (Entrance(metrics_open=True), None, 200),
        (Entrance(), None, 401),
        (Entrance(), give_token(tenant, Scope.ADMIN).text, 401),
        (Entrance(metrics_token="scrape"), "scrape", 200),
        (Entrance(metrics_token="scrape"), "scrap", 401),
    ):
        async with client_of(
            build_app(database, version="0", objects=temporary_objects(), entrance=entrance), token
        ) as client:
            await client.get("/healthz")
            answer = await client.get("/metrics")
        assert answer.status_code == status
        if status == 200:
            assert (
                'mapi_requests_total{method="GET",route="/healthz",status="200"} 1.0'
                in answer.text
            )
            assert "mapi_database_pool" in answer.text
            kind = answer.headers["content-type"]
            assert kind == "text/plain; version=0.0.4; charset=utf-8"
