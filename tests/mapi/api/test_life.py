"""What a patch changes, the trash, and signs of life."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.mapi.callers import Caller, client_of
from tests.mapi.tenants_access import make_person, set_limits

from mapi.database.queries import query
from mapi.tracking.heartbeat import find_lost
from mapi.wire.enums import Role

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio

MERGE = {"Content-Type": "application/merge-patch+json"}


async def patch(caller: Caller, run: str, body: Any, *, status: int = 200, **kwargs: Any) -> Any:
    answer = await caller.send("PATCH", f"/v1/runs/{run}", status=status, json=body, **kwargs)
    return answer.json()


async def test_a_patch_changes_what_it_names_and_null_empties(caller: Caller) -> None:
    run = await caller.make_run(name="before", note="n")
    first = await caller.get(f"/v1/runs/{run}")
    found = await patch(caller, run, {"name": "é" * 200}, headers=MERGE)
    assert (found["name"], found["note"]) == ("é" * 200, "n")
    assert found["etag"] != first["etag"]
    found = await patch(caller, run, {"name": None, "note": "x" * 20_000})
    assert (found["name"], len(found["note"])) == ("", 20_000)
    again = await patch(caller, run, {"name": None})
    assert again["etag"] == found["etag"]


WRONG: list[tuple[Any, str]] = [
    ({"name": "x" * 201}, "/name"),
    ({"note": "x" * 20_001}, "/note"),
    ({"name": "a\x00b"}, "/name"),
    ({"names": "x"}, "/names"),
    ({"status": "done"}, "/status"),
    ({"status": None}, "/status"),
    ({"status": "queued"}, "/status"),
    ({"finished": "2026-11-29T10:00:00Z"}, "/finished"),
    ({"status": "failed", "finished": "2026-11-29T10:00:00"}, "/finished"),
    ({"status": "failed", "finished": "2020-01-01T00:00:00Z"}, "/finished"),
    ({"status": "failed", "finished": "2999-01-01T00:00:00Z"}, "/finished"),
    ({"experiment": "none of ours"}, "/experiment"),
    ({"experiment": ""}, "/experiment"),
    ([], ""),
]


@pytest.mark.parametrize(("body", "pointer"), WRONG, ids=str)
async def test_a_wrong_patch_is_told_where_and_changes_nothing(
    caller: Caller, body: Any, pointer: str
) -> None:
    run = await caller.make_run(name="before", started="2026-11-29T00:00:00Z")
    before = await caller.get(f"/v1/runs/{run}")
    problem = await patch(caller, run, body, status=422)
    assert problem["errors"][0]["pointer"] == pointer
    after = await caller.get(f"/v1/runs/{run}")
    assert after["etag"] == before["etag"]


async def test_two_editors_do_not_undo_each_other(caller: Caller) -> None:
    run = await caller.make_run()
    etag = (await caller.get(f"/v1/runs/{run}"))["etag"]
    await patch(caller, run, {"name": "mine"}, headers={"If-Match": etag})
    for stale in (etag, f"W/{etag}", "", 'W/"2"', '"x", "y"'):
        problem = await patch(
            caller, run, {"name": "yours"}, status=412, headers={"If-Match": stale}
        )
        assert problem["code"] == "PRECONDITION_FAILED"
    await caller.send("DELETE", f"/v1/runs/{run}", status=412, headers={"If-Match": etag})
    found = await patch(caller, run, {"name": "both"}, headers={"If-Match": f'"0", {etag}, *'})
    assert found["name"] == "both"


async def test_a_run_that_is_known_is_not_sent_again(caller: Caller) -> None:
    run = await caller.make_run()
    etag = (await caller.send("GET", f"/v1/runs/{run}")).headers["etag"]
    await caller.send("GET", f"/v1/runs/{run}", status=304, headers={"If-None-Match": f"W/{etag}"})
    await caller.log(run, "loss", [1.0])
    await caller.send("GET", f"/v1/runs/{run}", status=304, headers={"If-None-Match": etag})
    await patch(caller, run, {"note": "new"})
    await caller.send("GET", f"/v1/runs/{run}", headers={"If-None-Match": etag})


async def test_a_status_ends_a_run_and_takes_it_up_again(caller: Caller) -> None:
    run = await caller.make_run(started="2026-11-29T00:00:00Z")
    found = await patch(
        caller, run, {"status": "failed", "reason": "signal", "finished": "2026-11-29T01:00:00Z"}
    )
    assert (found["status"], found["reason"], found["duration_seconds"]) == (
        "failed",
        "signal",
        3_600.0,
    )
    found = await patch(caller, run, {"finished": "2026-11-29T02:00:00Z"})
    assert found["duration_seconds"] == 7_200.0
    found = await patch(caller, run, {"status": "running"})
    # The reason was the end's.
    assert (found["finished"], found["reason"]) == (None, None)
    await patch(caller, run, {"reason": "about to end"})
    found = await patch(caller, run, {"status": "failed"})
    assert found["reason"] == "about to end"
    found = await patch(caller, run, {"status": "succeeded"})
    assert found["reason"] is None
    assert found["finished"] is not None
    await caller.log(run, "kpi", [1.0])
    assert (await caller.get(f"/v1/runs/{run}"))["status"] == "succeeded"


async def test_an_executed_run_takes_no_status_from_a_client(
    caller: Caller, tenant: Tenant
) -> None:
    run = await caller.make_run()
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute("update mapi.runs set kind = 'fit' where id = %s", [run[4:]])
    problem = await patch(caller, run, {"status": "failed"}, status=409)
    assert problem["code"] == "STATE_CONFLICT"
    await patch(caller, run, {"name": "its name is a client's to say"})


async def test_a_run_moves_between_experiments_but_into_no_archived_one(
    caller: Caller, tenant: Tenant
) -> None:
    run = await caller.make_run()
    ids = {name: uuid.uuid4() for name in ("open", "archived")}
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        for name, found in ids.items():
            connection.execute(
                "insert into mapi.experiments (tenant_id, id, project_id, name, archived)"
                " values (%s, %s, %s, %s, case when %s = 'archived' then now() end)",
                [tenant.id, found, tenant.project_id, name, name],
            )
    wanted = f"exp_{ids['open']}"
    assert (await patch(caller, run, {"experiment": "open"}))["experiment"] == wanted
    assert (await patch(caller, run, {"experiment": None}))["experiment"] is None
    assert (await patch(caller, run, {"experiment": wanted}))["experiment"] == wanted
    await patch(caller, run, {"experiment": "archived"}, status=409)
    await patch(caller, run, {"experiment": f"exp_{uuid.uuid4()}"}, status=422)


async def test_the_trash_gives_back_what_it_took(caller: Caller) -> None:
    run = await caller.make_run(name="kept")
    await caller.log(run, "loss", [1.0])
    for _ in range(2):
        await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    assert (await caller.get(f"/v1/runs/{run}"))["trashed"] is not None
    await patch(caller, run, {"name": "x"}, status=409)
    await caller.post(f"/v1/runs/{run}/restore", None)
    found = await caller.post(f"/v1/runs/{run}/restore", None)
    assert (found["name"], found["trashed"]) == ("kept", None)
    assert (await caller.get(f"/v1/runs/{run}/metrics"))["series"][0]["count"] == 1


async def test_only_writers_of_the_tenant_change_a_run(
    caller: Caller, stranger: Caller, viewer: Caller
) -> None:
    run = await caller.make_run()
    for method, path in (
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/restore"),
        ("POST", "/heartbeat"),
    ):
        for who, status in ((stranger, 404), (viewer, 403)):
            await who.send(method, f"/v1/runs/{run}{path}", status=status, json={})


def silent(tenant: Tenant, run: str, seconds: int) -> None:
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "update mapi.runs set heartbeat = now() - make_interval(secs => %s) where id = %s",
            [seconds, run[4:]],
        )


async def test_a_silent_run_is_lost_and_runs_again_when_it_speaks(
    caller: Caller, tenant: Tenant, database: Database
) -> None:
    runs = [await caller.make_run() for _ in range(5)]
    done, beating, writing, lively, tagged = runs
    await patch(caller, done, {"status": "succeeded"})
    for run in (done, beating, writing, tagged):
        silent(tenant, run, 61)
    silent(tenant, lively, 30)
    found = await find_lost(database, timeout_seconds=60)
    mine = {str(run_id) for tenant_id, _, run_id in found if tenant_id == tenant.id}
    assert mine == {beating[4:], writing[4:], tagged[4:]}
    lost = await caller.get(f"/v1/runs/{beating}")
    assert lost["status"] == "lost"
    assert "60 seconds" in lost["reason"]
    beat = await caller.post(f"/v1/runs/{beating}/heartbeat", None)
    assert beat == {"status": "running", "due_seconds": 15.0}
    await caller.log(writing, "loss", [1.0])
    for run in (beating, writing):
        assert (await caller.get(f"/v1/runs/{run}"))["status"] == "running"
    beat = await caller.post(f"/v1/runs/{done}/heartbeat", None)
    assert beat["status"] == "succeeded"
    assert [
        one for one in await find_lost(database, timeout_seconds=60) if one[0] == tenant.id
    ] == []


async def test_one_replica_at_a_time_looks_for_lost_runs(
    caller: Caller, tenant: Tenant, database: Database
) -> None:
    runs = [await caller.make_run() for _ in range(5)]
    for run in runs:
        silent(tenant, run, 61)
    found = await asyncio.gather(*(find_lost(database, timeout_seconds=60) for _ in range(2)))
    mine = [str(one[2]) for part in found for one in part if one[0] == tenant.id]
    assert sorted(mine) == sorted(run[4:] for run in runs)


async def set_status(tenant: Tenant, run: str, status: str, kind: str = "external") -> None:
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "update mapi.runs set status = %s, kind = %s where id = %s", [status, kind, run[4:]]
        )


@pytest.mark.parametrize("status", ["queued", "starting", "running", "lost"])
@pytest.mark.parametrize("kind", ["external", "fit"])
async def test_a_run_that_goes_on_is_cancelled_once(
    caller: Caller, tenant: Tenant, status: str, kind: str
) -> None:
    run = await caller.make_run(name="a", note="n")
    await set_status(tenant, run, status, kind)
    found = await caller.post(f"/v1/runs/{run}/cancel", {})
    assert (found["status"], found["reason"]) == ("cancelled", "cancelled by test")
    assert (found["name"], found["note"]) == ("a", "n")
    assert found["finished"] is not None
    assert await caller.post(f"/v1/runs/{run}/cancel", {}) == found
    # The program that logs it hears of it, and what it still has to say is taken.
    assert (await caller.post(f"/v1/runs/{run}/heartbeat", {}))["status"] == "cancelled"
    await caller.log(run, "loss", [1.0])
    assert (await caller.get(f"/v1/runs/{run}"))["status"] == "cancelled"


@pytest.mark.parametrize("status", ["succeeded", "failed", "lost"])
async def test_the_end_of_a_program_that_had_not_heard_replaces_no_cancellation(
    caller: Caller, status: str
) -> None:
    run = await caller.make_run(name="a")
    found = await caller.post(f"/v1/runs/{run}/cancel", {})
    for _ in range(2):
        sent = {"status": status, "reason": "done", "name": "b"}
        answer = await caller.send("PATCH", f"/v1/runs/{run}", status=409, json=sent)
        problem = answer.json()
        assert problem["code"] == "STATE_CONFLICT"
        assert problem["errors"][0]["pointer"] == "/status"
        assert "cancelled by test" in problem["detail"]
        assert await caller.get(f"/v1/runs/{run}") == found
    # The same again is no change; what is no other end is free; who means it says so.
    assert await patch(caller, run, {"status": "cancelled"}) == found
    assert (await patch(caller, run, {"name": "b"}))["status"] == "cancelled"
    assert (await patch(caller, run, {"status": "running"}))["reason"] is None
    assert (await patch(caller, run, {"status": status}))["status"] == status


@pytest.mark.parametrize("status", ["succeeded", "failed"])
async def test_a_run_that_has_ended_is_not_cancelled(
    caller: Caller, tenant: Tenant, status: str
) -> None:
    run = await caller.make_run()
    await set_status(tenant, run, status)
    problem = await caller.post(f"/v1/runs/{run}/cancel", {}, status=409)
    assert problem["code"] == "STATE_CONFLICT"
    assert (await caller.get(f"/v1/runs/{run}"))["status"] == status


async def test_a_cancel_of_another_version_or_in_the_trash_changes_nothing(
    caller: Caller,
) -> None:
    run = await caller.make_run()
    etag = (await caller.get(f"/v1/runs/{run}"))["etag"]
    await patch(caller, run, {"name": "a"})
    await caller.post(f"/v1/runs/{run}/cancel", {}, status=412, headers={"If-Match": etag})
    await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    for action in ("cancel", "retry"):
        problem = await caller.post(f"/v1/runs/{run}/{action}", {}, status=409)
        assert "restore" in problem["detail"]
    assert (await caller.get(f"/v1/runs/{run}"))["status"] == "running"


async def test_a_retry_is_a_new_run_in_the_same_place(caller: Caller) -> None:
    await caller.post("/v1/experiments", {"name": "study"}, status=201)
    mother = await caller.make_run()
    run = await caller.make_run(
        name="a",
        note="n",
        tags={"team": "ads"},
        params={"lr": 1},
        parent=mother,
        experiment="study",
        external_id="mine",
    )
    await caller.log(run, "loss", [1.0])
    await patch(caller, run, {"status": "failed"})
    again = await caller.post(f"/v1/runs/{run}/retry", {}, status=201)
    first = await caller.get(f"/v1/runs/{run}")
    assert again["id"] != run
    assert (again["retry_of"], first["retry_of"]) == (run, None)
    for name in ("kind", "name", "note", "parent", "experiment", "project"):
        assert again[name] == first[name], name
    assert (again["status"], again["external_id"], again["finished"]) == ("running", None, None)
    assert first["status"] == "failed"
    where = f"/v1/runs/{again['id']}"
    assert (await caller.get(f"{where}/tags"))["tags"] == {"team": "ads"}
    assert (await caller.get(f"{where}/params"))["params"] == {}
    assert (await caller.get(f"{where}/metrics"))["series"] == []
    await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    await caller.post(f"/v1/runs/{run}/purge", {})
    assert (await caller.get(where))["retry_of"] is None


async def test_a_retry_of_what_is_executed_waits_for_a_runner(
    caller: Caller, tenant: Tenant
) -> None:
    spec = {"kind": "Fit", "model": "mmm"}
    run = await caller.make_run(spec=spec)
    await set_status(tenant, run, "failed", "fit")
    again = await caller.post(f"/v1/runs/{run}/retry", {}, status=201)
    assert (again["spec"], again["status"], again["started"]) == (spec, "queued", None)


async def test_a_retry_waits_for_the_end_of_the_run(caller: Caller, tenant: Tenant) -> None:
    run = await caller.make_run()
    for status in ("queued", "starting", "running"):
        await set_status(tenant, run, status)
        problem = await caller.post(f"/v1/runs/{run}/retry", {}, status=409)
        assert problem["code"] == "STATE_CONFLICT"
    for status in ("lost", "succeeded", "failed", "cancelled"):
        await set_status(tenant, run, status)
        await caller.post(f"/v1/runs/{run}/retry", {}, status=201)


async def test_an_archived_experiment_takes_no_retry(caller: Caller) -> None:
    experiment = await caller.post("/v1/experiments", {"name": "study"}, status=201)
    run = await caller.make_run(experiment="study")
    await patch(caller, run, {"status": "failed"})
    await caller.post(f"/v1/experiments/{experiment['id']}/archive", {})
    problem = await caller.post(f"/v1/runs/{run}/retry", {}, status=409)
    assert problem["code"] == "STATE_CONFLICT"
    assert "'study' is archived" in problem["detail"]
    assert len((await caller.get("/v1/runs"))["runs"]) == 1
    await caller.post(f"/v1/experiments/{experiment['id']}/unarchive", {})
    again = await caller.post(f"/v1/runs/{run}/retry", {}, status=201)
    assert again["experiment"] == experiment["id"]


async def test_a_retry_that_is_sent_again_is_made_once(caller: Caller) -> None:
    run = await caller.make_run()
    await patch(caller, run, {"status": "failed"})
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    made = [
        (await caller.post(f"/v1/runs/{run}/retry", {}, status=201, headers=headers))["id"]
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert len((await caller.get("/v1/runs"))["runs"]) == 2


async def test_the_trash_and_back_and_a_deleted_tag_stand_in_the_audit_once(
    caller: Caller,
) -> None:
    run = await caller.make_run(tags={"stage": "done"})
    before = len((await caller.get("/v1/audit"))["entries"])
    await caller.send("DELETE", f"/v1/runs/{run}/tags/stage", status=204)
    await caller.send("DELETE", f"/v1/runs/{run}/tags/stage", status=404)
    for _ in range(2):
        await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    for _ in range(2):
        await caller.post(f"/v1/runs/{run}/restore", None)
    entries = (await caller.get("/v1/audit"))["entries"]
    entries = entries[: len(entries) - before]
    assert [(one["action"], one["object"]) for one in entries] == [
        ("run.restore", run),
        ("run.trash", run),
        ("tag.delete", run),
    ]
    assert entries[-1]["fields"] == {"key": "stage", "text": "done"}
    assert len({one["principal"] for one in entries}) == 1


async def happened(caller: Caller, run: str) -> list[tuple[Any, ...]]:
    found = (await caller.get(f"/v1/runs/{run}/life"))["entries"]
    return [(one["kind"], one["before"], one["after"]) for one in found]


async def test_what_happens_to_a_run_is_written_down_whoever_does_it(
    caller: Caller, tenant: Tenant, database: Database, app: Litestar
) -> None:
    study = (await caller.post("/v1/experiments", {"name": "study"}, status=201))["id"]
    run = await caller.make_run(name="a")
    assert await happened(caller, run) == []
    await patch(caller, run, {"name": "b", "note": "not told"})
    await patch(caller, run, {"experiment": "study"})
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "update mapi.runs set heartbeat = now() - interval '1 hour' where id = %s", [run[4:]]
        )
    await find_lost(database, timeout_seconds=60)
    await caller.log(run, "loss", [1.0])  # it is back
    person = make_person(tenant, Role.RUNNER)
    async with client_of(app) as client:
        await Caller(client, person.token).post(f"/v1/runs/{run}/cancel", {})
    await caller.send("DELETE", f"/v1/experiments/{study}", status=204)
    await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    await caller.post(f"/v1/runs/{run}/restore", {})
    assert await happened(caller, run) == [
        ("renamed", "a", "b"),
        ("moved", None, study),
        ("status", "running", "lost"),
        ("status", "lost", "running"),
        ("status", "running", "cancelled"),
        ("moved", study, None),
        ("trashed", None, None),
        ("restored", None, None),
    ]
    entries = (await caller.get(f"/v1/runs/{run}/life"))["entries"]
    assert [one["user"] for one in entries] == [
        *("test", "test", "", "test"),
        person.name,
        *("test", "test", "test"),
    ]
    assert entries[2]["reason"].startswith("It sent no heartbeat")
    assert (entries[3]["reason"], entries[4]["reason"]) == (None, f"cancelled by {person.name}")
    assert (await caller.get(f"/v1/runs/{run}"))["reason"] == f"cancelled by {person.name}"
    page = await caller.get(f"/v1/runs/{run}/life", params={"limit": 3})
    assert (page["entries"], page["is_complete"]) == (entries[:3], False)
    after = {"limit": 5, "after": entries[2]["id"]}
    page = await caller.get(f"/v1/runs/{run}/life", params=after)
    assert (page["entries"], page["is_complete"]) == (entries[3:], True)


async def test_warnings_are_part_of_the_life_of_a_run(caller: Caller, tenant: Tenant) -> None:
    set_limits(tenant, tags=1)
    run = await caller.make_run(tags={"a": "b"})
    sent = {"tags": {"c": "d"}}
    await caller.send("PUT", f"/v1/runs/{run}/tags", status=429, json=sent)
    (entry,) = (await caller.get(f"/v1/runs/{run}/life"))["entries"]
    assert (entry["kind"], entry["code"], entry["counts"]) == (
        "warning",
        "TRACKING_BUDGET",
        {"tags": 1},
    )
    assert entry["message"]


async def test_what_a_newer_version_wrote_into_a_life_is_passed_over(
    caller: Caller, tenant: Tenant
) -> None:
    run = await caller.make_run()
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "insert into mapi.run_events (tenant_id, run_id, type, message)"
            " values (%s, %s, 'from the future', 'm'), (%s, %s, 'status', 'm')",
            [tenant.id, run[4:], tenant.id, run[4:]],
        )
    assert await happened(caller, run) == [("status", None, None)]


async def test_of_a_long_life_the_newest_changes_are_kept_and_all_warnings(
    caller: Caller, tenant: Tenant
) -> None:
    run = await caller.make_run(name="first")
    number = run.removeprefix("run_")
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        for kind, count in (("warning", 2), ("renamed", 9_999)):
            connection.execute(
                "insert into mapi.run_events (tenant_id, run_id, type, message, fields, code)"
                " select %s, %s, %s, '', jsonb_build_object('from', 'a', 'to', 'b'), 'MEDIA_REJECTED'"
                " from generate_series(1, %s) as given",
                [tenant.id, number, kind, count],
            )
        connection.commit()
        newest = "select max(id) from mapi.run_events where run_id = %s"
        (last,) = connection.execute(newest, [number]).fetchone() or (0,)
        # Two changes at once: the last one that there is room for, and one that takes a place.
        await patch(caller, run, {"name": "second", "status": "succeeded"})
        entries = (await caller.get(f"/v1/runs/{run}/life", params={"after": last}))["entries"]
        assert sorted(one["kind"] for one in entries) == ["renamed", "status"]
        assert [one["id"] for one in entries] == [last + 1, last + 2]
        counts = "select type, count(*) from mapi.run_events where run_id = %s"
        found = connection.execute(f"{counts} group by type order by type", [number]).fetchall()
    kept: dict[str, int] = dict(found)
    assert kept == {"warning": 2, "renamed": 9_999, "status": 1}
    after = await caller.get(f"/v1/runs/{run}/life", params={"limit": 4})
    assert [one["kind"] for one in after["entries"]] == [
        "warning",
        "warning",
        "renamed",
        "renamed",
    ]


async def test_a_sign_of_life_looks_at_no_other_run(database: Database, tenant: Tenant) -> None:
    runs = [tenant.run() for _ in range(50)]
    async with database.transaction(tenant.reach) as connection:
        cursor = await connection.execute(
            b"explain (analyze, format json) " + query("life.beat").encode(), {"run": runs[7]}
        )
        ((found,),) = await cursor.fetchall()
    seen = []
    parts = [found[0]["Plan"]]
    while parts:
        part = parts.pop()
        parts += part.get("Plans", [])
        if "Scan" in part["Node Type"]:
            seen.append(part["Actual Rows"] + part.get("Rows Removed by Filter", 0))
    assert seen
    assert max(seen) <= 1
