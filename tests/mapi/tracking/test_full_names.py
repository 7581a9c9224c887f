"""A name that is too long for a label is kept in full, wherever the series is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from tests.mapi.api.media_calls import png, send
from tests.mapi.callers import Caller, make_caller
from tests.mapi.importing import bring_in, exported
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import set_limits, value_of

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.api.app import build_app
from mapi.series.name_map import series_from_name
from mapi.tracking.changes import Changes
from mapi.tracking.live import Position, read_delta
from mapi.wire.events import TrackingFrame

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio

BEGINNING = "Loss of the ä-encoder / " * 20
NAME = f"{BEGINNING}first"
OTHER = f"{BEGINNING}second"
COUNT = "select count(*) from mapi.run_series_names where tenant_id = %s"


@pytest.fixture
def app(database: Database) -> Litestar:
    changes = Changes(database, None)
    changes.end_streams()
    return build_app(database, version="0", changes=changes, objects=temporary_objects())


@pytest.fixture
def caller(app: Litestar, tenant: Tenant) -> Caller:
    return make_caller(app, tenant)


def columns(name: str, values: list[float], *, start: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "values": values,
        "steps": list(range(start, start + len(values))),
        **more,
    }


async def names_of(caller: Caller, run: str) -> list[str]:
    return [one["name"] for one in (await caller.get(f"/v1/runs/{run}/metrics"))["series"]]


async def test_a_long_name_is_given_back_in_full_wherever_its_series_is_told_of(
    caller: Caller,
) -> None:
    run = await caller.make_run()
    sent = {"series": [columns(NAME, [1.0, 2.0]), columns(OTHER, [3.0]), columns("loss", [4.0])]}
    await caller.post(f"/v1/runs/{run}/metrics", sent)
    assert sorted(await names_of(caller, run)) == sorted([NAME, OTHER, "loss"])
    other = await caller.make_run()
    await caller.post(f"/v1/runs/{other}/metrics", {"series": [columns(NAME, [5.0])]})
    compared = await caller.get(f"/v1/run-compare?ids={run},{other}&buckets=1")
    told = {
        summary["name"]
        for one in compared["series"]
        for summary in one["summaries"]
        if summary is not None
    }
    assert told == {NAME, OTHER, "loss"}


async def test_whoever_follows_a_run_hears_the_name_in_full(
    caller: Caller, database: Database, tenant: Tenant
) -> None:
    run = await caller.make_run()
    await caller.post(f"/v1/runs/{run}/metrics", {"series": [columns(NAME, [1.0])]})
    async with database.transaction(tenant.reach) as connection:
        delta, _ = await read_delta(
            connection, uuid_from_text(RUN, run), Position(0, 0), known=None
        )
    frames = [one for one in delta.frames if isinstance(one, TrackingFrame)]
    assert [one.name for frame in frames for one in frame.series] == [NAME]


async def test_a_curve_and_a_search_take_the_name_in_full(caller: Caller) -> None:
    run = await caller.make_run()
    await caller.post(
        f"/v1/runs/{run}/metrics", {"series": [columns(NAME, [1.0]), columns(OTHER, [3.0])]}
    )
    for name, value in ((NAME, 1.0), (OTHER, 3.0)):
        filters = f"metrics.{json.dumps(name, ensure_ascii=False)} = {value}"
        found = await caller.post("/v1/runs/search", {"filter": filters})
        assert [one["id"] for one in found["runs"]] == [run]
        key, labels = series_from_name(name)
        curve = await caller.get(
            f"/v1/runs/{run}/metrics/points",
            params={"key": key, **{f"label.{label}": value for label, value in labels}},
        )
        assert [point[2] for point in curve["points"]] == [value]


async def test_a_name_is_kept_once_whoever_logs_it_and_however_often(
    caller: Caller, tenant: Tenant
) -> None:
    run = await caller.make_run()
    for start, more in (
        (0, {}),
        (1, {}),
        (1, {}),  # all of it known
        (0, {"rank": 1}),
        (0, {"stream": "data", "writer": "w", "seq": 1}),
        (0, {"stream": "queue", "writer": "q", "seq": 1, "after": -1}),
    ):
        sent = {"series": [columns(NAME, [1.0], start=start)], **more}
        await caller.post(f"/v1/runs/{run}/metrics", sent)
    rows = [{"name": NAME, "step": 9, "value": 1.0, "labels": {"split": "val"}}]
    await caller.post(f"/v1/runs/{run}/metrics", {"points": rows})
    names = await names_of(caller, run)
    assert names.count(NAME) == 4
    # With another label it is no name of another tool any more, but a series of ours.
    (other,) = [name for name in names if name != NAME]
    assert other.endswith(",split=val}")
    assert unquote(other).partition('"')[2].startswith(NAME)
    assert value_of(tenant, COUNT, tenant.id) == 1


async def test_a_correction_keeps_the_names_of_what_is_new(caller: Caller) -> None:
    run = await caller.make_run()
    await caller.post(f"/v1/runs/{run}/metrics", {"series": [columns(NAME, [1.0])]})
    sent = {"series": [columns(NAME, [2.0]), columns(OTHER, [3.0])]}
    await caller.post(f"/v1/runs/{run}/metrics/corrections", sent)
    assert sorted(await names_of(caller, run)) == sorted([NAME, OTHER])


async def test_what_a_budget_has_no_room_for_leaves_no_name(
    caller: Caller, tenant: Tenant
) -> None:
    set_limits(tenant, series=1)
    run = await caller.make_run()
    sent = {"series": [columns(NAME, [1.0]), columns(OTHER, [3.0])]}
    await caller.post(f"/v1/runs/{run}/metrics", sent, status=429)
    assert await names_of(caller, run) == [NAME]
    assert value_of(tenant, COUNT, tenant.id) == 1


async def test_names_go_out_and_come_in_with_their_series(
    caller: Caller, app: Litestar, other_tenant: Tenant
) -> None:
    run = await caller.make_run()
    sent = {"series": [columns(NAME, [1.0]), columns(OTHER, [3.0]), columns("f1-score", [4.0])]}
    await caller.post(f"/v1/runs/{run}/metrics", sent)
    lines = await exported(caller)
    points = [one for one in lines if one["type"] == "points"]
    assert {one["name"] for one in points} == {NAME, OTHER, None}
    stranger = make_caller(app, other_tenant)
    for _ in range(2):
        await bring_in(stranger, lines)
        assert sorted(await names_of(stranger, run)) == sorted([NAME, OTHER, "f1-score"])
    assert [one for one in await exported(stranger) if one["type"] == "points"] == points


@pytest.mark.parametrize(
    "wrong", [f"{NAME}x", "loss", OTHER, f"{NAME}\0"], ids=["longer", "short", "other", "nul"]
)
@pytest.mark.parametrize("of", ["points", "media"])
async def test_an_import_takes_no_name_that_its_series_does_not_stand_for(
    caller: Caller, app: Litestar, other_tenant: Tenant, wrong: str, of: str
) -> None:
    run = await caller.make_run()
    await caller.post(f"/v1/runs/{run}/metrics", {"series": [columns(NAME, [1.0])]})
    key, ((_, raw),) = series_from_name(NAME)
    labelled: dict[str, Any] = {"label.raw": raw}
    await send(caller, run, png(), key=key, **labelled)
    lines = await exported(caller)
    (at,) = [at for at, one in enumerate(lines) if one["type"] == of]
    lines[at]["name"] = wrong
    stranger = make_caller(app, other_tenant)
    refused = await bring_in(stranger, lines, status=422)
    assert refused["errors"][0]["pointer"].startswith(f"/lines/{at}")


@pytest.mark.parametrize("who", [{}, {"stream": "data", "rank": 2}], ids=["default", "other"])
async def test_the_name_of_a_media_item_is_kept_once_it_is_there(
    caller: Caller, database: Database, tenant: Tenant, app: Litestar, other_tenant: Tenant,
    who: dict[str, Any],
) -> None:  # fmt: skip
    run = await caller.make_run()
    key, ((_, raw),) = series_from_name(NAME)
    labelled: dict[str, Any] = {"label.raw": raw}
    named = {"series": [{"name": NAME, "values": []}], **who}
    await caller.post(f"/v1/runs/{run}/metrics", named)
    assert value_of(tenant, COUNT, tenant.id) == 0
    item = await send(caller, run, png(), key=key, step=1, **labelled, **who)
    assert item["name"] == raw
    await caller.post(f"/v1/runs/{run}/metrics", named)
    await send(caller, run, png(), key="f1_score", **(labelled | {"label.raw": "f1-score"}))
    (short, long) = (await caller.get(f"/v1/runs/{run}/media"))["media"]
    assert {short["name"], long["name"]} == {NAME, "f1-score"}
    async with database.transaction(tenant.reach) as connection:
        delta, _ = await read_delta(
            connection, uuid_from_text(RUN, run), Position(0, 0), known=None
        )
    frames = [one for one in delta.frames if isinstance(one, TrackingFrame)]
    assert {one.name for frame in frames for one in frame.media} == {NAME, "f1-score"}
    lines = await exported(caller)
    items = [one for one in lines if one["type"] == "media"]
    assert {one["name"] for one in items} == {NAME, None}
    await bring_in(make_caller(app, other_tenant), lines)


async def test_a_purged_run_leaves_no_names(caller: Caller, tenant: Tenant) -> None:
    run = await caller.make_run()
    await caller.post(f"/v1/runs/{run}/metrics", {"series": [columns(NAME, [1.0])]})
    await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    await caller.post(f"/v1/runs/{run}/purge", None)
    assert value_of(tenant, COUNT, tenant.id) == 0
