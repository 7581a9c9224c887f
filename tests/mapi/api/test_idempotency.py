"""A POST with a key makes one thing, however often and wherever it is sent."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

import msgspec
import psycopg
import pytest
from tests.mapi.blocking import until_task_waits
from tests.mapi.callers import client_of
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import give_token, value_of

from mapi.access.idempotency import (
    KeptAnswer,
    RequestKey,
    claim_key,
    delete_old_keys,
    keep_answer,
)
from mapi.access.tokens import authenticate
from mapi.api.app import build_app
from mapi.api.idempotency import hash_of
from mapi.database.door import Database
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio


def key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid.uuid4())}


def runs_of(tenant: Tenant) -> int:
    found: int = value_of(tenant, "select count(*) from mapi.runs where tenant_id = %s", tenant.id)
    return found


async def test_the_same_request_gets_the_same_answer_from_every_replica(
    app: Litestar, database_url: str, tenant: Tenant
) -> None:
    token, headers = give_token(tenant, Scope.WRITE), key()
    other = Database(database_url, connections=2)
    await other.open()
    try:
        answers = []
        for replica in (app, build_app(other, version="0", objects=temporary_objects()), app):
            async with client_of(replica, token.text) as client:
                answers.append(await client.post("/v1/runs", json={"name": "a"}, headers=headers))
    finally:
        await other.close()
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert [answer.headers.get("idempotency-replayed") for answer in answers] == [
        None,
        "true",
        "true",
    ]
    assert runs_of(tenant) == 1


async def test_another_request_with_the_key_is_refused(app: Litestar, tenant: Tenant) -> None:
    token, headers = give_token(tenant, Scope.ADMIN), key()
    async with client_of(app, token.text) as client:
        await client.post("/v1/runs", json={"name": "a"}, headers=headers)
        for path, body in (("/v1/runs", {"name": "b"}), ("/v1/projects", {"name": "a"})):
            answer = await client.post(path, json=body, headers=headers)
            assert answer.status_code == 422
            assert answer.json()["code"] == "IDEMPOTENCY_MISMATCH"
    assert runs_of(tenant) == 1


async def test_of_many_at_once_one_makes_it_and_the_others_are_told(
    app: Litestar, tenant: Tenant
) -> None:
    token, headers = give_token(tenant, Scope.WRITE), key()
    async with client_of(app, token.text) as client:
        answers = await asyncio.gather(
            *(client.post("/v1/runs", json={}, headers=headers) for _ in range(8))
        )
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
    assert runs_of(tenant) == 1


@pytest.mark.parametrize(
    "body", [{"params": {"lr": 1}, "started": "2026-01-01T00:00:00Z"}, {"experiment": "study"}]
)
async def test_what_was_changed_since_is_answered_as_it_was_made(
    app: Litestar, tenant: Tenant, body: dict[str, Any]
) -> None:
    token, headers = give_token(tenant, Scope.WRITE), key()
    async with client_of(app, token.text) as client:
        await client.post("/v1/experiments", json={"name": "study"})
        made = await client.post("/v1/runs", json=body, headers=headers)
        run = f"/v1/runs/{made.json()['id']}"
        changed = await client.patch(run, json={"name": "other", "status": "failed"})
        again = await client.post("/v1/runs", json=body, headers=headers)
    assert (made.status_code, changed.status_code, again.status_code) == (201, 200, 201)
    assert changed.json()["name"] == "other"
    assert again.content == made.content
    for name in ("etag", "location", "content-type"):
        assert again.headers[name] == made.headers[name]
    assert again.headers["idempotency-replayed"] == "true"
    assert runs_of(tenant) == 1


@pytest.mark.parametrize("body", [{"name": "a"}, {"name": "a", "experiment": "study"}])
async def test_no_run_is_there_whose_key_does_not_say_so(
    app: Litestar, tenant: Tenant, body: dict[str, Any]
) -> None:
    """Between the two a server could die, and the request that is sent again would make a second."""
    token = give_token(tenant, Scope.WRITE)
    by_transaction = (
        "select run.xmin = key.xmin from mapi.runs as run, mapi.idempotency_keys as key"
        " where run.tenant_id = %s and key.tenant_id = run.tenant_id"
    )
    async with client_of(app, token.text) as client:
        await client.post("/v1/experiments", json={"name": "study"})
        await client.post("/v1/runs", json=body, headers=key())
    assert value_of(tenant, by_transaction, tenant.id) is True


async def test_a_run_that_was_there_before_is_answered_again_as_it_was(
    app: Litestar, tenant: Tenant
) -> None:
    token, headers, body = give_token(tenant, Scope.WRITE), key(), {"external_id": "it"}
    async with client_of(app, token.text) as client:
        first = await client.post("/v1/runs", json={**body, "name": "first"})
        found = await client.post("/v1/runs", json=body, headers=headers)
        await client.patch(f"/v1/runs/{first.json()['id']}", json={"name": "second"})
        again = await client.post("/v1/runs", json=body, headers=headers)
    assert (first.status_code, found.status_code, again.status_code) == (201, 200, 200)
    assert found.json()["name"] == "first"
    assert again.content == found.content
    assert again.headers["idempotency-replayed"] == "true"


async def test_a_refused_run_does_not_use_its_key_up_whatever_it_names(
    app: Litestar, tenant: Tenant
) -> None:
    token, headers, body = give_token(tenant, Scope.WRITE), key(), {"experiment": "study"}
    async with client_of(app, token.text) as client:
        refused = await client.post("/v1/runs", json=body, headers=headers)
        await client.post("/v1/experiments", json={"name": "study"})
        made = await client.post("/v1/runs", json=body, headers=headers)
    assert (refused.status_code, made.status_code) == (422, 201)
    assert "idempotency-replayed" not in made.headers


@pytest.mark.parametrize("body", [{}, {"experiment": "study"}])
async def test_while_the_first_is_under_way_the_second_waits_and_has_its_answer(
    app: Litestar, database: Database, tenant: Tenant, body: dict[str, Any]
) -> None:
    token = give_token(tenant, Scope.WRITE)
    principal = await authenticate(database, token.text)
    async with client_of(app, token.text) as client:
        await client.post("/v1/experiments", json={"name": "study"})
        request = client.build_request("POST", "/v1/runs", json=body)
        about = hash_of("POST", request.url.raw_path, query=b"", body=request.content)
        held = RequestKey("one", about)
        answer = KeptAnswer(201, msgspec.msgpack.encode(({"location": "/there"}, b'{"a": 1}')))
        async with database.transaction(principal.reach) as connection:
            assert await claim_key(connection, principal, held, secret=token.text) is None
            headers = {"Idempotency-Key": "one"}
            waiting = asyncio.create_task(client.post("/v1/runs", json=body, headers=headers))
            await until_task_waits(waiting, connection)
            await keep_answer(connection, principal, held, answer=answer, secret=token.text)
        found = await waiting
    assert (found.status_code, found.json()) == (201, {"a": 1})
    assert (found.headers["location"], found.headers["idempotency-replayed"]) == ("/there", "true")
    assert runs_of(tenant) == 0


@pytest.mark.parametrize("body", [{}, {"experiment": "study"}])
async def test_who_waits_for_long_is_told_so_and_the_key_is_free_when_the_first_has_failed(
    app: Litestar, database: Database, tenant: Tenant, body: dict[str, Any]
) -> None:
    token, headers = give_token(tenant, Scope.WRITE), {"Idempotency-Key": "one"}
    principal = await authenticate(database, token.text)
    async with client_of(app, token.text) as client:
        await client.post("/v1/experiments", json={"name": "study"})
        async with database.transaction(principal.reach) as connection:
            held = RequestKey("one", b"")
            await claim_key(connection, principal, held, secret=token.text)
            answer = await client.post("/v1/runs", json=body, headers=headers)
            await connection.execute("rollback")
        assert (answer.status_code, answer.json()["code"]) == (409, "STATE_CONFLICT")
        assert "'one' is under way" in answer.json()["detail"]
        made = await client.post("/v1/runs", json=body, headers=headers)
    assert made.status_code == 201
    assert "idempotency-replayed" not in made.headers


async def test_a_key_without_an_answer_cannot_be_kept(tenant: Tenant) -> None:
    statement = (
        "insert into mapi.idempotency_keys (tenant_id, principal, key, request_hash, status)"
        " values (%s, 'p', 'k', 'h', %s)"
    )
    with pytest.raises(psycopg.errors.NotNullViolation):
        value_of(tenant, statement, tenant.id, None)
    with pytest.raises(psycopg.errors.CheckViolation):
        value_of(tenant, statement, tenant.id, 201)


def test_an_answer_that_is_kept_is_not_written_over(tenant: Tenant) -> None:
    """Whoever claims a key is given the answer; to come here without that is a mistake of ours."""
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute("select set_config('mapi.tenant', %s, true)", [str(tenant.id)])
        keep = "select mapi.keep_key('p', 'k', 'h', 201, 'body', null)"
        connection.execute(keep)
        connection.execute(
            "update mapi.idempotency_keys set created = now() - interval '25 hours'"
            " where tenant_id = %s",
            [tenant.id],
        )
        connection.execute(keep)
        with pytest.raises(psycopg.errors.AssertFailure, match="is held"):
            connection.execute(keep)


async def test_a_failed_request_does_not_use_its_key_up(app: Litestar, tenant: Tenant) -> None:
    token, headers = give_token(tenant, Scope.WRITE), key()
    async with client_of(app, token.text) as client:
        assert (await client.post("/v1/runs", json={"x": 1}, headers=headers)).status_code == 422
        assert (await client.post("/v1/runs", json={}, headers=headers)).status_code == 201


async def test_a_key_belongs_to_its_token_and_is_free_after_a_day(
    app: Litestar, tenant: Tenant, database: Database
) -> None:
    headers = key()
    one, other = give_token(tenant, Scope.WRITE), give_token(tenant, Scope.WRITE)
    for token in (one, other):
        async with client_of(app, token.text) as client:
            await client.post("/v1/runs", json={}, headers=headers)
    assert runs_of(tenant) == 2
    value_of(
        tenant,
        "update mapi.idempotency_keys set created = now() - interval '25 hours'"
        " where tenant_id = %s",
        tenant.id,
    )
    async with client_of(app, one.text) as client:
        answer = await client.post("/v1/runs", json={"name": "other"}, headers=headers)
    assert answer.status_code == 201
    # Of the other's, which is old too, the housekeeping rids us.
    assert await delete_old_keys(database, tenant.reach) == 1
    assert await delete_old_keys(database, tenant.reach) == 0
    kept = value_of(
        tenant, "select count(*) from mapi.idempotency_keys where tenant_id = %s", tenant.id
    )
    assert kept == 1
    async with client_of(app, one.text) as client:
        again = await client.post("/v1/runs", json={"name": "other"}, headers=headers)
    assert again.json()["id"] == answer.json()["id"]


async def test_a_kept_answer_is_sealed_with_the_callers_token(
    app: Litestar, tenant: Tenant
) -> None:
    admin, headers = give_token(tenant, Scope.ADMIN), key()
    body = {"name": "a", "scopes": ["runs:read"]}
    async with client_of(app, admin.text) as client:
        made = await client.post("/v1/tokens", json=body, headers=headers)
        again = await client.post("/v1/tokens", json=body, headers=headers)
    assert made.json() == again.json()
    stored = value_of(
        tenant, "select body from mapi.idempotency_keys where tenant_id = %s", tenant.id
    )
    assert made.json()["token"].encode() not in stored
    assert b"runs:read" not in stored


@pytest.mark.parametrize("bad", ["a" * 256, "\x01", ""])
async def test_a_key_that_is_none_is_refused(app: Litestar, tenant: Tenant, bad: str) -> None:
    async with client_of(app, give_token(tenant, Scope.WRITE).text) as client:
        answer = await client.post("/v1/runs", json={}, headers={"Idempotency-Key": bad})
    assert answer.status_code == 422
    assert runs_of(tenant) == 0
