"""What is deleted for good is gone, once, with its bytes; what searches ask for stays."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.mapi.api.media_calls import png, send
from tests.mapi.blocking import until_waited_for
from tests.mapi.callers import make_caller
from tests.mapi.tenants_access import value_of

from mapi.access.rights import Principal
from mapi.api.app import build_app
from mapi.errors import InvalidError, NotFoundError
from mapi.serve.housekeeping import tidy
from mapi.tracking.changes import Changes
from mapi.tracking.closing import delete_project
from mapi.tracking.compaction import compact
from mapi.tracking.foreseeing import foresee
from mapi.tracking.freed import Freed, Retention
from mapi.tracking.keeping import add_rule, list_rules, remove_rule
from mapi.tracking.leftovers import collect_leftovers
from mapi.tracking.retention import apply
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database
    from mapi.objects.permits import UploadPermits
    from mapi.objects.store import ObjectStore

pytestmark = pytest.mark.anyio

#: Everything that ended before today.
STRICT = Retention(trash_days=0, tracking_days=1, media_days=1)
SEARCHES = (
    "metrics.loss < 0.5",
    "metrics.loss.min <= 0.1 AND metrics.loss.count = 10",
    "params.lr = 0.1",
    "tags.stage = done",
    "name = old AND note ~ '*why*'",
    "metrics.final = 7",
)


@pytest.fixture
def caller(
    database: Database, tenant: Tenant, objects: tuple[ObjectStore, UploadPermits]
) -> Caller:
    changes = Changes(database, None)
    changes.end_streams()
    return make_caller(build_app(database, version="0", changes=changes, objects=objects), tenant)


async def make_old(caller: Caller, tenant: Tenant, *, days: int = 10) -> str:
    """Make a run with something of everything, which ended days ago."""
    run = await caller.make_run(
        name="old", note="the why", params={"lr": 0.1}, tags={"stage": "done"}
    )
    await caller.log(run, "loss", [1 / (step + 1) for step in range(10)])
    await caller.log(run, "final", [7.0], steps=[None])
    await caller.post(f"/v1/runs/{run}/logs", {"lines": [{"message": "a line"}]})
    await caller.post(
        f"/v1/runs/{run}/spans",
        {"spans": [{"name": "a", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 1_000}]},
    )
    await send(caller, run, png())
    await caller.send("PATCH", f"/v1/runs/{run}", json={"status": "succeeded"})
    age(tenant, run, days=days)
    return run


def age(tenant: Tenant, run: str, *, days: int = 10) -> None:
    """Let a run have ended days ago."""
    value_of(
        tenant,
        "update mapi.runs set finished = now() - make_interval(days => %s),"
        " heartbeat = now() - make_interval(days => %s) where id = %s",
        days,
        days,
        run.removeprefix("run_"),
    )


def rows_of(tenant: Tenant, run: str) -> dict[str, int]:
    number = run.removeprefix("run_")
    counts = {}
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        for table in (
            "run_series",
            "run_metric_summary",
            "run_params",
            "run_tags",
            "run_logs",
            "run_media",
            "run_events",
            "run_spans",
        ):
            row = connection.execute(
                f"select count(*) from mapi.{table} where run_id = %s",
                [number],
            ).fetchone()
            assert row is not None
            counts[table] = row[0]
        row = connection.execute(
            "select count(*) from mapi.run_metric_points where tenant_id = %s", [tenant.id]
        ).fetchone()
        assert row is not None
        counts["points"] = row[0]
    return counts


def kept(tmp_path: Path) -> int:
    return sum(one.is_file() for one in (tmp_path / "objects").rglob("*"))


async def summaries_of(caller: Caller, run: str) -> list[dict[str, Any]]:
    """Return what the summaries say of the series, but for what is gone of their points."""
    series = (await caller.get(f"/v1/runs/{run}/metrics"))["series"]
    return [{**one, "pruned": None} for one in series]


async def found_by(caller: Caller) -> list[list[str]]:
    pages = [await caller.get("/v1/runs", params={"filter": text}) for text in SEARCHES]
    return [[one["id"] for one in page["runs"]] for page in pages]


async def test_a_purged_run_leaves_no_row_and_no_object_and_tells_its_bytes(
    caller: Caller, tenant: Tenant, tmp_path: Path
) -> None:
    run = await make_old(caller, tenant)
    other = await make_old(caller, tenant)
    before = rows_of(tenant, other)
    await caller.post(f"/v1/runs/{run}/purge", None, status=409)
    await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    deleted = await caller.post(f"/v1/runs/{run}/purge", None)
    # The run, 11 points, a line, a span and an image.
    assert deleted["rows"] == 15
    assert deleted["freed_bytes"] > len(png())
    await caller.get(f"/v1/runs/{run}", status=404)
    assert set(rows_of(tenant, run).values()) == {0, 11}  # the other's points
    assert rows_of(tenant, other) == {**before, "points": 11}
    assert kept(tmp_path) == 1
    audit = await caller.get("/v1/audit")
    assert (audit["entries"][0]["action"], audit["entries"][0]["object"]) == ("run.purge", run)


async def test_searches_find_the_same_before_and_after_pruning(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    run = await make_old(caller, tenant)
    young = await caller.make_run(name="young")
    await caller.log(young, "loss", [0.4])
    before = await found_by(caller)
    assert all(run in ids for ids in before)
    summaries = await summaries_of(caller, run)
    freed = await apply(database, store, tenant.reach, retention=STRICT)
    assert (freed.pruned_runs, freed.points, freed.log_lines, freed.spans) == (1, 10, 1, 1)
    assert await found_by(caller) == before
    assert await summaries_of(caller, run) == summaries
    rows = rows_of(tenant, run)
    assert (rows["run_logs"], rows["run_spans"], rows["run_media"]) == (0, 0, 0)
    assert rows["points"] == 2  # the scalar, and the young run's
    entries = (await caller.get("/v1/audit"))["entries"][:2]
    assert [(one["action"], one["object"], one["fields"]["rows"]) for one in entries] == [
        ("media.prune", run, 1),
        ("run.prune", run, 12),
    ]
    assert entries[0]["fields"]["size_bytes"] == len(png())
    assert (await caller.get(f"/v1/runs/{young}/metrics/points?key=loss"))["points_total"] == 1
    assert await apply(database, store, tenant.reach, retention=STRICT) == Freed()


async def test_what_is_sent_again_to_a_pruned_run_is_a_duplicate_and_changes_no_summary(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    run = await make_old(caller, tenant)
    summaries = await summaries_of(caller, run)
    await apply(database, store, tenant.reach, retention=STRICT)
    again = await caller.log(run, "loss", [1 / (step + 1) for step in range(10)])
    assert (again["accepted"], again["duplicates"]) == (0, 10)
    assert await summaries_of(caller, run) == summaries
    late = await caller.log(run, "loss", [0.01], start=10)
    assert late["accepted"] == 1
    (series,) = (await caller.get(f"/v1/runs/{run}/metrics?key=loss"))["series"]
    assert (series["count"], series["last_value"], series["min_value"]) == (11, 0.01, 0.01)


async def test_lines_of_a_writer_do_not_come_back_behind_retention(
    database: Database, store: ObjectStore, caller: Caller, tenant: Tenant
) -> None:
    run = await make_old(caller, tenant)
    sent = {"writer": "laptop", "seq": 0, "lines": [{"message": "one"}, {"message": "two"}]}
    await caller.post(f"/v1/runs/{run}/logs", sent)
    spans = [{"name": "a", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 1_000}]
    await caller.post(f"/v1/runs/{run}/spans", {"writer": "spans", "seq": 0, "spans": spans})
    value_of(
        tenant,
        "update mapi.runs set heartbeat = finished where id = %s",
        run.removeprefix("run_"),
    )
    freed = await apply(database, store, tenant.reach, retention=Retention(tracking_days=1))
    assert freed.pruned_runs == 1
    assert rows_of(tenant, run)["run_logs"] == rows_of(tenant, run)["run_spans"] == 0
    writers = (await caller.get(f"/v1/runs/{run}/writers"))["writers"]
    assert {one["writer"]: one["seq"] for one in writers} == {"laptop": 1, "spans": 0}
    again = await caller.post(f"/v1/runs/{run}/logs", sent)
    assert (again["accepted"], again["duplicates"]) == (0, 2)
    again = await caller.post(
        f"/v1/runs/{run}/spans", {"writer": "spans", "seq": 0, "spans": spans}
    )
    assert (again["accepted"], again["duplicates"]) == (0, 1)
    assert rows_of(tenant, run)["run_logs"] == rows_of(tenant, run)["run_spans"] == 0


async def test_a_trial_says_what_would_be_deleted_and_deletes_nothing(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore, tmp_path: Path
) -> None:
    trashed, old = await make_old(caller, tenant), await make_old(caller, tenant)
    await caller.send("DELETE", f"/v1/runs/{trashed}", status=204)
    before = (rows_of(tenant, trashed), rows_of(tenant, old), kept(tmp_path))
    foreseen = await foresee(database, tenant.reach, retention=STRICT)
    assert (rows_of(tenant, trashed), rows_of(tenant, old), kept(tmp_path)) == before
    heard: list[int] = []
    done = await apply(database, store, tenant.reach, retention=STRICT, told=heard.append)
    assert done.purged_runs == done.pruned_runs == 1
    assert foreseen == {"default": done}
    assert sum(heard) == done.rows
    assert kept(tmp_path) == 0
    assert await foresee(database, tenant.reach, retention=STRICT) == {}


async def test_what_a_trial_says_is_right_for_compacted_runs_too(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    trashed, _ = await make_old(caller, tenant), await make_old(caller, tenant)
    await caller.send("DELETE", f"/v1/runs/{trashed}", status=204)
    assert await compact(database, tenant.reach, age_seconds=0) == 20
    foreseen = await foresee(database, tenant.reach, retention=STRICT)
    done = await apply(database, store, tenant.reach, retention=STRICT)
    assert foreseen == {"default": done}
    assert (done.points, done.compacted_points) == (21, 20)
    assert rows_of(tenant, trashed)["points"] == 1  # the other's scalar
    chunks = "select count(*) from mapi.run_metric_chunks where tenant_id = %s"
    assert value_of(tenant, chunks, tenant.id) == 0


async def test_a_correction_of_a_pruned_series_leaves_what_its_summary_says_of_the_rest(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    run = await make_old(caller, tenant)
    await apply(database, store, tenant.reach, retention=STRICT)
    await caller.log(run, "loss", [0.01, 0.02], start=10)
    body = {"key": "loss", "from_step": 10, "to_step": 10, "reason": "wrong"}
    assert (await caller.post(f"/v1/runs/{run}/corrections", body))["rows"] == 1
    (series,) = (await caller.get(f"/v1/runs/{run}/metrics?key=loss"))["series"]
    assert (series["count"], series["last_step"], series["min_value"]) == (11, 11, 0.02)
    again = await caller.log(run, "loss", [1.0])
    assert (again["accepted"], again["duplicates"]) == (0, 1)
    body = {"key": "loss", "reason": "all of it was wrong"}
    assert (await caller.post(f"/v1/runs/{run}/corrections", body))["rows"] == 1
    assert (await caller.get(f"/v1/runs/{run}/metrics?key=loss"))["series"] == []
    assert (await caller.log(run, "loss", [1.0]))["accepted"] == 1


async def test_what_a_rule_keeps_is_kept_whatever_its_age(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    runs = [await make_old(caller, tenant) for _ in range(4)]
    for number, run in enumerate(runs[:3]):
        await caller.log(run, "score", [float(number)], steps=[None])
        age(tenant, run)
    await caller.send("PUT", f"/v1/runs/{runs[0]}/tags", json={"tags": {"keep": "yes"}})
    async with database.transaction(tenant.reach) as connection:
        # The one without a score is not among the best, however few there are.
        best = await add_rule(
            connection, tenant.project_id, filters="", sort="-metrics.score", best=1
        )
        await add_rule(
            connection, tenant.project_id, filters="tags.keep = yes", sort="", best=None
        )
        assert [rule.number for rule in await list_rules(connection)] == [best, best + 1]
    foreseen = await foresee(database, tenant.reach, retention=STRICT)
    assert (foreseen["default"].kept_runs, foreseen["default"].pruned_runs) == (2, 2)
    done = await apply(database, store, tenant.reach, retention=STRICT)
    assert (done.pruned_runs, done.points, done.media_items) == (2, 20, 2)
    lengths = [await length(caller, run) for run in runs]
    assert lengths == [10, 0, 10, 0]
    async with database.transaction(tenant.reach) as connection:
        assert (await remove_rule(connection, best)).sort == "-metrics.score"
        with pytest.raises(NotFoundError):
            await remove_rule(connection, best)
    assert (await apply(database, store, tenant.reach, retention=STRICT)).pruned_runs == 1
    assert [await length(caller, run) for run in runs] == [10, 0, 0, 0]


@pytest.mark.parametrize(
    ("filters", "sort", "best", "said"),
    [
        ("", "", None, "keep every run"),
        ("tags.a = b", "", 3, "needs both"),
        ("tags.a = b", "metrics.loss", None, "needs both"),
        ("tags.a", "", None, "expected"),
        ("", "metrics.loss,", 1, "expected"),
        ("", "metrics.loss", 0, "not from 1"),
    ],
)
async def test_a_rule_that_says_nothing_is_refused_with_its_rule(
    tenant: Tenant, database: Database, filters: str, sort: str, best: int | None, said: str
) -> None:
    with pytest.raises(InvalidError, match=said):
        async with database.transaction(tenant.reach) as connection:
            await add_rule(connection, tenant.project_id, filters=filters, sort=sort, best=best)


async def length(caller: Caller, run: str) -> int:
    """Return how many points of a series there are to be read."""
    answer = await caller.get(f"/v1/runs/{run}/metrics/points?key=loss&from=0")
    return len(answer["points"])


async def test_what_nobody_limits_stays_for_ever(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore, tmp_path: Path
) -> None:
    run = await make_old(caller, tenant, days=10_000)
    trashed = await make_old(caller, tenant)
    await caller.send("DELETE", f"/v1/runs/{trashed}", status=204)
    before = (rows_of(tenant, run), rows_of(tenant, trashed), kept(tmp_path))
    assert await apply(database, store, tenant.reach, retention=Retention()) == Freed()
    assert (rows_of(tenant, run), rows_of(tenant, trashed), kept(tmp_path)) == before
    await caller.post(f"/v1/runs/{trashed}/restore", None)


async def test_objects_that_no_row_has_are_collected_and_all_others_stay(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore, tmp_path: Path
) -> None:
    run = await make_old(caller, tenant)
    await store.put(f"media/{tenant.id}/{uuid.uuid4()}/{uuid.uuid4()}", b"left by a killed server")
    await store.put(f"uploads/{tenant.id}/{uuid.uuid4()}/{uuid.uuid4()}", b"never recorded")
    await store.put("elsewhere/a", b"of another room")
    # Young ones may be on their way.
    assert await collect_leftovers(database, store) == (0, 0)
    found = await collect_leftovers(database, store, age=timedelta(seconds=-1))
    assert found == (2, len(b"left by a killed server") + len(b"never recorded"))
    assert kept(tmp_path) == 2
    (item,) = (await caller.get(f"/v1/runs/{run}/media"))["media"]
    await caller.send("GET", f"/v1/runs/{run}/media/{item['id']}/content")


async def test_a_deleted_project_is_gone_with_all_its_runs(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore, tmp_path: Path
) -> None:
    await caller.post("/v1/projects", {"name": "other"}, status=201)
    stays = await caller.make_run(project="other")
    for _ in range(2):
        await make_old(caller, tenant)
    await caller.post("/v1/experiments", {"name": "study"}, status=201)
    freed = await delete_project(
        database,
        store,
        tenant.reach,
        project_id=tenant.project_id,
        principal=_admin(tenant),
    )
    assert freed.purged_runs == 2
    assert kept(tmp_path) == 0
    projects = await caller.get("/v1/projects")
    assert [one["name"] for one in projects["projects"]] == ["other"]
    await caller.get(f"/v1/runs/{stays}")


async def test_two_replicas_that_tidy_at_once_delete_once(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    for _ in range(3):
        run = await make_old(caller, tenant)
        await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    rules = Retention(trash_days=0)
    found = await asyncio.gather(*(tidy(database, store, rules) for _ in range(2)))
    assert sorted(one is None for one in found) == [False, True]
    assert sum(one.purged_runs for one in found if one is not None) >= 3


async def test_what_was_pruned_is_written_once(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    run = await make_old(caller, tenant)
    number = run.removeprefix("run_")
    change = "select change_seq from mapi.runs where id = %s"
    # First only what goes before the media, so that these are deleted of a pruned run.
    tracking = Retention(trash_days=0, tracking_days=1)
    assert (await apply(database, store, tenant.reach, retention=tracking)).pruned_runs == 1
    before = value_of(tenant, change, number)
    assert await apply(database, store, tenant.reach, retention=tracking) == Freed()
    assert value_of(tenant, change, number) == before
    assert (await apply(database, store, tenant.reach, retention=STRICT)).media_items == 1
    before = value_of(tenant, change, number)
    assert await foresee(database, tenant.reach, retention=STRICT) == {}
    assert await apply(database, store, tenant.reach, retention=STRICT) == Freed()
    assert value_of(tenant, change, number) == before
    heard: list[int] = []
    assert await compact(database, tenant.reach, age_seconds=0, told=heard.append) == 0
    assert heard == []  # no run was due


@pytest.mark.parametrize("what", ["tracking_days", "media_days"])
async def test_a_run_that_goes_on_again_under_the_hand_of_retention_keeps_what_it_has(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore, what: str
) -> None:
    run = await make_old(caller, tenant)
    before = rows_of(tenant, run)
    with psycopg.connect(tenant.server.superuser_url()) as holder:
        holder.execute(
            "update mapi.runs set status = 'running', finished = null, heartbeat = now(),"
            " change_seq = change_seq + 1 where id = %s",
            [run.removeprefix("run_")],
        )
        job = asyncio.create_task(
            apply(database, store, tenant.reach, retention=Retention(**{what: 1}))
        )
        await until_waited_for(holder)
    assert await job == Freed()
    assert {**rows_of(tenant, run), "run_events": 0} == {**before, "run_events": 0}


async def test_a_run_that_a_rule_begins_to_keep_under_the_hand_of_retention_stays(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    runs = sorted([await make_old(caller, tenant) for _ in range(2)])
    async with database.transaction(tenant.reach) as connection:
        await add_rule(
            connection, tenant.project_id, filters="tags.keep = yes", sort="", best=None
        )
    with psycopg.connect(tenant.server.superuser_url()) as holder:
        holder.execute(
            "insert into mapi.run_tags (tenant_id, run_id, project_id, key, text, source)"
            " select tenant_id, id, project_id, 'keep', 'yes', 'api' from mapi.runs where id = %s",
            [runs[1].removeprefix("run_")],
        )
        holder.execute(
            "update mapi.runs set change_seq = change_seq + 1 where id = %s",
            [runs[1].removeprefix("run_")],
        )
        job = asyncio.create_task(apply(database, store, tenant.reach, retention=STRICT))
        await until_waited_for(holder)
    assert (await job).pruned_runs == 1
    assert [await length(caller, run) for run in runs] == [0, 10]
    assert len((await caller.get(f"/v1/runs/{runs[1]}/media"))["media"]) == 1


@pytest.mark.parametrize("trashed", ["null", "now()"], ids=["restored", "trashed again"])
async def test_a_run_that_is_restored_while_the_trash_is_emptied_stays(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore, trashed: str
) -> None:
    runs = [await make_old(caller, tenant) for _ in range(2)]
    for run in runs:
        await caller.send("DELETE", f"/v1/runs/{run}", status=204)
        value_of(
            tenant,
            "update mapi.runs set trashed = now() - interval '10 days' where id = %s",
            run.removeprefix("run_"),
        )
    with psycopg.connect(tenant.server.superuser_url()) as holder:
        holder.execute(
            f"update mapi.runs set trashed = {trashed} where id = %s",
            [runs[0].removeprefix("run_")],
        )
        rules = Retention(trash_days=9)
        job = asyncio.create_task(apply(database, store, tenant.reach, retention=rules))
        await until_waited_for(holder)
    assert (await job).purged_runs == 1
    found = await caller.get(f"/v1/runs/{runs[0]}")
    assert (found["trashed"] is None) == (trashed == "null")
    await caller.get(f"/v1/runs/{runs[1]}", status=404)


async def test_media_of_many_runs_go_in_portions_and_each_once(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore, tmp_path: Path
) -> None:
    runs = [await make_old(caller, tenant) for _ in range(2)]
    for run in runs:
        value_of(
            tenant,
            "with more as (insert into mapi.run_media (tenant_id, id, run_id, key, labels,"
            " labels_hash, step, format, sha256, size_bytes, object_key, time, source)"
            " select tenant_id, gen_random_uuid(), run_id, 'more', labels, labels_hash, given, format,"
            " sha256, size_bytes, object_key || given, time, source"
            " from mapi.run_media, generate_series(1, 250) as given"
            " where run_id = %s returning size_bytes)"
            " update mapi.runs set media_count = media_count + found.items,"
            " media_bytes = media_bytes + found.bytes from"
            " (select count(*) as items, sum(size_bytes) as bytes from more) as found where id = %s",
            run.removeprefix("run_"),
            run.removeprefix("run_"),
        )
    done = await apply(database, store, tenant.reach, retention=Retention(media_days=1))
    assert done == Freed(media_items=502, media_bytes=502 * len(png()))
    (usage,) = (await caller.get("/v1/usage"))["projects"]
    assert usage["media_bytes"] == 0
    assert kept(tmp_path) == 0


async def test_a_rule_that_cannot_be_read_keeps_all_of_its_project_and_nothing_else(
    caller: Caller,
    tenant: Tenant,
    database: Database,
    store: ObjectStore,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await caller.post("/v1/projects", {"name": "other"}, status=201)
    old = await make_old(caller, tenant)
    elsewhere = await caller.make_run(project="other")
    await caller.log(elsewhere, "loss", [1.0])
    await caller.send("PATCH", f"/v1/runs/{elsewhere}", json={"status": "succeeded"})
    age(tenant, elsewhere)
    value_of(
        tenant,
        "insert into mapi.retention_rules (tenant_id, project_id, filter)"
        " values (%s, %s, 'no filter at all')",
        tenant.id,
        tenant.project_id,
    )
    done = await apply(database, store, tenant.reach, retention=STRICT)
    assert (done.pruned_runs, done.points) == (1, 1)
    assert await length(caller, old) == 10
    assert "cannot be read" in caplog.text


def _admin(tenant: Tenant) -> Principal:
    return Principal(tenant.id, "an admin", "", frozenset({Scope.ADMIN}))


async def test_a_deletion_that_is_stopped_goes_on_where_it_was(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore, tmp_path: Path
) -> None:
    old = [await make_old(caller, tenant) for _ in range(3)]
    trashed = [await make_old(caller, tenant) for _ in range(3)]
    for run in trashed:
        await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    foreseen = (await foresee(database, tenant.reach, retention=STRICT))["default"]
    heard: list[int] = []
    stops = 0
    while True:
        job = asyncio.create_task(
            apply(database, store, tenant.reach, retention=STRICT, told=heard.append)
        )
        # Each time a little later: in the middle of every statement once, however slow they are.
        done, _ = await asyncio.wait([job], timeout=0.002 * stops)
        if done:
            break
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)
        stops += 1
    assert stops > 0
    # What was done and not told any more is at most what one stop each cut off.
    assert sum(heard) <= foreseen.rows
    assert await foresee(database, tenant.reach, retention=STRICT) == {}
    await collect_leftovers(database, store, age=timedelta(seconds=-1))
    assert kept(tmp_path) == 0
    assert (await caller.get("/v1/runs"))["runs"] != []
    for run in trashed:
        await caller.get(f"/v1/runs/{run}", status=404)
    (usage,) = (await caller.get("/v1/usage"))["projects"]
    assert usage["rows"] == {"points": 3, "series": 6, "log_lines": 0, "spans": 0}
    assert usage["media_bytes"] == 0
    purged = [
        one["object"]
        for one in (await caller.get("/v1/audit"))["entries"]
        if one["action"] == "run.purge"
    ]
    assert sorted(purged) == sorted(trashed)
    assert len({*old, *trashed}) == 6
