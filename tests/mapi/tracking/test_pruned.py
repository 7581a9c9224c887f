"""Whoever reads what is left of a run learns what retention has deleted of it, when and by which rule."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import make_caller
from tests.mapi.pruning import prune
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import value_of
from tests.mapi.tracking.test_retention import STRICT, age, make_old

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.api.app import build_app
from mapi.database.door import Database
from mapi.tracking.freed import Retention
from mapi.tracking.retention import apply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Connection, Reach
    from mapi.objects.permits import UploadPermits
    from mapi.objects.store import ObjectStore

pytestmark = pytest.mark.anyio

TRACKING = Retention(trash_days=0, tracking_days=1)


@pytest.fixture
def caller(
    database: Database, tenant: Tenant, objects: tuple[ObjectStore, UploadPermits]
) -> Caller:
    return make_caller(build_app(database, version="0", objects=objects), tenant)


async def prunings(caller: Caller, run: str) -> list[dict[str, Any]]:
    entries = (await caller.get(f"/v1/runs/{run}/life"))["entries"]
    return [one for one in entries if one["kind"] == "pruned"]


async def curve(caller: Caller, run: str, **query: Any) -> Any:
    asked = {"key": "loss"} | query
    return await caller.get(f"/v1/runs/{run}/metrics/points", params=asked)


async def test_a_pruning_is_one_entry_of_the_life_with_its_rule_and_its_counts(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    run = await make_old(caller, tenant)
    assert await prunings(caller, run) == []
    await apply(database, store, tenant.reach, retention=STRICT)
    tracking, media = await prunings(caller, run)
    assert (tracking["user"], tracking["days"]) == ("", 1)
    assert tracking["counts"] == {"points": 10, "log_lines": 1, "spans": 1}
    assert tracking["message"] == "10 points, 1 log line and 1 span were deleted"
    assert tracking["reason"] == "ended more than 1 day ago (MAPI_TRACKING_RETENTION_DAYS)"
    assert (media["counts"], media["days"]) == ({"media_items": 1}, 1)
    assert media["reason"] == "ended more than 1 day ago (MAPI_MEDIA_RETENTION_DAYS)"
    # Nothing more goes, so nothing more is told.
    await apply(database, store, tenant.reach, retention=STRICT)
    assert len(await prunings(caller, run)) == 2
    # What came later and went too is a pruning of its own.
    await caller.log(run, "loss", [1.0, 2.0], start=10)
    age(tenant, run, days=30)
    await apply(database, store, tenant.reach, retention=Retention(trash_days=0, tracking_days=20))
    *_, last = await prunings(caller, run)
    assert (last["counts"], last["days"]) == ({"points": 2}, 20)
    assert last["reason"] == "ended more than 20 days ago (MAPI_TRACKING_RETENTION_DAYS)"


async def test_media_that_go_in_portions_are_one_entry(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    run = await make_old(caller, tenant)
    number = run.removeprefix("run_")
    value_of(
        tenant,
        "with more as (insert into mapi.run_media (tenant_id, id, run_id, key, labels,"
        " labels_hash, step, format, sha256, size_bytes, object_key, time, source)"
        " select tenant_id, gen_random_uuid(), run_id, 'more', labels, labels_hash, given, format,"
        " sha256, size_bytes, object_key || given, time, source"
        " from mapi.run_media, generate_series(1, 250) as given where run_id = %s returning 1)"
        " update mapi.runs set media_count = media_count + 250,"
        " media_bytes = media_bytes * 251 from (select count(*) from more) as made where id = %s",
        number,
        number,
    )
    await apply(database, store, tenant.reach, retention=Retention(media_days=1))
    (entry,) = await prunings(caller, run)
    assert entry["counts"] == {"media_items": 251}
    page = await caller.get(f"/v1/runs/{run}/media")
    assert (page["media"], page["pruned_count"]) == ([], 251)
    assert (await caller.get(f"/v1/runs/{run}"))["pruned"]["media_items"] == 251


async def test_every_reading_says_what_is_gone_and_none_did_before(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    run, young = await make_old(caller, tenant), await caller.make_run()
    await caller.log(young, "loss", [1.0])
    readings = {name: f"/v1/runs/{run}/{name}" for name in ("logs", "spans", "media")}
    assert [(await caller.get(path))["pruned_count"] for path in readings.values()] == [0, 0, 0]
    assert (await caller.get(f"/v1/runs/{run}"))["pruned"] is None
    assert (await curve(caller, run))["pruned"] is None
    await apply(database, store, tenant.reach, retention=STRICT)
    assert [(await caller.get(path))["pruned_count"] for path in readings.values()] == [1, 1, 1]
    told = (await caller.get(f"/v1/runs/{run}"))["pruned"]
    since = datetime.now(UTC) - datetime.fromisoformat(told.pop("time"))
    assert timedelta(0) <= since < timedelta(minutes=5)
    assert told == {"points": 10, "log_lines": 1, "spans": 1, "media_items": 1}
    gone = {"count": 10, "last_step": 9}
    final, loss = (await caller.get(f"/v1/runs/{run}/metrics"))["series"]
    assert (loss["pruned"], loss["count"], loss["last_step"]) == (gone, 10, 9)
    assert final["pruned"] is None
    assert (await curve(caller, run))["pruned"] == gone
    assert (await curve(caller, run, buckets=5))["pruned"] == gone
    assert (await curve(caller, run, attempt=1))["pruned"] == {"count": None, "last_step": 9}
    assert (await curve(caller, run, key="final"))["pruned"] is None
    compared = await caller.get("/v1/run-compare", params={"ids": f"{young},{run}"})
    assert [one is None for one in compared["pruned"]] == [True, False]
    (both,) = [one for one in compared["series"] if one["key"] == "loss"]
    assert [one["pruned"] for one in both["summaries"]] == [None, gone]
    assert [one["pruned"] for one in both["curves"]] == [None, gone]
    groups = await caller.get("/v1/run-groups", params={"y": "loss", "by": "params.lr"})
    assert [(len(one["runs"]), one["runs_pruned"]) for one in groups["groups"]] == [(1, 1), (1, 0)]


async def test_a_column_that_needs_points_says_that_they_are_gone(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    old, young = await make_old(caller, tenant), await caller.make_run()
    for run in (old, young):
        await caller.log(run, "acc", [0.2, 0.9, 0.4])
        await caller.log(run, "err", [3, 1, 2])
    age(tenant, old)
    columns = "metrics.acc AT MIN metrics.err"
    query = {"columns": f"name,{columns},metrics.acc.max", "sort": "created"}
    page = await caller.get("/v1/runs", params=query)
    assert [one["values"][1:] for one in page["runs"]] == [[0.9, 0.9]] * 2
    assert page["warnings"] == []
    await apply(database, store, tenant.reach, retention=TRACKING)
    page = await caller.get("/v1/runs", params=query)
    assert [one["values"][1:] for one in page["runs"]] == [[None, 0.9], [0.9, 0.9]]
    assert page["warnings"] == [
        f"columns: {columns} is missing of runs whose points were deleted for their age"
    ]


async def test_a_column_that_was_never_logged_is_not_called_deleted(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    """Points of the run are gone, but none that the column would show."""
    run = await make_old(caller, tenant)
    await caller.log(run, "err", [3, 1, 2])
    # At a step after all that is pruned of the other series.
    await caller.log(run, "late", [1.0, 0.5], start=20)
    age(tenant, run)
    await apply(database, store, tenant.reach, retention=TRACKING)
    columns = "metrics.acc AT MIN metrics.err,metrics.loss AT MIN metrics.late"
    page = await caller.get("/v1/runs", params={"columns": columns, "filter": f"id = {run}"})
    assert ([one["values"] for one in page["runs"]], page["warnings"]) == ([[None, None]], [])
    columns = f"{columns},metrics.loss AT MIN metrics.err"
    page = await caller.get("/v1/runs", params={"columns": columns, "filter": f"id = {run}"})
    (warning,) = page["warnings"]
    assert warning.startswith("columns: metrics.loss AT MIN metrics.err is missing")


async def test_a_range_behind_what_is_gone_says_nothing_of_it(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    run = await make_old(caller, tenant)
    await apply(database, store, tenant.reach, retention=TRACKING)
    await caller.log(run, "loss", [1.0, 2.0, 3.0], start=10)
    late = await curve(caller, run, **{"from": 10})
    assert (late["pruned"], late["points_total"]) == (None, 3)
    # A scalar is no step, and is never pruned.
    scalar = await curve(caller, run, **{"from": -1, "to": -1})
    assert (scalar["pruned"], scalar["points"]) == (None, [])
    groups = await caller.get("/v1/run-groups", params={"y": "loss", "from": 10})
    assert groups["groups"][0]["runs_pruned"] == 0
    whole = await curve(caller, run, limit=2)
    # What is left is counted, though the summary speaks of all.
    assert (whole["pruned"]["count"], whole["points_total"]) == (10, 3)
    assert [point[0] for point in whole["points"]] == [10, 11]
    (series,) = (await caller.get(f"/v1/runs/{run}/metrics?key=loss"))["series"]
    assert (series["count"], series["pruned"]["count"]) == (13, 10)


async def test_what_an_attempt_anew_has_taken_the_place_of_is_not_told_of_the_whole_curve(
    caller: Caller, tenant: Tenant, database: Database, store: ObjectStore
) -> None:
    run = await make_old(caller, tenant)
    await apply(database, store, tenant.reach, retention=TRACKING)
    await caller.post(f"/v1/runs/{run}/attempts", {"number": 2, "from_step": 0})
    await caller.log(run, "loss", [1.0, 2.0])
    whole = await curve(caller, run)
    assert (whole["pruned"], whole["points_total"]) == (None, 2)
    (series,) = (await caller.get(f"/v1/runs/{run}/metrics?key=loss"))["series"]
    assert (series["pruned"], series["count"]) == (None, 2)
    assert (await curve(caller, run, attempt=1))["pruned"] == {"count": None, "last_step": 9}
    assert (await curve(caller, run, attempt=2))["pruned"] is None
    groups = await caller.get("/v1/run-groups", params={"y": "loss"})
    assert groups["groups"][0]["runs_pruned"] == 0


async def test_a_correction_of_a_whole_series_leaves_nothing_to_tell(
    caller: Caller, tenant: Tenant, database: Database
) -> None:
    run = await caller.make_run()
    await caller.log(run, "loss", [1.0, 2.0])
    await prune(database, tenant, uuid_from_text(RUN, run))
    assert (await curve(caller, run))["pruned"] == {"count": 2, "last_step": 1}
    await caller.post(f"/v1/runs/{run}/corrections", {"key": "loss", "reason": "wrong"})
    await caller.log(run, "loss", [3.0])
    assert (await curve(caller, run))["pruned"] is None
    (series,) = (await caller.get(f"/v1/runs/{run}/metrics"))["series"]
    assert (series["pruned"], series["count"]) == (None, 1)


class LateDatabase(Database):
    """A door whose reading begins just before a run is pruned."""

    def __init__(self, url: str, prune_now: Callable[[], Awaitable[object]]) -> None:
        super().__init__(url, connections=3)
        self._prune_now = prune_now

    @asynccontextmanager
    async def snapshot(self, reach: Reach) -> AsyncIterator[Connection]:
        """Look once, and prune behind that look."""
        async with super().snapshot(reach) as connection:
            await connection.execute("select count(*) from runs")
            await self._prune_now()
            yield connection


@pytest.mark.parametrize(
    ("reading", "there"),
    [
        ("metrics/points?key=loss", lambda found: found["points"] and found["points_total"] == 2),
        ("metrics/points?key=loss&buckets=9", lambda found: found["points_total"] == 2),
        ("logs", lambda found: found["lines"]),
        ("spans", lambda found: found["spans"]),
    ],
)
async def test_an_answer_holds_what_it_does_not_call_deleted(
    caller: Caller,
    tenant: Tenant,
    database: Database,
    database_url: str,
    *,
    reading: str,
    there: Callable[[Any], bool],
) -> None:
    """A pruning between two statements of an answer neither takes half of it nor is kept from it."""
    run = await caller.make_run()
    await caller.log(run, "loss", [1.0, 2.0])
    await caller.post(f"/v1/runs/{run}/logs", {"lines": [{"message": "one"}]})
    span = {"name": "a", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 1_000}
    await caller.post(f"/v1/runs/{run}/spans", {"spans": [span]})

    late = LateDatabase(database_url, lambda: prune(database, tenant, uuid_from_text(RUN, run)))
    await late.open()
    try:
        reader = make_caller(build_app(late, version="0", objects=temporary_objects()), tenant)
        before = await reader.get(f"/v1/runs/{run}/{reading}")
        after = await reader.get(f"/v1/runs/{run}/{reading}")
    finally:
        await late.close()
    assert there(before)
    gone = "pruned" if reading.startswith("metrics") else "pruned_count"
    assert not before[gone]
    assert not there(after)
    assert after[gone]
