"""Where a sign-in leads: to a page of this server, whoever made the address."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.callers import client_of

from mapi.access.sessions import write_sign_in_link
from mapi.api.sign_in import own_page
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/", "/"),
        ("/runs?project=a%20b&filter=x", "/runs?project=a%20b&filter=x"),
        ("/compare?ids=a,b#x", "/compare?ids=a,b#x"),
        ("", "/"),
        ("runs", "/"),
        ("//evil.example/runs", "/"),
        ("/\\evil.example/runs", "/"),
        ("/runs\\..\\\\evil.example", "/"),
        ("https://evil.example/runs", "/"),
        ("javascript:alert(1)", "/"),
        ("/\t/evil.example", "/"),
        ("/runs\r\nSet-Cookie: a=b", "/"),
        ("/runs/é", "/"),
        ("/sign-out", "/"),
        ("/v1/session", "/"),
        ("http:/runs", "/"),
        ("///runs", "/"),
    ],
)
def test_only_pages_of_ours_are_led_to(address: str, expected: str) -> None:
    assert own_page(address) == expected


@given(st.text(st.sampled_from("/\\.:?#@evil.examplerunshttps\t\r\n %2f"), max_size=40))
def test_no_address_leads_elsewhere(address: str) -> None:
    ours = "http://127.0.0.1:8765"
    for given_address in (address, f"/{address}", f"/runs{address}"):
        parts = urlsplit(urljoin(f"{ours}/sign-in", own_page(given_address)))
        assert f"{parts.scheme}://{parts.netloc}" == ours


@pytest.mark.anyio
async def test_a_link_leads_to_the_page_that_it_names(
    app: Litestar, database: Database, tenant: Tenant
) -> None:
    for page, expected in (("/runs?project=a", "/runs?project=a"), ("//evil.example", "/")):
        async with database.transaction(tenant.reach) as connection:
            code = await write_sign_in_link(connection, name="a", scopes=frozenset({Scope.READ}))
        async with client_of(app) as client:
            answer = await client.get("/sign-in", params={"code": code, "next": page})
        assert (answer.status_code, answer.headers["location"]) == (303, expected)
