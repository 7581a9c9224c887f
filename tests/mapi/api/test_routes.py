"""Every route of the running application, asked by everybody who has no right to it."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from litestar import Litestar, get
from tests.mapi.callers import client_of
from tests.mapi.tenants_access import give_token, make_person, value_of
from tests.mapi.walking import BODIES, address, routes

from mapi.access.identifiers import RUN, text_from_uuid
from mapi.api.authentication import PUBLIC
from mapi.api.description import BODY
from mapi.api.rights import RIGHT, check_declared
from mapi.wire.decoding import BATCH_BYTES_MAX, BODY_BYTES_MAX, DEPTH_MAX
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio


def named(app: Litestar, method: str, handler: Any) -> dict[str, Any]:
    """Return what a request needs to be understood, so that only its right can refuse it."""
    longest = max(handler.paths, key=len)
    operation = app.state.description["paths"][
        "/".join(
            "{" + part.strip("{}").partition(":")[0] + "}" if part.startswith("{") else part
            for part in longest.split("/")
        )
    ][method.lower()]
    required = [
        one["name"] for one in operation["parameters"] if one["in"] == "query" and one["required"]
    ]
    return {"params": dict.fromkeys(required, "a")}


async def test_without_a_token_that_counts_only_public_routes_answer(
    app: Litestar, tenant: Tenant
) -> None:
    revoked = give_token(tenant, Scope.ADMIN)
    value_of(tenant, "update mapi.tokens set revoked = now() where id = %s", revoked.id)
    expired = give_token(tenant, Scope.ADMIN, expires=datetime.now(UTC) - timedelta(seconds=1))
    forged = give_token(tenant, Scope.ADMIN).text[:-43] + "A" * 43
    seen = 0
    for method, path, handler in routes(app):
        if handler.opt.get(PUBLIC):
            continue
        seen += 1
        where = address(path, tenant)
        for token in (None, revoked.text, expired.text, forged, "rubbish"):
            async with client_of(app, token) as client:
                answer = await client.request(method, where)
            assert answer.status_code == 401, (method, path, token)
            assert answer.json()["code"] == "UNAUTHENTICATED"
            assert answer.headers["www-authenticate"] == "Bearer"
    assert seen > 10


@pytest.mark.parametrize("whose", ["another tenant's", "another project's", "a bound token's"])
async def test_what_is_not_yours_is_answered_as_what_does_not_exist(
    app: Litestar, tenant: Tenant, other_tenant: Tenant, whose: str
) -> None:
    elsewhere = value_of(
        tenant,
        "insert into mapi.projects (tenant_id, name) values (%s, 'elsewhere') returning id",
        tenant.id,
    )
    token = {
        "another tenant's": lambda: give_token(other_tenant, Scope.ADMIN).text,
        "another project's": lambda: make_person(tenant, Role.ADMIN, project_id=elsewhere).token,
        "a bound token's": lambda: give_token(tenant, Scope.ADMIN, project_id=elsewhere).text,
    }[whose]()
    for method, path, handler in routes(app):
        if "{" not in path or handler.opt.get(PUBLIC):
            continue
        if len(path) < max(map(len, handler.paths)):
            continue  # another spelling, which names nothing
        theirs = address(path, tenant)
        missing = "/".join(
            (str(uuid.uuid4()) if part.startswith("{") else part) for part in path.split("/")
        )
        more = named(app, method, handler)
        if method in {"POST", "PUT", "PATCH"}:
            more["json"] = body_for(handler)
        async with client_of(app, token) as client:
            other = await client.request(method, theirs, **more)
            none = await client.request(method, missing, **more)
        assert other.status_code == 404, (method, path, other.text)
        # What was asked for may be told, as it was asked.
        assert unnamed(told(other), theirs) == unnamed(told(none), missing), (method, path)


def body_for(handler: Any) -> Any:
    """Return the smallest body that a route with an object in its address understands."""
    kind = handler.opt.get(BODY)
    return {} if kind is None else BODIES.get(kind.__name__, {})


def unnamed(found: object, asked: str) -> str:
    """Return what was told without the names that were asked for."""
    text = repr(found)
    for part in asked.split("/"):
        if any(one.isdigit() for one in part) and part != "v1":
            text = text.replace(part, "NAME")
    return text


def told(answer: Any) -> tuple[int, dict[str, Any]]:
    return answer.status_code, {
        name: value for name, value in answer.json().items() if name != "request_id"
    }


async def test_an_admin_of_a_project_sets_its_limits_up_to_the_tenants(
    app: Litestar, tenant: Tenant
) -> None:
    elsewhere = value_of(
        tenant,
        "insert into mapi.projects (tenant_id, name) values (%s, 'elsewhere') returning id",
        tenant.id,
    )
    here = make_person(tenant, Role.ADMIN, project_id=tenant.project_id).token
    for token, status in (
        (here, 200),
        (give_token(tenant, Scope.ADMIN, project_id=tenant.project_id).text, 200),
        (make_person(tenant, Role.RUNNER, project_id=tenant.project_id).token, 403),
        (make_person(tenant, Role.ADMIN, project_id=elsewhere).token, 422),
    ):
        async with client_of(app, token) as client:
            body = {"project": "default", "tracking": {"points": 7}}
            answer = await client.put("/v1/limits", json=body)
            assert answer.status_code == status, answer.text
            if status == 200:
                assert answer.json()["tracking"]["points"] == 7
    async with client_of(app, here) as client:
        too_much = {"project": "default", "tracking": {"points": "unlimited"}}
        assert (await client.put("/v1/limits", json=too_much)).status_code == 422
        nobody = {"project": None, "tracking": {"points": 7}}
        assert (await client.put("/v1/limits", json=nobody)).status_code == 403
    assert (
        value_of(
            tenant,
            "select count(*) from mapi.audit where tenant_id = %s and action = 'limits.set'",
            tenant.id,
        )
        == 2
    )


async def test_limits_say_how_much_one_request_takes(app: Litestar, tenant: Tenant) -> None:
    async with client_of(app, give_token(tenant, Scope.READ).text) as client:
        limits = (await client.get("/v1/limits")).json()["requests"]
    assert limits == {
        "body_bytes": BODY_BYTES_MAX,
        "batch_bytes": BATCH_BYTES_MAX,
        "json_depth": DEPTH_MAX,
        "points": 50_000,
        "log_lines": 10_000,
        "spans": 50_000,
    }
    run = text_from_uuid(RUN, tenant.run())
    async with client_of(app, give_token(tenant, Scope.WRITE).text) as client:
        span = {"name": "a", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 1}
        for path, body, name, item in (
            ("metrics", "points", "points", {"key": "a", "value": 1}),
            ("logs", "lines", "log_lines", {"message": "a"}),
            ("spans", "spans", "spans", span),
        ):
            for count, status in ((limits[name], 200), (limits[name] + 1, 422)):
                sent = {body: [item] * count}
                answer = await client.post(f"/v1/runs/{run}/{path}", json=sent)
                assert answer.status_code == status, (path, count, answer.text[:500])


async def test_a_viewer_reads_and_nothing_else(app: Litestar, tenant: Tenant) -> None:
    viewer = make_person(tenant, Role.VIEWER)
    for method, path, handler in routes(app):
        if handler.opt.get(PUBLIC):
            continue
        more = named(app, method, handler)
        async with client_of(app, viewer.token) as client:
            answer = await client.request(method, address(path, tenant), **more)
        if handler.opt[RIGHT] is not Scope.READ:
            assert answer.status_code == 403, (method, path, answer.text)
        elif method == "GET":
            may_be = {503} if path.endswith("/events") else {200, 404}
            assert answer.status_code in may_be, (method, path, answer.text)


async def test_a_token_for_reading_does_not_write_whatever_its_owner_is(
    app: Litestar, tenant: Tenant
) -> None:
    admin = make_person(tenant, Role.ADMIN)
    reading = give_token(tenant, Scope.READ, user_id=admin.user_id)
    for method, path, handler in routes(app):
        if handler.opt.get(PUBLIC) or handler.opt[RIGHT] is Scope.READ:
            continue
        more = named(app, method, handler)
        async with client_of(app, reading.text) as client:
            answer = await client.request(method, address(path, tenant), **more)
        assert answer.status_code == 403, (method, path)


async def test_a_runner_host_reaches_the_routes_of_runners_only(
    app: Litestar, tenant: Tenant
) -> None:
    host = give_token(tenant, Scope.EXECUTE)
    for method, path, handler in routes(app):
        if handler.opt.get(PUBLIC) or path.startswith("/v1/runner"):
            continue
        async with client_of(app, host.text) as client:
            answer = await client.request(method, address(path, tenant))
        assert answer.status_code == 403, (method, path)


async def test_a_user_without_a_role_sees_no_run_and_makes_none(
    app: Litestar, tenant: Tenant
) -> None:
    nobody = make_person(tenant, None)
    async with client_of(app, nobody.token) as client:
        assert (await client.get(f"/v1/runs/{tenant.run()}")).status_code == 403
        assert (await client.post("/v1/runs", json={})).status_code == 403


async def test_a_route_without_a_right_stops_the_start() -> None:
    @get("/open")
    async def open_to_all() -> None:
        """Answer anybody."""

    with pytest.raises(RuntimeError, match="/open declares no right"):
        check_declared(Litestar([open_to_all], openapi_config=None, logging_config=None))


async def test_only_these_routes_are_public(app: Litestar) -> None:
    found = {(method, path) for method, path, handler in routes(app) if handler.opt.get(PUBLIC)}
    assert found == {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
        ("GET", "/v1/openapi.json"),
        ("GET", "/"),
        ("POST", "/sign-out"),
        ("GET", "/sign-in"),
        ("POST", "/sign-in"),
        ("GET", "/sign-in/oidc"),
        ("GET", "/sign-in/oidc/callback"),
        ("POST", "/v1/session"),
        ("POST", "/v1/uploads"),
    }
