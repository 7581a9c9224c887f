"""Tokens: shown once, hashed, no way to more rights, ended at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.tenants_access import caller, give_token, make_person, value_of

from mapi.access.last_use import LastUses
from mapi.access.tokens import authenticate
from mapi.errors import AuthenticationError
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


async def make(app: Litestar, token: str, **sent: Any) -> Any:
    async with caller(app, token) as client:
        return await client.post("/v1/tokens", json={"name": "made", **sent})


async def test_a_token_is_shown_once_and_kept_as_a_hash(app: Litestar, tenant: Tenant) -> None:
    admin = make_person(tenant, Role.ADMIN)
    made = await make(app, admin.token, scopes=["runs:read"])
    assert made.status_code == 201
    text = made.json()["token"]
    async with caller(app, text) as client:
        assert (await client.get("/v1/session")).json()["scopes"] == ["runs:read"]
        listed = (await client.get("/v1/tokens")).text
    assert text not in listed
    secret = text.rpartition("_")[2]
    rows = value_of(
        tenant,
        "select string_agg(t::text, ' ') from mapi.tokens t where tenant_id = %s",
        tenant.id,
    )
    assert made.json()["id"] in rows
    assert secret not in rows
    audit = value_of(
        tenant, "select string_agg(a::text, ' ') from mapi.audit a where tenant_id = %s", tenant.id
    )
    assert "token.create" in audit
    assert secret not in audit


@pytest.mark.parametrize(
    ("role", "scope", "status"),
    [
        (Role.VIEWER, "runs:read", 201),
        (Role.VIEWER, "runs:write", 403),
        (Role.VIEWER, "admin", 403),
        (Role.RUNNER, "runs:write", 201),
        (Role.RUNNER, "admin", 403),
        (Role.ADMIN, "admin", 201),
        (Role.ADMIN, "runs:execute", 422),
    ],
)
async def test_a_token_does_no_more_than_its_maker(
    app: Litestar, tenant: Tenant, role: Role, scope: str, status: int
) -> None:
    person = make_person(tenant, role)
    assert (await make(app, person.token, scopes=[scope])).status_code == status


async def test_a_reading_token_of_an_admin_makes_only_reading_ones(
    app: Litestar, tenant: Tenant
) -> None:
    admin = make_person(tenant, Role.ADMIN)
    reading = give_token(tenant, Scope.READ, user_id=admin.user_id)
    assert (await make(app, reading.text, scopes=["admin"])).status_code == 403
    service = await make(app, reading.text, scopes=["runs:read"], is_service=True)
    assert service.status_code == 403


async def test_what_a_token_makes_ends_with_it_at_the_latest(
    app: Litestar, tenant: Tenant
) -> None:
    end = datetime.now(UTC) + timedelta(hours=1)
    short = give_token(tenant, Scope.ADMIN, expires=end)
    for expires in (None, (end + timedelta(days=1)).isoformat()):
        made = await make(app, short.text, scopes=["runs:read"], expires=expires)
        assert datetime.fromisoformat(made.json()["expires"]) == end


async def test_a_bound_token_makes_only_bound_ones(app: Litestar, tenant: Tenant) -> None:
    bound = give_token(tenant, Scope.ADMIN, project_id=tenant.project_id)
    made = await make(app, bound.text, scopes=["runs:write"])
    assert made.json()["project"] == "default"


async def test_an_end_in_the_past_is_refused(app: Litestar, tenant: Tenant) -> None:
    admin = make_person(tenant, Role.ADMIN)
    made = await make(app, admin.token, scopes=["runs:read"], expires="2020-01-01T00:00:00Z")
    assert made.status_code == 422
    assert made.json()["errors"][0]["pointer"] == "/expires"


async def test_a_revoked_token_is_refused_at_once_and_revoking_again_finds_nothing(
    app: Litestar, tenant: Tenant
) -> None:
    admin = make_person(tenant, Role.ADMIN)
    made = (await make(app, admin.token, scopes=["runs:read"])).json()
    async with caller(app, admin.token) as client:
        assert (await client.delete(f"/v1/tokens/{made['id']}")).status_code == 204
        assert (await client.delete(f"/v1/tokens/{made['id']}")).status_code == 404
    async with caller(app, made["token"]) as client:
        assert (await client.get("/v1/session")).status_code == 401


async def test_only_an_admin_revokes_or_sees_the_tokens_of_others(
    app: Litestar, tenant: Tenant, other_tenant: Tenant
) -> None:
    admin, viewer = make_person(tenant, Role.ADMIN), make_person(tenant, Role.VIEWER)
    stranger = make_person(other_tenant, Role.ADMIN)
    admins = admin.token.split("_")[1]
    for person in (viewer, stranger):
        async with caller(app, person.token) as client:
            assert (await client.delete(f"/v1/tokens/{admins}")).status_code == 404
            assert admins not in (await client.get("/v1/tokens")).text
    async with caller(app, admin.token) as client:
        assert viewer.token.split("_")[1] in (await client.get("/v1/tokens")).text
        assert (await client.delete(f"/v1/tokens/{viewer.token.split('_')[1]}")).status_code == 204


async def test_a_user_who_loses_the_role_loses_what_the_token_could_do(
    app: Litestar, tenant: Tenant
) -> None:
    admin, person = make_person(tenant, Role.ADMIN), make_person(tenant, Role.RUNNER)
    async with caller(app, person.token) as client:
        assert (await client.post("/v1/runs", json={})).status_code == 201
        async with caller(app, admin.token) as other:
            gone = await other.delete("/v1/members", params={"user": person.name})
        assert gone.status_code == 204
        assert (await client.post("/v1/runs", json={})).status_code == 403


async def test_the_last_use_is_written_later_and_never_goes_back(
    app: Litestar, database: Database, tenant: Tenant
) -> None:
    token = give_token(tenant, Scope.READ)
    statement = "select last_used from mapi.tokens where id = %s"
    async with caller(app, token.text) as client:
        await client.get("/v1/session")
    assert value_of(tenant, statement, token.id) is None
    uses = LastUses()
    uses.note(await authenticate(database, token.text))
    await uses.write(database)
    assert value_of(tenant, statement, token.id) is not None
    await uses.write(database)  # nothing is left to write


@pytest.mark.parametrize(
    "text", ["", "mapi_", "mapi_abc_def", "mapi_" + "0" * 12 + "_" + "a" * 43, "a\0b"]
)
async def test_what_is_no_token_of_ours_is_nobody(database: Database, text: str) -> None:
    with pytest.raises(AuthenticationError, match="not known"):
        await authenticate(database, text)
