"""Browsers: signed in once by a link or by a token, kept by a cookie, guarded against forgery."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.mapi.callers import client_of
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import give_token, make_person, value_of

from mapi.access.sessions import write_sign_in_link
from mapi.api.app import build_app
from mapi.api.entrance import Entrance
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


async def test_a_link_signs_in_once(app: Litestar, database: Database, tenant: Tenant) -> None:
    async with database.transaction(tenant.reach) as connection:
        code = await write_sign_in_link(connection, name="local", scopes=frozenset({Scope.ADMIN}))
    async with client_of(app) as client:
        first = await client.get("/sign-in", params={"code": code})
        assert (first.status_code, first.headers["location"]) == (303, "/")
        assert (await client.get("/v1/session")).json()["is_tenant_admin"] is True
    async with client_of(app) as client:
        again = await client.get("/sign-in", params={"code": code})
        assert again.status_code == 401
        assert "set-cookie" not in again.headers
    async with client_of(app, code) as client:
        assert (await client.get("/v1/session")).status_code == 401


async def test_an_old_link_signs_nobody_in(
    app: Litestar, database: Database, tenant: Tenant
) -> None:
    async with database.transaction(tenant.reach) as connection:
        code = await write_sign_in_link(connection, name="a", scopes=frozenset({Scope.READ}))
    value_of(
        tenant,
        "update mapi.tokens set expires = %s where id = %s",
        datetime.now(UTC) - timedelta(seconds=1),
        code.split("_")[1],
    )
    async with client_of(app) as client:
        assert (await client.get("/sign-in", params={"code": code})).status_code == 401


async def test_the_form_takes_a_token_and_tells_nothing_of_a_wrong_one(
    app: Litestar, tenant: Tenant
) -> None:
    token = give_token(tenant, Scope.READ)
    async with client_of(app) as client:
        assert "<form" in (await client.get("/sign-in")).text
        wrong = await client.post("/sign-in", data={"token": "<script>alert(1)</script>"})
        assert wrong.status_code == 401
        assert "<script>" not in wrong.text
        assert (await client.post("/sign-in", data={"token": token.text})).status_code == 303
        assert (await client.get("/v1/session")).status_code == 200


async def test_whoever_was_on_the_way_to_a_page_goes_on_to_it(
    app: Litestar, tenant: Tenant
) -> None:
    token = give_token(tenant, Scope.READ)
    place = "/compare?ids=a%2Cb&project=x#y"
    async with client_of(app) as client:
        form = await client.get("/sign-in", params={"next": place})
        assert 'value="/compare?ids=a%2Cb&amp;project=x#y"' in form.text
        wrong = await client.post("/sign-in", data={"token": "none", "next": place})
        assert 'value="/compare?ids=a%2Cb&amp;project=x#y"' in wrong.text
        right = await client.post("/sign-in", data={"token": token.text, "next": place})
        assert (right.status_code, right.headers["location"]) == (303, place)


@pytest.mark.parametrize(
    "place",
    [
        "//evil.example/runs",
        "https://evil.example/runs",
        "/\\evil.example",
        "/runs\r\nSet-Cookie: a=b",
        '/runs?"><script>alert(1)</script>\u00e9',
        "/sign-out",
        "javascript:alert(1)",
    ],
)
async def test_nobody_is_sent_anywhere_but_to_a_page_of_ours(
    app: Litestar, tenant: Tenant, place: str
) -> None:
    token = give_token(tenant, Scope.READ)
    async with client_of(app) as client:
        form = await client.get("/sign-in", params={"next": place})
        assert 'name="next" type="hidden" value="/"' in form.text
        assert "<script>" not in form.text
        done = await client.post("/sign-in", data={"token": token.text, "next": place})
        assert (done.status_code, done.headers["location"]) == (303, "/")


@pytest.mark.parametrize(
    ("entrance", "address", "name", "is_secure"),
    [
        (Entrance(), "http://127.0.0.1:8765", "mapi_session", False),
        (Entrance(), "http://localhost:8765", "mapi_session", False),
        (Entrance(), "http://10.0.0.5:8765", "__Host-mapi", True),
        (Entrance(public_url="https://mapi.example"), "http://10.0.0.5", "__Host-mapi", True),
    ],
)
async def test_the_cookie_is_for_us_alone_and_encrypted_off_this_machine(
    database: Database,
    tenant: Tenant,
    entrance: Entrance,
    address: str,
    name: str,
    is_secure: bool,
) -> None:
    token = give_token(tenant, Scope.READ)
    app = build_app(database, version="0", objects=temporary_objects(), entrance=entrance)
    async with client_of(app) as client:
        answer = await client.post(f"{address}/v1/session", json={"token": token.text})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{name}=mapi_")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie
    assert "Domain" not in cookie
    assert ("Secure" in cookie) == is_secure


async def test_a_write_with_a_cookie_needs_the_second_secret(
    app: Litestar, tenant: Tenant
) -> None:
    person = make_person(tenant, Role.RUNNER)
    async with client_of(app) as client:
        signed_in = await client.post("/v1/session", json={"token": person.token})
        csrf = signed_in.json()["csrf_token"]
        assert (await client.get("/v1/session")).json()["csrf_token"] == csrf
        for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "0" * 64}):
            assert (await client.post("/v1/runs", json={}, headers=headers)).status_code == 403
        made = await client.post("/v1/runs", json={}, headers={"X-CSRF-Token": csrf})
        assert made.status_code == 201


async def test_a_session_is_no_token_and_a_token_no_session(app: Litestar, tenant: Tenant) -> None:
    token = give_token(tenant, Scope.READ)
    async with client_of(app) as client:
        await client.post("/v1/session", json={"token": token.text})
        session = client.cookies["mapi_session"]
    async with client_of(app, session) as client:
        assert (await client.get("/v1/session")).status_code == 401
    async with client_of(app, cookies={"mapi_session": token.text}) as client:
        assert (await client.get("/v1/session")).status_code == 401


async def test_a_session_ends_by_signing_out_and_with_its_token(
    app: Litestar, tenant: Tenant
) -> None:
    admin = make_person(tenant, Role.ADMIN)
    token = give_token(tenant, Scope.READ, user_id=admin.user_id)
    for ends_by in ("signing out", "its token"):
        async with client_of(app) as client:
            signed_in = await client.post("/v1/session", json={"token": token.text})
            kept = dict(client.cookies)
            if ends_by == "signing out":
                csrf = signed_in.json()["csrf_token"]
                out = await client.delete("/v1/session", headers={"X-CSRF-Token": csrf})
                assert out.status_code == 204
            else:
                async with client_of(app, admin.token) as other:
                    await other.delete(f"/v1/tokens/{token.id}")
        async with client_of(app, cookies=kept) as client:
            assert (await client.get("/v1/session")).status_code == 401, ends_by
