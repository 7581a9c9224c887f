"""`GET /v1/retention` tells its admins what a pass would delete, and what each rule keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.mapi.callers import Caller, client_of, make_caller
from tests.mapi.tenants_access import make_person, value_of
from tests.mapi.tracking.test_retention import STRICT, age, make_old

from mapi.api.app import build_app
from mapi.api.entrance import Entrance
from mapi.config import settings_from
from mapi.serve.command import entrance_of
from mapi.tracking.changes import Changes
from mapi.tracking.freed import Retention
from mapi.tracking.keeping import add_rule, list_rules
from mapi.tracking.retention import apply
from mapi.wire.enums import Role

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database
    from mapi.objects.permits import UploadPermits
    from mapi.objects.store import ObjectStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def strict(database: Database, objects: tuple[ObjectStore, UploadPermits]) -> Litestar:
    """An application that keeps hardly anything."""
    changes = Changes(database, None)
    changes.end_streams()
    entrance = Entrance(retention=STRICT)
    return build_app(database, version="0", changes=changes, objects=objects, entrance=entrance)


def make_project(tenant: Tenant, name: str) -> int:
    found: int = value_of(
        tenant,
        "insert into mapi.projects (tenant_id, name) values (%s, %s) returning id",
        tenant.id,
        name,
    )
    return found


def move(tenant: Tenant, run: str, project_id: int) -> None:
    value_of(
        tenant,
        "update mapi.runs set project_id = %s where id = %s",
        project_id,
        run.removeprefix("run_"),
    )


def without_time(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "measured"}


async def test_what_is_told_is_what_the_next_pass_deletes(
    strict: Litestar,
    tenant: Tenant,
    database: Database,
    objects: tuple[ObjectStore, UploadPermits],
) -> None:
    caller = make_caller(strict, tenant)
    trashed, old, best, tagged = [await make_old(caller, tenant) for _ in range(4)]
    await caller.log(best, "score", [9.0], steps=[None])
    await caller.send("PUT", f"/v1/runs/{tagged}/tags", json={"tags": {"keep": "yes"}})
    for run in (best, tagged):
        age(tenant, run)
    await caller.send("DELETE", f"/v1/runs/{trashed}", status=204)
    async with database.transaction(tenant.reach) as connection:
        project = tenant.project_id
        first = await add_rule(connection, project, filters="", sort="-metrics.score", best=3)
        await add_rule(connection, project, filters="tags.keep = yes", sort="", best=None)
        _, kept = await list_rules(connection)
    told = await caller.get("/v1/retention")
    assert [told[name] for name in ("trash_days", "tracking_days", "media_days")] == [0, 1, 1]
    assert told["rules"] == [
        {
            "number": first,
            "project": "default",
            "filter": "",
            "best": 3,
            "sort": "-metrics.score",
            "kept_runs": 1,
        },
        {
            "number": first + 1,
            "project": "default",
            "filter": kept.filter,
            "best": None,
            "sort": "",
            "kept_runs": 1,
        },
    ]
    # Telling deletes nothing.
    assert without_time(await caller.get("/v1/retention")) == without_time(told)
    done = await apply(database, objects[0], tenant.reach, retention=STRICT)
    (row,) = told["projects"]
    assert row == {
        "project": "default",
        "purged_runs": 1,
        "pruned_runs": 1,
        "kept_runs": 2,
        "points": done.points,
        "log_lines": 2,
        "spans": 2,
        "media_items": 2,
        "rows": done.rows,
        "size_bytes": done.size_bytes,
    }
    (after,) = (await caller.get("/v1/retention"))["projects"]
    assert (after["rows"], after["kept_runs"]) == (0, 2)
    assert (await caller.get(f"/v1/runs/{old}"))["pruned"] is not None


async def test_nothing_goes_for_its_age_unless_the_operator_says_so(
    caller: Caller, tenant: Tenant
) -> None:
    await make_old(caller, tenant, days=3_000)
    told = await caller.get("/v1/retention")
    assert without_time(told) == {
        "trash_days": 30,
        "tracking_days": None,
        "media_days": None,
        "rules": [],
        "projects": [],
    }
    for environment, known in (
        ({}, Retention()),
        (
            {"MAPI_TRACKING_RETENTION_DAYS": "90", "MAPI_MEDIA_RETENTION_DAYS": "30"},
            Retention(30, 90, 30),
        ),
    ):
        entrance = entrance_of(settings_from(environment), host="127.0.0.1", secret=b"")
        assert entrance.retention == known


async def test_it_is_told_to_admins_of_their_projects(
    strict: Litestar, tenant: Tenant, other_tenant: Tenant, database: Database
) -> None:
    caller = make_caller(strict, tenant)
    elsewhere = make_project(tenant, "elsewhere")
    await make_old(caller, tenant)
    move(tenant, await make_old(caller, tenant), elsewhere)
    async with database.transaction(tenant.reach) as connection:
        for project in (tenant.project_id, elsewhere):
            await add_rule(connection, project, filters="tags.stage = done", sort="", best=None)
    for token, seen in (
        (caller.token, ["default", "elsewhere"]),
        (make_person(tenant, Role.ADMIN).token, ["default", "elsewhere"]),
        (make_person(tenant, Role.ADMIN, project_id=elsewhere).token, ["elsewhere"]),
        (make_caller(strict, tenant, project_id=elsewhere).token, ["elsewhere"]),
        (make_caller(strict, other_tenant).token, []),
    ):
        async with client_of(strict, token) as client:
            told = (await client.get("/v1/retention")).json()
        assert [one["project"] for one in told["projects"]] == seen
        assert [one["project"] for one in told["rules"]] == seen
    for token in (
        make_person(tenant, Role.RUNNER).token,
        make_person(tenant, Role.VIEWER, project_id=elsewhere).token,
        make_caller(strict, tenant, scopes=["runs:write"]).token,
    ):
        async with client_of(strict, token) as client:
            assert (await client.get("/v1/retention")).status_code == 403


async def test_who_is_admin_here_and_viewer_there_is_told_of_here(
    strict: Litestar, tenant: Tenant
) -> None:
    caller = make_caller(strict, tenant)
    elsewhere = make_project(tenant, "elsewhere")
    await make_old(caller, tenant)
    move(tenant, await make_old(caller, tenant), elsewhere)
    person = make_person(tenant, Role.VIEWER, project_id=elsewhere)
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "insert into mapi.members (tenant_id, user_id, project_id, role)"
            " values (%s, %s, %s, 'admin')",
            [tenant.id, person.user_id, tenant.project_id],
        )
    async with client_of(strict, person.token) as client:
        told = (await client.get("/v1/retention")).json()
        seen = (await client.get("/v1/usage")).json()
    assert [one["project"] for one in told["projects"]] == ["default"]
    assert [one["project"] for one in seen["projects"]] == ["default", "elsewhere"]
