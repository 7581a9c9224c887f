"""Tokens: shown once, hashed, no way to more rights, ended at once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.mapi.blocking import until_waited_for
from tests.mapi.callers import client_of
from tests.mapi.tenants_access import give_token, make_person, value_of

from mapi.access.last_use import LastUses
from mapi.access.sessions import write_sign_in_link
from mapi.access.tokens import authenticate, new_token
from mapi.errors import AuthenticationError
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


async def make(app: Litestar, token: str, **sent: Any) -> Any:
    async with client_of(app, token) as client:
        return await client.post("/v1/tokens", json={"name": "made", **sent})


async def test_a_token_is_shown_once_and_kept_as_a_hash(app: Litestar, tenant: Tenant) -> None:
    admin = make_person(tenant, Role.ADMIN)
    made = await make(app, admin.token, scopes=["runs:read"])
    assert made.status_code == 201
    text = made.json()["token"]
    async with client_of(app, text) as client:
        assert (await client.get("/v1/session")).json()["scopes"] == ["runs:read"]
        listed = (await client.get("/v1/tokens")).text
    assert text not in listed
    # It may have the mark between the parts, too.
    secret = text.split("_", 2)[2]
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
    async with client_of(app, admin.token) as client:
        assert (await client.delete(f"/v1/tokens/{made['id']}")).status_code == 204
        assert (await client.delete(f"/v1/tokens/{made['id']}")).status_code == 404
    async with client_of(app, made["token"]) as client:
        assert (await client.get("/v1/session")).status_code == 401


async def test_only_an_admin_revokes_or_sees_the_tokens_of_others(
    app: Litestar, tenant: Tenant, other_tenant: Tenant
) -> None:
    admin, viewer = make_person(tenant, Role.ADMIN), make_person(tenant, Role.VIEWER)
    stranger = make_person(other_tenant, Role.ADMIN)
    admins = admin.token.split("_")[1]
    for person in (viewer, stranger):
        async with client_of(app, person.token) as client:
            assert (await client.delete(f"/v1/tokens/{admins}")).status_code == 404
            assert admins not in (await client.get("/v1/tokens")).text
    async with client_of(app, admin.token) as client:
        assert viewer.token.split("_")[1] in (await client.get("/v1/tokens")).text
        assert (await client.delete(f"/v1/tokens/{viewer.token.split('_')[1]}")).status_code == 204


async def test_a_user_who_loses_the_role_loses_what_the_token_could_do(
    app: Litestar, tenant: Tenant
) -> None:
    admin, person = make_person(tenant, Role.ADMIN), make_person(tenant, Role.RUNNER)
    async with client_of(app, person.token) as client:
        assert (await client.post("/v1/runs", json={})).status_code == 201
        async with client_of(app, admin.token) as other:
            gone = await other.delete("/v1/members", params={"user": person.name})
        assert gone.status_code == 204
        assert (await client.post("/v1/runs", json={})).status_code == 401
        async with client_of(app, admin.token) as other:
            await other.put("/v1/members", json={"user": person.name, "role": "runner"})
        assert (await client.post("/v1/runs", json={})).status_code == 401


async def test_a_token_whose_making_had_not_committed_ends_with_the_last_role(
    app: Litestar, tenant: Tenant
) -> None:
    admin, person = make_person(tenant, Role.ADMIN), make_person(tenant, Role.RUNNER)
    token = new_token()
    async with client_of(app, admin.token) as client:
        with psycopg.connect(tenant.server.superuser_url()) as holder:
            holder.execute(
                "insert into mapi.tokens (tenant_id, id, secret_hash, name, scopes, user_id)"
                " values (%s, %s, %s, 'made', '{runs:write}', %s)",
                [tenant.id, token.id, token.secret_hash, person.user_id],
            )
            removal = asyncio.create_task(
                client.delete("/v1/members", params={"user": person.name})
            )
            await until_waited_for(holder)
        assert (await removal).status_code == 204
        await client.put("/v1/members", json={"user": person.name, "role": "runner"})
    assert await status_of(app, token.text) == 401


@pytest.mark.parametrize("path", ["/v1/tokens", "/v1/session"])
async def test_who_just_lost_the_last_role_makes_no_token_and_no_session(
    app: Litestar, tenant: Tenant, path: str
) -> None:
    person = make_person(tenant, Role.RUNNER)
    count = "select count(*) from mapi.tokens where user_id = %s"
    with psycopg.connect(tenant.server.superuser_url()) as holder:
        holder.execute("select from mapi.users where id = %s for update", [person.user_id])
        holder.execute("delete from mapi.members where user_id = %s", [person.user_id])
        bodies = {
            "/v1/tokens": {"name": "made", "scopes": ["runs:read"]},
            "/v1/session": {"token": person.token},
        }
        async with client_of(app, person.token) as client:
            making = asyncio.create_task(client.post(path, json=bodies[path]))
            await until_waited_for(holder)
            holder.commit()
            assert (await making).status_code == 401
    assert value_of(tenant, count, person.user_id) == 1


async def test_two_who_take_the_last_two_roles_at_once_end_the_tokens(
    app: Litestar, tenant: Tenant
) -> None:
    admin, person = make_person(tenant, Role.ADMIN), make_person(tenant, Role.RUNNER)
    async with client_of(app, admin.token) as client:
        member = {"user": person.name, "role": "viewer", "project": "default"}
        assert (await client.put("/v1/members", json=member)).status_code == 200
        with psycopg.connect(tenant.server.superuser_url()) as holder:
            holder.execute("select from mapi.users where id = %s for share", [person.user_id])
            removals = [
                asyncio.create_task(
                    client.delete("/v1/members", params={"user": person.name, **place})
                )
                for place in ({}, {"project": "default"})
            ]
            await until_waited_for(holder)
        assert [(await one).status_code for one in removals] == [204, 204]
    ended = "select bool_and(revoked is not null) from mapi.tokens where user_id = %s"
    assert value_of(tenant, ended, person.user_id) is True


async def test_a_user_who_keeps_another_role_keeps_the_tokens(
    app: Litestar, tenant: Tenant
) -> None:
    admin, person = make_person(tenant, Role.ADMIN), make_person(tenant, Role.RUNNER)
    async with client_of(app, admin.token) as other:
        member = {"user": person.name, "role": "viewer", "project": "default"}
        assert (await other.put("/v1/members", json=member)).status_code == 200
        gone = await other.delete("/v1/members", params={"user": person.name})
        assert gone.status_code == 204
    async with client_of(app, person.token) as client:
        assert (await client.get("/v1/runs")).status_code == 200
        assert (await client.post("/v1/runs", json={})).status_code == 403


async def test_a_service_token_outlives_the_membership_of_its_maker(
    app: Litestar, tenant: Tenant
) -> None:
    admin, maker = make_person(tenant, Role.ADMIN), make_person(tenant, Role.ADMIN)
    service = (await make(app, maker.token, scopes=["runs:write"], is_service=True)).json()
    personal = (await make(app, maker.token, scopes=["runs:write"])).json()
    async with client_of(app, admin.token) as client:
        gone = await client.delete("/v1/members", params={"user": maker.name})
        assert gone.status_code == 204
    assert await status_of(app, service["token"]) == 200
    assert await status_of(app, personal["token"]) == 401


async def status_of(app: Litestar, token: str) -> int:
    async with client_of(app, token) as client:
        return (await client.get("/v1/session")).status_code


async def test_what_a_token_made_ends_with_it_however_far_down(
    app: Litestar, tenant: Tenant
) -> None:
    admin = make_person(tenant, Role.ADMIN)
    first = (await make(app, admin.token, scopes=["admin"])).json()
    second = (await make(app, first["token"], scopes=["admin"], is_service=True)).json()
    third = (await make(app, second["token"], scopes=["runs:read"])).json()
    other = (await make(app, admin.token, scopes=["runs:read"])).json()
    async with client_of(app) as browser:
        assert (
            await browser.post("/v1/session", json={"token": third["token"]})
        ).status_code == 200
        async with client_of(app, admin.token) as client:
            assert (await client.delete(f"/v1/tokens/{first['id']}")).status_code == 204
        assert (await browser.get("/v1/session")).status_code == 401
    for made in (first, second, third):
        assert await status_of(app, made["token"]) == 401
    assert await status_of(app, other["token"]) == 200
    fields = value_of(
        tenant,
        "select fields from mapi.audit where tenant_id = %s and action = 'token.revoke'",
        tenant.id,
    )
    assert fields["made_with_it"] == 3


async def test_what_is_made_in_a_session_ends_with_the_token_of_the_session(
    app: Litestar, tenant: Tenant
) -> None:
    admin = make_person(tenant, Role.ADMIN)
    end = datetime.now(UTC) + timedelta(hours=1)
    short = give_token(tenant, Scope.ADMIN, user_id=admin.user_id, expires=end)
    async with client_of(app) as browser:
        csrf = (await browser.post("/v1/session", json={"token": short.text})).json()["csrf_token"]
        made = await browser.post(
            "/v1/tokens",
            json={"name": "made", "scopes": ["admin"]},
            headers={"X-CSRF-Token": csrf},
        )
        assert datetime.fromisoformat(made.json()["expires"]) == end
        # Signing out is no end of what was made: the token is.
        out = await browser.delete("/v1/session", headers={"X-CSRF-Token": csrf})
        assert out.status_code == 204
    assert await status_of(app, made.json()["token"]) == 200
    async with client_of(app, admin.token) as client:
        assert (await client.delete(f"/v1/tokens/{short.id}")).status_code == 204
    assert await status_of(app, made.json()["token"]) == 401


async def test_who_came_by_a_link_makes_tokens_that_last(
    app: Litestar, database: Database, tenant: Tenant
) -> None:
    admin = make_person(tenant, Role.ADMIN)
    async with database.transaction(tenant.reach) as connection:
        code = await write_sign_in_link(
            connection, name=admin.name, scopes=frozenset({Scope.ADMIN}), user_id=admin.user_id
        )
    async with client_of(app) as browser:
        await browser.get("/sign-in", params={"code": code})
        csrf = (await browser.get("/v1/session")).json()["csrf_token"]
        headers = {"X-CSRF-Token": csrf}
        sent = {"name": "made", "scopes": ["runs:write"]}
        made = (await browser.post("/v1/tokens", json=sent, headers=headers)).json()
        await browser.delete("/v1/session", headers=headers)
    assert made["expires"] is None
    assert await status_of(app, made["token"]) == 200


async def test_a_service_sees_and_ends_what_it_made_and_nothing_else(
    app: Litestar, tenant: Tenant
) -> None:
    service = give_token(tenant, Scope.WRITE)
    other = give_token(tenant, Scope.WRITE)
    made = (await make(app, service.text, scopes=["runs:read"])).json()
    async with client_of(app, service.text) as client:
        listed = {one["id"] for one in (await client.get("/v1/tokens")).json()["tokens"]}
        assert listed == {service.id, made["id"]}
        assert (await client.delete(f"/v1/tokens/{other.id}")).status_code == 404
        assert (await client.delete(f"/v1/tokens/{made['id']}")).status_code == 204
    assert await status_of(app, made["token"]) == 401


async def test_a_token_is_not_made_while_its_maker_is_revoked(
    app: Litestar, database: Database, tenant: Tenant
) -> None:
    """Ten makers race with the one who ends theirs: whatever was made is worth nothing."""
    admin = make_person(tenant, Role.ADMIN)
    leaked = give_token(tenant, Scope.ADMIN)
    async with client_of(app, leaked.text) as thief, client_of(app, admin.token) as owner:

        async def steal() -> str | None:
            answer = await thief.post("/v1/tokens", json={"name": "made", "scopes": ["admin"]})
            return answer.json()["token"] if answer.status_code == 201 else None

        stealing = [asyncio.create_task(steal()) for _ in range(10)]
        ended = asyncio.create_task(owner.delete(f"/v1/tokens/{leaked.id}"))
        found = await asyncio.gather(*stealing)
        assert (await ended).status_code == 204
    for text in found:
        if text is not None:
            assert await status_of(app, text) == 401


async def test_the_last_use_is_written_later_and_never_goes_back(
    app: Litestar, database: Database, tenant: Tenant
) -> None:
    token = give_token(tenant, Scope.READ)
    statement = "select last_used from mapi.tokens where id = %s"
    async with client_of(app, token.text) as client:
        await client.get("/v1/session")
    assert value_of(tenant, statement, token.id) is None
    uses = LastUses()
    other = give_token(tenant, Scope.READ)
    uses.note(await authenticate(database, token.text))
    between = datetime.now(UTC)
    uses.note(await authenticate(database, other.text))
    await uses.write(database)
    # Each has the time of its use, and not that of the write.
    first, second = (value_of(tenant, statement, one.id) for one in (token, other))
    assert first < between < second
    await uses.write(database)  # nothing is left to write


@pytest.mark.parametrize(
    "text", ["", "mapi_", "mapi_abc_def", "mapi_" + "0" * 12 + "_" + "a" * 43, "a\0b"]
)
async def test_what_is_no_token_of_ours_is_nobody(database: Database, text: str) -> None:
    with pytest.raises(AuthenticationError, match="not known"):
        await authenticate(database, text)


async def test_names_of_projects_members_and_tokens_can_be_seen(
    app: Litestar, tenant: Tenant
) -> None:
    admin = make_person(tenant, Role.ADMIN)
    async with client_of(app, admin.token) as client:
        for name in ("a ", "a\nb", "a\u202eb", "e\u0301"):
            for method, path, body, pointer in (
                ("POST", "/v1/tokens", {"name": name, "scopes": ["runs:read"]}, "/name"),
                ("POST", "/v1/projects", {"name": name}, "/name"),
                ("PUT", "/v1/members", {"user": name, "role": "viewer"}, "/user"),
            ):
                answer = await client.request(method, path, json=body)
                assert answer.status_code == 422, (path, name)
                assert answer.json()["errors"][0]["pointer"] == pointer
        # As lists spell every project.
        every = await client.post("/v1/projects", json={"name": "*"})
        assert (every.status_code, every.json()["errors"][0]["pointer"]) == (422, "/name")
        assert "every project" in every.json()["detail"]
        made = await client.post("/v1/projects", json={"name": "new"})
        assert made.status_code == 201
        again = await client.post("/v1/projects", json={"name": "new"})
        assert (again.status_code, again.json()["code"]) == (409, "NAME_TAKEN")
        got = await client.post("/v1/projects?if_exists=get", json={"name": "new"})
        assert (got.status_code, got.json()) == (200, made.json())
        other = await client.post("/v1/projects?if_exists=get", json={"name": "newer"})
        assert other.status_code == 201
        answers = await asyncio.gather(
            *(client.post("/v1/projects?if_exists=get", json={"name": "raced"}) for _ in range(8))
        )
        assert sorted(one.status_code for one in answers) == [200] * 7 + [201]
