"""The page that a signed-in browser lands on: it says what is, runs nothing, and signs out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.mapi.callers import client_of
from tests.mapi.tenants_access import make_person

from mapi.access.sessions import write_sign_in_link
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


def csrf_of(page: str) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)
    assert found is not None, page
    return found[1]


async def test_a_sign_in_link_ends_on_a_page_that_says_who_and_where(
    app: Litestar, database: Database, tenant: Tenant
) -> None:
    async with database.transaction(tenant.reach) as connection:
        code = await write_sign_in_link(
            connection, name="<b>local</b>", scopes=frozenset({Scope.ADMIN})
        )
    async with client_of(app, follow_redirects=True) as client:
        page = await client.get("/sign-in", params={"code": code})
        assert (page.status_code, page.url.path) == (200, "/")
        assert page.headers["content-type"].startswith("text/html")
        assert "&lt;b&gt;local&lt;/b&gt;" in page.text
        assert "admin of all projects" in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
        for forbidden in ("<script", "<style", " style=", "<b>", "<img", "<link"):
            assert forbidden not in page.text
        # What it points at is there.
        links = re.findall(r'href="([^"]+)"', page.text)
        assert "/v1/openapi.json" in links
        for link in links:
            assert (await client.get(link)).status_code == 200, link


async def test_who_is_not_signed_in_is_sent_to_sign_in(app: Litestar, tenant: Tenant) -> None:
    person = make_person(tenant, Role.RUNNER)
    for cookies in ({}, {"mapi_session": "mapi_0_0"}, {"mapi_session": person.token}):
        async with client_of(app, cookies=cookies) as client:
            for method, path in (("GET", "/"), ("POST", "/sign-out")):
                answer = await client.request(method, path)
                assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


async def test_signing_out_takes_the_secret_of_the_page(app: Litestar, tenant: Tenant) -> None:
    person = make_person(tenant, Role.RUNNER)
    async with client_of(app) as client:
        await client.post("/v1/session", json={"token": person.token})
        session = client.cookies["mapi_session"]
        page = (await client.get("/")).text
        assert "runner of" in page
        for form in ({}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": "é"}, {"csrf": "0" * 9_000}):
            answer = await client.post("/sign-out", data=form)
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
            assert (await client.get("/v1/session")).status_code == 200
        answer = await client.post("/sign-out", data={"csrf": csrf_of(page)})
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        assert "mapi_session" not in client.cookies
    # The session itself has ended, wherever its cookie was copied to.
    async with client_of(app, cookies={"mapi_session": session}) as client:
        assert (await client.get("/v1/session")).status_code == 401
