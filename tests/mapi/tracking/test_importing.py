"""An import that was cut is completed by the same file, with the same end as one that was not."""

from __future__ import annotations

import io
import json
import time
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from tests.mapi.callers import make_caller
from tests.mapi.cutting import CutDatabase, Fuse, KilledError
from tests.mapi.pruning import prune
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants import make_tenant
from tests.mapi.tenants_access import value_of

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.app import build_app
from mapi.tracking.changes import Changes
from mapi.tracking.importing import import_file
from mapi.tracking.writing import WRITERS_MAX
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio

OLD = "2026-11-01T03:04:05.678901Z"
#: More than one transaction takes.
LINES = 501
#: Of two families of budgets, and the one that was hit first is not the first of the words.
DROPPED = {
    "counts": {"points": 7, "series": 2, "tags": 1, "media_bytes": 3},
    "first": {"TRACKING_BUDGET": "tags", "MEDIA_BUDGET": "media_bytes"},
}
#: What says how long a run, or a part of it, has been here, or whose it is.
VOLATILE = ("project", "etag", "user", "duration_seconds", "version")


@pytest.fixture
def app(database: Database) -> Litestar:
    changes = Changes(database, None)
    changes.end_streams()
    return build_app(database, version="0", objects=temporary_objects(), changes=changes)


async def exported(caller: Caller) -> bytes:
    return (await caller.send("GET", "/v1/export/runs")).content


async def make_file(app: Litestar, database: Database, tenant: Tenant) -> bytes:
    """Return an export of runs with something of everything, older than the import of them."""
    caller = make_caller(app, tenant)
    await caller.post("/v1/experiments", {"name": "study", "description": "why"}, status=201)
    await caller.post("/v1/saved-views", {"name": "all", "experiment": "study"}, status=201)
    first = await caller.make_run(
        name="first",
        experiment="study",
        external_id="outside",
        params={"lr": 0.1, "net": "a"},
        tags={"stage": "done"},
        note="n",
    )
    path = f"/v1/runs/{first}"
    for number, from_step in ((1, None), (2, 3)):
        sent = {"number": number, "from_step": from_step}
        await caller.post(f"{path}/attempts", sent)
        await caller.log(first, "loss", [number + 0.5] * 5, start=number * 2, attempt=number)
    await caller.log(first, "final", [7.0], steps=[None])
    for at in range(0, LINES, 167):
        lines = [{"message": f"line {at + one}", "time": OLD} for one in range(167)]
        await caller.post(f"{path}/logs", {"lines": lines})
    spans = [{"name": f"a/{at}", "start_ns": 10**18 + at, "duration_ns": 5} for at in range(LINES)]
    await caller.post(f"{path}/spans", {"spans": spans})
    for name in ("config", "environment"):
        body = {"content": {"name": name}}
        await caller.send("PUT", f"{path}/{name}", json=body, status=204)
    await caller.send("PATCH", path, json={"status": "failed", "reason": "no luck"})
    second = await caller.make_run(name="second", parent=first, params={"lr": 0.2})
    for number in (1, 2):
        await caller.post(f"/v1/runs/{second}/attempts", {"number": number})
        await caller.log(second, "loss", [number, 2.5], start=number, attempt=number)
        await prune(database, tenant, uuid_from_text(RUN, second))
    await caller.send("PATCH", f"/v1/runs/{second}", json={"status": "succeeded"})
    retried = await caller.post(f"/v1/runs/{first}/retry", {}, status=201)
    await caller.send("PATCH", f"/v1/runs/{retried['id']}", json={"status": "succeeded"})
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "update mapi.runs set dropped = %s where tenant_id = %s and external_id = 'outside'",
            [Jsonb(DROPPED), tenant.id],
        )
        for table in ("run_params", "run_tags", "run_documents"):
            connection.execute(
                f"update mapi.{table} set time = %s where tenant_id = %s", [OLD, tenant.id]
            )
        # What several have written is imported in the name of each, in transactions of their own.
        connection.execute(
            "update mapi.run_series set user_name = 'another' where tenant_id = %s and attempt = 2",
            [tenant.id],
        )
    return await exported(caller)


def full_run(text: bytes) -> str:
    """Return the run of a file that has something of everything."""
    lines = map(json.loads, text.splitlines())
    found: str = next(line["run"] for line in lines if line["type"] == "log")
    return found


async def bring_in(door: Database, tenant: Tenant, text: bytes) -> None:
    principal = Principal(tenant.id, "who imports", "", frozenset({Scope.ADMIN}))
    # The runs of the file were made by the same clock just now.
    now_us = time.time_ns() // 1_000
    await import_file(door, principal, tenant.project_id, file=io.BytesIO(text), now_us=now_us)


async def state_of(caller: Caller, text: bytes) -> dict[str, Any]:
    """Return all that a tenant shows of the runs of a file."""
    found: dict[str, Any] = {"export": await exported(caller)}
    for line in map(json.loads, text.splitlines()):
        if line["type"] != "run":
            continue
        for path in ("", "/metrics", "/writers", "/life"):
            answer = await caller.get(f"/v1/runs/{line['run']}{path}")
            found[line["run"] + path] = {
                name: value for name, value in answer.items() if name not in VOLATILE
            }
    return found


async def test_an_import_that_was_cut_anywhere_is_completed_by_the_same_file(
    app: Litestar, database: Database, database_url: str, tenant: Tenant, other_tenant: Tenant
) -> None:
    text = await make_file(app, database, tenant)
    await bring_in(database, other_tenant, text)
    whole = await state_of(make_caller(app, other_tenant), text)
    assert whole["export"] == text
    assert whole[full_run(text)]["dropped"] == DROPPED["counts"]
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        ((kept,),) = connection.execute(
            "select dropped from mapi.runs where tenant_id = %s and external_id = 'outside'",
            [other_tenant.id],
        ).fetchall()
    assert kept == DROPPED
    cuts = 0
    while True:
        place = make_tenant(tenant.server)
        fuse = Fuse(cuts)
        door = CutDatabase(database_url, fuse)
        await door.open()
        try:
            await bring_in(door, place, text)
        except KilledError:
            pass
        finally:
            await door.close()
        await bring_in(database, place, text)
        assert await state_of(make_caller(app, place), text) == whole, cuts
        if not fuse.is_burnt:
            break
        # A step of a transaction is behind its commit: the next one that is rolled back is the same.
        cuts += 2
    # Each of the lines that are written alone, and two portions of log lines and of spans.
    assert cuts > 40


async def test_lines_logged_behind_an_import_that_was_cut_do_not_stand_for_those_of_the_file(
    app: Litestar, database: Database, database_url: str, tenant: Tenant, other_tenant: Tenant
) -> None:
    text = await make_file(app, database, tenant)
    caller = make_caller(app, other_tenant)
    first = full_run(text)
    door = CutDatabase(database_url, Fuse(0))
    await door.open()
    try:
        cuts = 0
        # Up to where the run has been made, and nothing below it.
        while (await caller.client.get(f"/v1/runs/{first}", headers=caller.headers)).is_error:
            door.fuse = Fuse(cuts)
            cuts += 1
            with pytest.raises(KilledError):
                await bring_in(door, other_tenant, text)
    finally:
        await door.close()
    await caller.post(f"/v1/runs/{first}/logs", {"lines": [{"message": "between"}]})
    await bring_in(database, other_tenant, text)
    messages = [
        line["message"]
        for line in map(json.loads, (await exported(caller)).splitlines())
        if line["type"] == "log"
    ]
    assert messages == ["between", *(f"line {at}" for at in range(LINES))]


async def test_what_a_run_has_stays_as_it_is_and_what_it_lacks_has_the_times_of_the_file(
    app: Litestar, database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    text = await make_file(app, database, tenant)
    await bring_in(database, other_tenant, text)
    caller = make_caller(app, other_tenant)
    run = full_run(text)
    path = f"/v1/runs/{run}"
    await caller.send("PUT", f"{path}/config", json={"content": {"mine": 1}}, status=204)
    await caller.send("PUT", f"{path}/tags", json={"tags": {"stage": "mine"}})
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "delete from mapi.run_params where tenant_id = %s and key = 'net'", [other_tenant.id]
        )
        connection.execute(
            "delete from mapi.run_documents where tenant_id = %s and name = 'environment'",
            [other_tenant.id],
        )
    before = await caller.get(f"{path}/tags")
    await bring_in(database, other_tenant, text)
    assert await caller.get(f"{path}/tags") == before
    assert (await caller.get(f"{path}/config"))["content"] == {"mine": 1}
    assert (await caller.get(f"{path}/environment"))["content"] == {"name": "environment"}
    params = (await caller.get(f"{path}/params"))["params"]
    assert {key: one["time"] for key, one in params.items()} == dict.fromkeys(("lr", "net"), OLD)


async def test_a_run_that_was_logged_here_keeps_its_lines_whatever_its_writers_and_how_many(
    app: Litestar, database: Database, tenant: Tenant
) -> None:
    """No name of a writer makes a run one that an import has made, and no number of them keeps a file out."""
    caller = make_caller(app, tenant)
    run = await caller.make_run()
    sent = {"lines": [{"message": "one"}], "writer": "import: run", "seq": 0}
    await caller.post(f"/v1/runs/{run}/logs", sent)
    text = await exported(caller)
    value_of(
        tenant,
        "insert into mapi.run_writers (tenant_id, run_id, writer, seq)"
        " select %s, %s, 'w' || number, 0 from generate_series(1, %s) as number",
        tenant.id,
        uuid_from_text(RUN, run),
        WRITERS_MAX,
    )
    for _ in range(2):
        await bring_in(database, tenant, text)
        assert [one["message"] for one in (await caller.get(f"/v1/runs/{run}/logs"))["lines"]] == [
            "one"
        ]
