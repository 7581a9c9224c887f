"""What is known of points that retention deleted goes out with a run and comes back elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import make_caller
from tests.mapi.importing import bring_in, exported, file_of, run_line
from tests.mapi.pruning import prune
from tests.mapi.tenants_access import set_limits
from tests.mapi.tracking.test_retention import STRICT, make_old

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.api.app import build_app
from mapi.objects.opening import open_store
from mapi.tracking.retention import apply

if TYPE_CHECKING:
    from pathlib import Path

    from litestar import Litestar
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database
    from mapi.objects.permits import UploadPermits
    from mapi.objects.store import ObjectStore

pytestmark = pytest.mark.anyio

TIME = "2026-11-01T00:00:00Z"


@pytest.fixture
def objects(tmp_path: Path) -> tuple[ObjectStore, UploadPermits]:
    return open_store(None, home=tmp_path, upload_url="", secret=os.urandom(32))


@pytest.fixture
def app(database: Database, objects: tuple[ObjectStore, UploadPermits]) -> Litestar:
    return build_app(database, version="0", objects=objects)


@pytest.fixture
def caller(app: Litestar, tenant: Tenant) -> Caller:
    return make_caller(app, tenant)


@pytest.fixture
def elsewhere(app: Litestar, other_tenant: Tenant) -> Caller:
    return make_caller(app, other_tenant)


async def series_of(caller: Caller, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await caller.get(f"/v1/runs/{run}/metrics"))["series"]
    return found


def summary(**more: Any) -> dict[str, Any]:
    return {
        "count": 2,
        "nonfinite_count": 0,
        "first_time": TIME,
        "last_time": TIME,
        "last_step": 1,
        "last_value": 2.0,
        "min_value": 1.0,
        "min_step": 0,
        "max_value": 2.0,
        "max_step": 1,
        "finite_sum": 3.0,
        "huge_sum": 0.0,
        **more,
    }


def pruned_line(run: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "pruned",
        "run": run,
        "key": "loss",
        "labels": {},
        "attempt": 1,
        "source": "api",
        "last_step": 1,
        "summary": summary(),
        **more,
    }


async def test_a_pruned_run_is_the_same_elsewhere_and_goes_on_there(
    caller: Caller,
    elsewhere: Caller,
    tenant: Tenant,
    database: Database,
    objects: tuple[ObjectStore, UploadPermits],
) -> None:
    run = await make_old(caller, tenant)
    await caller.log(run, "odd", ["NaN", "Infinity"], labels={"split": "val"})
    await caller.log(run, "huge", [1.7e308, 1.7e308, -1.0])
    await apply(database, objects[0], tenant.reach, retention=STRICT)
    await caller.log(run, "loss", [0.01], start=10)
    lines = await exported(caller, f"/v1/runs/{run}/export")
    await bring_in(elsewhere, lines)
    await bring_in(elsewhere, lines)  # again changes nothing
    here, there = await series_of(caller, run), await series_of(elsewhere, run)
    assert there == [{**one, "user": "test"} for one in here]
    loss = next(one for one in there if one["key"] == "loss")
    assert (loss["count"], loss["min_value"]) == (11, 0.01)
    assert loss["pruned"] == {"count": 10, "last_step": 9}
    facts = await elsewhere.get(f"/v1/runs/{run}")
    assert facts["pruned"] == (await caller.get(f"/v1/runs/{run}"))["pruned"]
    page = await elsewhere.get("/v1/runs", params={"filter": "metrics.loss.count = 11"})
    assert [one["id"] for one in page["runs"]] == [run]
    # Steps that were here once are duplicates there too.
    again = await elsewhere.log(run, "loss", [5.0], start=3)
    assert (again["accepted"], again["duplicates"]) == (0, 1)
    assert (await elsewhere.log(run, "loss", [5.0], start=11))["accepted"] == 1
    (loss,) = (await elsewhere.get(f"/v1/runs/{run}/metrics?key=loss"))["series"]
    assert (loss["count"], loss["last_value"]) == (12, 5.0)
    # And from there it goes out as it came in.
    before = [one for one in lines if one["type"] == "pruned"]
    after = await exported(elsewhere, f"/v1/runs/{run}/export")
    assert len(before) == 3
    for one in after:
        one["user"] = one["user"] and "test" if "user" in one else None
    assert [one for one in after if one["type"] == "pruned"] == before


async def test_several_attempts_of_a_pruned_series_come_back_with_their_steps(
    caller: Caller, elsewhere: Caller, tenant: Tenant, database: Database
) -> None:
    run = await caller.make_run()
    await caller.log(run, "loss", [1.0, 2.0, 3.0])
    await caller.post(f"/v1/runs/{run}/attempts", {"number": 2, "from_step": 2})
    await caller.log(run, "loss", [4.0, 5.0], start=2)
    await prune(database, tenant, uuid_from_text(RUN, run))
    await bring_in(elsewhere, await exported(caller, f"/v1/runs/{run}/export"))
    (here,), (there,) = await series_of(caller, run), await series_of(elsewhere, run)
    assert there == {**here, "user": "test"}
    assert (there["count"], there["attempt"]) == (4, 2)
    path = f"/v1/runs/{run}/metrics/points"
    for attempt, last_step in ((1, 2), (2, 3)):
        found = await elsewhere.get(path, params={"key": "loss", "attempt": attempt})
        assert found["pruned"] == {"count": None, "last_step": last_step}


async def test_a_run_that_is_here_keeps_its_points_and_what_is_known_of_them(
    caller: Caller, tenant: Tenant, database: Database
) -> None:
    run = await caller.make_run()
    await caller.log(run, "loss", [1.0, 2.0])
    before = await series_of(caller, run)
    for attempt in (1, 2):
        await bring_in(caller, file_of(run_line(run), pruned_line(run, attempt=attempt)))
    assert await series_of(caller, run) == before
    assert (await caller.get(f"/v1/runs/{run}"))["pruned"] is None


async def test_a_budget_of_series_holds_for_those_that_are_only_known(
    elsewhere: Caller, other_tenant: Tenant
) -> None:
    set_limits(other_tenant, series=1)
    line = run_line()
    lines = [pruned_line(line["run"], key=key) for key in ("acc", "loss")]
    answer = await bring_in(elsewhere, file_of(line, *lines))
    assert [one["key"] for one in await series_of(elsewhere, line["run"])] == ["acc"]
    assert "no room for all series" in answer["warnings"][0]
    assert (await elsewhere.get(f"/v1/runs/{line['run']}"))["dropped"] == {"series": 1}


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"nonfinite_count": 3}, "nonfinite_count"),
        ({"last_time": "2026-10-01T00:00:00Z"}, "first_time"),
        ({"first_time": "1960-01-01T00:00:00Z"}, "first_time"),
        ({"min_value": None}, "min_value"),
        ({"nonfinite_count": 2}, "min_value"),
        ({"min_value": 2.5}, "min_value"),
        ({"finite_sum": 4.5}, "finite_sum"),
        ({"finite_sum": -0.5}, "finite_sum"),
        ({"max_value": 1.7e308, "finite_sum": 1.7e308}, "finite_sum"),
        ({"huge_sum": 1.0}, "huge_sum"),
        ({"max_value": 1.7e308, "huge_sum": 1.7e308}, "huge_sum"),
        ({"count": 0}, "count"),
        ({"count": 2**53 + 1}, "count"),
    ],
)
async def test_a_summary_that_cannot_be_is_refused_where_it_stands(
    elsewhere: Caller, changes: dict[str, Any], member: str
) -> None:
    line = run_line()
    lines = file_of(line, pruned_line(line["run"], summary=summary(**changes)))
    problem = await bring_in(elsewhere, lines, status=422)
    assert [one["pointer"] for one in problem["errors"]] == [f"/lines/2/summary/{member}"]
    await elsewhere.get(f"/v1/runs/{line['run']}", status=404)


@pytest.mark.parametrize(
    ("pruned", "at"),
    [
        ({"time": TIME}, ""),
        ({"time": TIME, "points": 0, "spans": 0}, ""),
        ({"time": TIME, "points": 1, "nosuch": 5}, "/nosuch"),
        ({"points": 1}, "/time"),
        ({"time": "2999-01-01T00:00:00Z", "points": 1}, "/time"),
        ({"time": TIME, "points": -1}, "/points"),
        ({"time": TIME, "points": 2**53 + 1}, "/points"),
    ],
)
async def test_a_run_whose_pruned_says_nothing_or_too_much_is_refused_there(
    elsewhere: Caller, pruned: dict[str, Any], at: str
) -> None:
    line = {**run_line(), "pruned": pruned}
    problem = await bring_in(elsewhere, file_of(line), status=422)
    assert [one["pointer"] for one in problem["errors"]] == [f"/lines/1/pruned{at}"]
    await elsewhere.get(f"/v1/runs/{line['run']}", status=404)


async def test_a_second_summary_of_a_series_is_refused(elsewhere: Caller) -> None:
    line = run_line()
    first = pruned_line(line["run"])
    other = pruned_line(line["run"], labels={"split": "val"})
    lines = file_of(line, first, other, pruned_line(line["run"], attempt=2))
    problem = await bring_in(elsewhere, lines, status=422)
    assert [one["pointer"] for one in problem["errors"]] == ["/lines/4/summary"]
    await bring_in(
        elsewhere, file_of(line, first, other, pruned_line(line["run"], attempt=2, summary=None))
    )


async def test_what_was_pruned_stands_before_the_points_that_are_left(elsewhere: Caller) -> None:
    line = run_line()
    points = {
        **pruned_line(line["run"]),
        "type": "points",
        "steps": [2],
        "times": [1_780_000_000_000_000],
        "values": [1.0],
    }
    del points["summary"], points["last_step"]
    lines = file_of(line, points, pruned_line(line["run"]))
    problem = await bring_in(elsewhere, lines, status=422)
    assert [one["pointer"] for one in problem["errors"]] == ["/lines/3/type"]


async def test_only_an_admin_brings_in_what_a_runner_had_signed(
    app: Litestar, other_tenant: Tenant
) -> None:
    writer = make_caller(app, other_tenant, scopes=["runs:read", "runs:write"])
    line = run_line()
    lines = file_of(line, pruned_line(line["run"], source="runner"))
    await bring_in(writer, lines, status=403)
    await bring_in(writer, file_of(line, pruned_line(line["run"])))
