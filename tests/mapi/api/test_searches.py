"""Searches over HTTP: what the language alone cannot say, for it takes rows and a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.tenants_access import value_of
from tests.mapi.walking import routes

from mapi.api.queries import query_parameters
from mapi.wire.runs import RunSearch

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio

STEPS = ("min_step", "max_step")


async def found(caller: Caller, **query: Any) -> list[str]:
    page = await caller.get("/v1/runs", params=query)
    return [one["name"] for one in page["runs"]]


async def pages(caller: Caller, **query: Any) -> list[str]:
    names: list[str] = []
    while True:
        page = await caller.get("/v1/runs", params=query)
        names += [one["name"] for one in page["runs"]]
        if page["next_cursor"] is None:
            return names
        query["cursor"] = page["next_cursor"]


async def runs_of_every_end(caller: Caller, tenant: Tenant) -> None:
    """A run that goes on for 10 minutes, and others; each is called by what it is."""
    for name, status, started, finished, heartbeat in (
        ("short", "succeeded", 60, 59, 0),
        ("running", "running", 10, None, 0),
        ("lost", "lost", 50, None, 48),
        ("long", "failed", 100, 60, 0),
        ("queued", "queued", None, None, 0),
    ):
        run = await caller.make_run(name=name)
        value_of(
            tenant,
            "update mapi.runs set status = %s, started = now() - make_interval(mins => %s),"
            " finished = now() - make_interval(mins => %s),"
            " heartbeat = now() - make_interval(mins => %s) where id = %s",
            *(status, started, finished, heartbeat, run[4:]),
        )


async def test_a_time_is_written_as_in_the_row(caller: Caller) -> None:
    await caller.make_run()
    page = await caller.get("/v1/runs", params={"columns": "created,started"})
    (run,) = page["runs"]
    assert run["values"] == [run["created"], run["started"]]


async def test_a_run_that_goes_on_has_lasted_up_to_now(caller: Caller, tenant: Tenant) -> None:
    await runs_of_every_end(caller, tenant)
    assert await found(caller, filter="duration > 5m", sort="duration") == ["running", "long"]
    assert await found(caller, filter="duration < 130s", sort="duration") == ["short", "lost"]
    assert await found(caller, filter="duration IS MISSING") == ["queued"]
    page = await caller.get("/v1/runs", params={"columns": "duration", "sort": "-duration"})
    assert [one["name"] for one in page["runs"]] == ["long", "running", "lost", "short", "queued"]
    (long, running, lost, short, queued) = (one["values"][0] for one in page["runs"])
    assert (long, short, queued) == (2_400.0, 60.0, None)
    assert 600 <= running < 700
    assert lost == 120.0
    for one in page["runs"]:
        facts = await caller.get(f"/v1/runs/{one['id']}")
        if one["name"] == "running":
            assert facts["duration_seconds"] >= running
        else:
            assert facts["duration_seconds"] == one["values"][0]


@pytest.mark.parametrize("sign", ["", "-"])
async def test_pages_by_duration_hold_each_run_once(
    caller: Caller, tenant: Tenant, sign: str
) -> None:
    await runs_of_every_end(caller, tenant)
    whole = await found(caller, sort=f"{sign}duration")
    assert len(whole) == 5
    assert await pages(caller, sort=f"{sign}duration", limit=1) == whole


async def test_a_search_says_of_attempts_and_steps_what_the_facts_say(caller: Caller) -> None:
    """A scalar has no step, and a run that nobody registered an attempt of is at its first."""
    for name, begun in (("plain", None), ("resumed", 2)):
        run = await caller.make_run(name=name)
        await caller.log(run, "stepped", [3.0, 1.0, 2.0])
        points = [{"key": "scalar", "value": 1.0}]
        await caller.post(f"/v1/runs/{run}/metrics", {"points": points})
        if begun is not None:
            await caller.post(f"/v1/runs/{run}/attempts", {"number": begun})
    stats = [f"metrics.{key}.{stat}" for key in ("scalar", "stepped") for stat in STEPS]
    page = await caller.get(
        "/v1/runs", params={"columns": ",".join(["attempts", *stats]), "sort": "attempts"}
    )
    assert [one["name"] for one in page["runs"]] == ["plain", "resumed"]
    for one, attempts in zip(page["runs"], (1, 2), strict=True):
        assert one["values"] == [attempts, None, None, 1, 0]
        assert (await caller.get(f"/v1/runs/{one['id']}"))["attempts"] == attempts
        series = (await caller.get(f"/v1/runs/{one['id']}/metrics"))["series"]
        assert [told[stat] for told in series for stat in STEPS] == one["values"][1:]
    assert await found(caller, filter="attempts = 1") == ["plain"]
    assert await found(caller, filter="attempts = 0") == []
    for stat in STEPS:
        assert len(await found(caller, filter=f"metrics.scalar.{stat} IS MISSING")) == 2
        assert await found(caller, filter=f"metrics.scalar.{stat} < 5") == []
        assert await found(caller, filter=f"metrics.stepped.{stat} IS MISSING") == []
        mixed = await found(caller, sort=f"metrics.scalar.{stat}")
        assert mixed == ["resumed", "plain"]  # no value leads: the newest first


async def test_a_search_by_a_body_takes_all_that_one_by_an_address_takes(
    app: Litestar, caller: Caller
) -> None:
    (find,) = (one for method, path, one in routes(app) if (method, path) == ("GET", "/v1/runs"))
    names = {one.name for one in query_parameters(find)}
    assert names == set(RunSearch.__struct_fields__)
    run = await caller.make_run(name="gone")
    await caller.make_run(name="here")
    await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    for trashed, expected in ((True, ["gone"]), (False, ["here"])):
        page = await caller.post("/v1/runs/search", {"trashed": trashed})
        assert [one["name"] for one in page["runs"]] == expected
        assert await found(caller, trashed=trashed) == expected


async def test_a_sort_by_what_no_run_has_is_warned_of_and_lists_all(caller: Caller) -> None:
    for name, values in (("best", [0.9]), ("worst", [0.1]), ("nan", ["NaN"]), ("none", None)):
        run = await caller.make_run(name=name, params={"lr": 1}, tags={"stage": "a"})
        if values is not None:
            await caller.log(run, "acc", values)
    for sort, expected in (
        ("-metrics.acc", ["best", "worst", "none", "nan"]),
        ("metrics.acc", ["worst", "best", "none", "nan"]),
    ):
        page = await caller.get("/v1/runs", params={"sort": sort})
        assert ([one["name"] for one in page["runs"]], page["warnings"]) == (expected, [])
        assert await pages(caller, sort=sort, limit=3) == expected
    for sort, warning in (
        ("-metrics.nosuch", "metrics.nosuch"),
        ("metrics.acc{split=val}.min,params.lr", "metrics.acc{split=val}.min"),
        ("params.nosuch,-created", "params.nosuch"),
        ("tags.stage,tags.nosuch", "tags.nosuch"),
    ):
        page = await caller.get("/v1/runs", params={"sort": sort})
        assert len(page["runs"]) == 4
        assert page["warnings"] == [f"sort: no run of the project has {warning}"]


async def test_a_filter_that_finds_nothing_is_told_which_name_nobody_has(caller: Caller) -> None:
    run = await caller.make_run(params={"lr": 1})
    await caller.log(run, "loss", [1.0])
    sent = "(params.lr > 5 OR NOT metrics.los < 1) AND status = running"
    page = await caller.get("/v1/runs", params={"filter": sent})
    assert page["warnings"] == ["filter: no run of the project has metrics.los"]
    page = await caller.get("/v1/runs", params={"filter": "params.lr > 5"})
    assert page["warnings"] == []
    page = await caller.get("/v1/runs", params={"filter": "metrics.los IS MISSING"})
    assert (len(page["runs"]), page["warnings"]) == (1, [])
    page = await caller.post("/v1/runs/search", {"filter": sent})
    assert page["warnings"] == ["filter: no run of the project has metrics.los"]


@pytest.mark.parametrize(
    "name",
    ["plain", "two words", 'a "b"', "back\\slash", "it's", "exp_like", "AND", "é ü", "50%_"],
)
async def test_an_experiment_and_a_run_are_found_by_any_name(caller: Caller, name: str) -> None:
    await caller.post("/v1/experiments", {"name": name}, status=201)
    await caller.make_run(name=name, experiment=name)
    await caller.make_run(name="other")
    quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    for field in ("experiment", "name"):
        assert await found(caller, filter=f"{field} = {quoted}") == [name]
        assert await found(caller, filter=f"{field} IN ({quoted}, nothing)") == [name]
    assert await found(caller, filter=f"experiment != {quoted}") == []
    page = await caller.get("/v1/runs", params={"filter": f"name = {quoted}"})
    again = await caller.get("/v1/runs", params={"filter": page["filter_canonical"]})
    assert again["runs"] == page["runs"]
    assert await found(caller, sort="-experiment") == [name, "other"]
