"""Sign-in with an identity provider, against a small real one in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import caller, value_of

from mapi.api.app import build_app
from mapi.api.entrance import Entrance
from mapi.config import OidcSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """The address of a running provider."""
    program = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("provider.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdin is not None
    assert program.stdout is not None
    with program:
        yield program.stdout.readline().strip()
        program.stdin.close()


def app_for(database: Database, provider: str, tenant: Tenant, *, role: str | None = None) -> Any:
    settings = OidcSettings(
        issuer=provider,
        client_id="mapi-tests",
        client_secret="s3cret & more",
        tenant=tenant.name,
        role=role,
    )
    return build_app(
        database,
        version="0",
        objects=temporary_objects(),
        entrance=Entrance(oidc=settings, secret=b"of all replicas"),
    )


async def sign_in(app: Any, *, person: str = "anna", misdeed: str = "") -> httpx.Response:
    """Go the way of a browser, and return the last answer; its cookies are a session, if any."""
    async with caller(app) as client:
        begun = await client.get("/sign-in/oidc")
        assert begun.status_code == 302
        back = await at_provider(begun.headers["location"], person, misdeed)
        answer = await client.get(back)
        who = await client.get("/v1/session")
        answer.extensions["who"] = who.json().get("name") if who.status_code == 200 else None
        return answer


async def at_provider(address: str, person: str, misdeed: str = "") -> str:
    async with httpx.AsyncClient() as client:
        asked = {**dict(parse_qsl(urlsplit(address).query)), "as": person, "misdeed": misdeed}
        sent = await client.get(httpx.URL(address).copy_with(params=asked))
    location: str = sent.headers["location"]
    return location


async def test_a_new_person_becomes_a_member_with_the_role_that_the_operator_named(
    database: Database, provider: str, tenant: Tenant
) -> None:
    app = app_for(database, provider, tenant, role="viewer")
    for _ in range(2):
        answer = await sign_in(app)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert answer.extensions["who"] == "anna@example.org"
    count = "select count(*) from mapi.users where tenant_id = %s and subject = 'anna'"
    assert value_of(tenant, count, tenant.id) == 1


async def test_only_whom_an_admin_expects_gets_in_where_no_role_is_named(
    database: Database, provider: str, tenant: Tenant
) -> None:
    app = app_for(database, provider, tenant)
    refused = await sign_in(app)
    assert refused.status_code == 403
    assert refused.extensions["who"] is None
    value_of(
        tenant,
        "with anna as (insert into mapi.users (tenant_id, name)"
        " values (%s, 'anna@example.org') returning tenant_id, id)"
        " insert into mapi.members (tenant_id, user_id, role)"
        " select tenant_id, id, 'viewer' from anna",
        tenant.id,
    )
    assert (await sign_in(app)).extensions["who"] == "anna@example.org"


async def test_an_address_does_not_open_the_account_of_another_identity(
    database: Database, provider: str, tenant: Tenant
) -> None:
    app = app_for(database, provider, tenant)
    value_of(
        tenant,
        "insert into mapi.users (tenant_id, name, issuer, subject)"
        " values (%s, 'anna@example.org', 'https://other.example', 'anna') returning id",
        tenant.id,
    )
    assert (await sign_in(app)).status_code == 403


@pytest.mark.parametrize(
    "misdeed", ["issuer", "audience", "expired", "nonce", "key", "none", "unverified"]
)
async def test_a_word_that_does_not_hold_signs_nobody_in(
    database: Database, provider: str, tenant: Tenant, misdeed: str
) -> None:
    answer = await sign_in(app_for(database, provider, tenant, role="admin"), misdeed=misdeed)
    assert answer.status_code in {401, 403}
    assert answer.extensions["who"] is None


async def test_only_the_browser_that_began_can_end_and_on_any_replica(
    database: Database, provider: str, tenant: Tenant
) -> None:
    one = app_for(database, provider, tenant, role="viewer")
    two = app_for(database, provider, tenant, role="viewer")
    async with caller(one) as victim, caller(one) as attacker:
        await victim.get("/sign-in/oidc")
        begun = await attacker.get("/sign-in/oidc")
        back = await at_provider(begun.headers["location"], "mallory")
        assert (await victim.get(back)).status_code == 401
        kept = dict(attacker.cookies)
    async with caller(two, cookies=kept) as elsewhere:
        assert (await elsewhere.get(back)).status_code == 303
        # A code works once.
        assert (await elsewhere.get(back)).status_code == 401


async def test_a_provider_that_is_away_is_told_and_none_is_no_page(
    database: Database, tenant: Tenant
) -> None:
    async with caller(app_for(database, "http://127.0.0.1:1", tenant)) as client:
        answer = await client.get("/sign-in/oidc")
        assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
        assert "Sign in with your organisation" in (await client.get("/sign-in")).text
    async with caller(build_app(database, version="0", objects=temporary_objects())) as client:
        assert (await client.get("/sign-in/oidc")).status_code == 404
        assert "organisation" not in (await client.get("/sign-in")).text
