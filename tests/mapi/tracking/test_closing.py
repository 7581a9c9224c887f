"""A project that is deleted while others write into it: it ends, and leaves nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.mapi.blocking import until_waited_for
from tests.mapi.callers import make_caller
from tests.mapi.importing import bring_in, exported
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import value_of

from mapi.access.rights import Principal
from mapi.api.app import build_app
from mapi.tracking.changes import Changes
from mapi.tracking.closing import delete_project
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database
    from mapi.tracking.freed import Freed

pytestmark = pytest.mark.anyio

_POINTS_OF_NOBODY = (
    "select count(*) from mapi.run_metric_points as point where point.tenant_id = %s and not exists"
    " (select from mapi.run_series as series where series.tenant_id = point.tenant_id"
    " and series.id = point.series_id)"
)


@pytest.fixture
def caller(database: Database, tenant: Tenant) -> Caller:
    changes = Changes(database, None)
    changes.end_streams()
    app = build_app(database, version="0", changes=changes, objects=temporary_objects())
    return make_caller(app, tenant)


async def delete(database: Database, tenant: Tenant) -> Freed:
    return await delete_project(
        database,
        temporary_objects()[0],
        tenant.reach,
        project_id=tenant.project_id,
        principal=Principal(tenant.id, "root", "", frozenset({Scope.ADMIN})),
    )


def close(tenant: Tenant) -> None:
    value_of(tenant, "update mapi.projects set closed = now() where id = %s", tenant.project_id)


def left_of(tenant: Tenant) -> tuple[int, int, int]:
    """Return how many projects and runs there are, and points of no series."""
    return (
        value_of(tenant, "select count(*) from mapi.projects where tenant_id = %s", tenant.id),
        value_of(tenant, "select count(*) from mapi.runs where tenant_id = %s", tenant.id),
        value_of(tenant, _POINTS_OF_NOBODY, tenant.id),
    )


@pytest.mark.parametrize(
    "sent",
    [{}, {"project": "default"}, {"external_id": "new"}, {"kind": "fit", "spec": {}}],
    ids=["bare", "named", "external", "executed"],
)
@pytest.mark.parametrize("key", [{}, {"Idempotency-Key": "k"}], ids=["plain", "keyed"])
async def test_a_closed_project_takes_no_new_run(
    caller: Caller, tenant: Tenant, sent: dict[str, Any], key: dict[str, str]
) -> None:
    first = await caller.make_run(external_id="first")
    close(tenant)
    for _ in range(2):
        answer = await caller.send("POST", "/v1/runs", json=sent, status=409, headers=key)
        assert "is being deleted" in answer.json()["detail"]
    # What is there can be read and ended until it goes.
    assert (await caller.get("/v1/runs"))["runs"][0]["id"] == first
    again = await caller.post("/v1/runs", {"external_id": "first"}, status=200)
    assert again["id"] == first
    await caller.log(first, "loss", [1.0])


async def test_a_closed_project_takes_no_runs_of_a_file(
    caller: Caller, tenant: Tenant, database: Database
) -> None:
    run = await caller.make_run()
    lines = await exported(caller)
    await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    await caller.send("POST", f"/v1/runs/{run}/purge", status=200)
    close(tenant)
    answer = await bring_in(caller, lines, status=409)
    assert "is being deleted" in answer["detail"]
    assert (await delete(database, tenant)).purged_runs == 0
    assert left_of(tenant) == (0, 0, 0)


async def test_a_run_that_comes_in_behind_the_last_look_goes_with_its_points(
    tenant: Tenant, database: Database
) -> None:
    """A request that had found the project before it was closed, and commits when it seems empty."""
    with psycopg.connect(tenant.server.superuser_url()) as writer:
        writer.execute("select set_config('mapi.tenant', %s, false)", [str(tenant.id)])
        writer.execute(
            "insert into mapi.runs (tenant_id, id, project_id, kind, status)"
            " values (%s, gen_random_uuid(), %s, 'external', 'running')",
            [tenant.id, tenant.project_id],
        )
        writer.execute(
            "with made as (insert into mapi.run_series"
            " (tenant_id, run_id, key, labels, labels_hash, attempt, source)"
            " select tenant_id, id, 'loss', '{}', 0, 1, 'api' from mapi.runs"
            " where tenant_id = %s returning tenant_id, id)"
            " insert into mapi.run_metric_points (tenant_id, series_id, step, time, value)"
            " select tenant_id, id, 0, now(), 1 from made",
            [tenant.id],
        )
        deleting = asyncio.create_task(delete(database, tenant))
        await until_waited_for(writer)
        writer.commit()
    freed = await deleting
    assert (freed.purged_runs, freed.points) == (1, 1)
    assert left_of(tenant) == (0, 0, 0)


async def test_writers_without_end_do_not_hold_up_a_deletion(
    caller: Caller, tenant: Tenant, database: Database
) -> None:
    seen: set[int] = set()
    are_many = asyncio.Event()
    count = 0

    async def write() -> None:
        while True:
            answer = await caller.client.post("/v1/runs", headers=caller.headers, json={})
            seen.add(answer.status_code)
            if answer.status_code != 201:
                return
            nonlocal count
            count += 1
            if count == 8:
                are_many.set()
            run = answer.json()["id"]
            sent = {"series": [{"key": "a", "steps": [0, 1], "values": [1, 2]}]}
            answer = await caller.client.post(
                f"/v1/runs/{run}/metrics", headers=caller.headers, json=sent
            )
            seen.add(answer.status_code)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(write())
        await are_many.wait()
        freed = await delete(database, tenant)
    assert freed.purged_runs >= 8
    assert left_of(tenant) == (0, 0, 0)
    # Made and logged, or told that it goes or has gone; never that the server failed.
    assert seen <= {200, 201, 404, 409, 422}


async def test_two_deletions_of_one_project_delete_its_runs_once(
    caller: Caller, tenant: Tenant, database: Database
) -> None:
    for _ in range(12):
        await caller.make_run()
    found = await asyncio.gather(delete(database, tenant), delete(database, tenant))
    assert sum(one.purged_runs for one in found) == 12
    assert left_of(tenant) == (0, 0, 0)
