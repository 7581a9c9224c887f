"""Batches that name the one they follow: each is taken in its turn, whole, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import RunCaller, caller_of
from tests.mapi.tenants_access import set_limits

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio

CORRECTIONS = "/metrics/corrections"


def batch(after: int, seq: int, values: dict[int, float], **about: Any) -> dict[str, Any]:
    series = {"key": "loss", "steps": [*values], "values": [*values.values()]}
    return {"writer": "file", "after": after, "seq": seq, "series": [series], **about}


async def stored(call: RunCaller) -> dict[int, float]:
    curve = await call("GET", "/metrics/points", key="loss")
    return {step: value for step, _, value in curve["points"]}


async def stands(call: RunCaller, writer: str = "file") -> int | None:
    found = (await call("GET", "/writers"))["writers"]
    return {one["writer"]: one["seq"] for one in found}.get(writer)


@pytest.mark.parametrize("route", ["/metrics", CORRECTIONS])
async def test_a_batch_is_taken_once_and_in_its_turn(
    database: Database, tenant: Tenant, route: str
) -> None:
    async with caller_of(database, tenant) as call:
        first, second = batch(-1, 10, {0: 1.0}), batch(10, 20, {1: 2.0})
        early = await call("POST", route, second, status=409)
        assert early["code"] == "STATE_CONFLICT"
        assert early["errors"][0]["pointer"] == "/after"
        assert "accepted_seq" not in early
        assert (await call("POST", route, first))["accepted_seq"] == 10
        assert (await call("POST", route, first))["duplicates"] == 1
        assert (await call("POST", route, second))["accepted"] == 1
        late = await call("POST", route, batch(10, 30, {2: 3.0}), status=409)
        assert late["accepted_seq"] == 20
        again = await call("POST", route, first)
        assert (again["accepted"], again["accepted_seq"]) == (0, 20)
        assert await stored(call) == {0: 1.0, 1: 2.0}
        assert await stands(call) == 20


async def test_of_two_that_cut_a_file_at_other_lines_one_goes_on_where_the_other_stood(
    database: Database, tenant: Tenant
) -> None:
    """Both would count as taken, and the first value would stay, without the word that it follows."""
    async with caller_of(database, tenant) as call:
        await call("POST", CORRECTIONS, batch(-1, 99, {5: 1.0}))
        merged = batch(-1, 149, {5: 2.0, 6: 1.0})
        assert (await call("POST", CORRECTIONS, merged, status=409))["accepted_seq"] == 99
        await call("POST", CORRECTIONS, batch(99, 149, {5: 2.0, 6: 1.0}))
        assert await stored(call) == {5: 2.0, 6: 1.0}


@pytest.mark.parametrize("after", [None, 10])
async def test_a_correction_that_comes_late_brings_no_older_value_back(
    database: Database, tenant: Tenant, after: int | None
) -> None:
    async with caller_of(database, tenant) as call:
        await call("POST", "/metrics", batch(-1, 10, {0: 1.0}))
        old, new = batch(10, 20, {0: 2.0}), batch(20, 30, {0: 3.0})
        for one in (old, new):
            one["after"] = one["after"] if after is not None else None
            assert (await call("POST", CORRECTIONS, one))["accepted"] == 1
        late = await call("POST", CORRECTIONS, old)
        assert (late["accepted"], late["duplicates"], late["accepted_seq"]) == (0, 1, 30)
        assert await stored(call) == {0: 3.0}


async def test_parts_of_a_batch_leave_the_writer_where_it_is(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:
        await call("POST", "/metrics", batch(-1, 10, {}))
        assert (await call("POST", "/metrics", batch(10, 10, {0: 1.0})))["accepted"] == 1
        assert await stands(call) == 10
        assert (await call("POST", "/metrics", batch(10, 20, {1: 1.0})))["accepted"] == 1
        assert (await call("POST", CORRECTIONS, batch(10, 10, {0: 9.0})))["accepted"] == 0
        assert await stored(call) == {0: 1.0, 1: 1.0}


async def test_a_spent_budget_moves_the_writer_on(database: Database, tenant: Tenant) -> None:
    set_limits(tenant, points=2)
    async with caller_of(database, tenant) as call:
        said = await call("POST", CORRECTIONS, batch(-1, 10, {0: 1, 1: 1, 2: 1}), status=429)
        assert (said["accepted"], said["rejected"], said["accepted_seq"]) == (2, 1, 10)
        again = await call("POST", CORRECTIONS, batch(-1, 10, {0: 1, 1: 1, 2: 1}))
        assert (again["accepted"], again["accepted_seq"]) == (0, 10)


async def test_lines_and_spans_of_a_queue_may_leave_numbers_out(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:
        lines = {"writer": "l", "after": -1, "seq": 98, "lines": [{"message": "a"}] * 3}
        assert (await call("POST", "/logs", lines))["accepted_seq"] == 100
        assert (await call("POST", "/logs", lines))["duplicates"] == 3
        more = {**lines, "after": 100, "seq": 500, "lines": [{"message": "b"}]}
        assert (await call("POST", "/logs", more))["accepted_seq"] == 500
        late = {**lines, "after": 100, "seq": 600}
        assert (await call("POST", "/logs", late, status=409))["accepted_seq"] == 500
        empty = {**lines, "after": 500, "seq": 900, "lines": []}
        assert (await call("POST", "/logs", empty))["accepted_seq"] == 900
        assert [one["message"] for one in (await call("GET", "/logs"))["lines"]] == [*"aaab"]
        span = {"name": "fwd", "start_ns": 1_700_000_000_000_000_000, "duration_ns": 5}
        spans = {"writer": "s", "after": -1, "seq": 7, "spans": [span]}
        assert (await call("POST", "/spans", spans))["accepted"] == 1
        assert (await call("POST", "/spans", spans))["duplicates"] == 1
        assert await stands(call, "s") == 7


@pytest.mark.parametrize(
    ("sent", "pointer"),
    [
        ({"after": 3}, "/seq"),
        ({"writer": "w", "seq": 2, "after": 3}, "/after"),
        ({"writer": "w", "seq": 2, "after": -2}, "/after"),
        ({"writer": "w", "after": 1}, "/seq"),
    ],
)
async def test_a_batch_says_where_it_stands_or_nothing_of_it(
    database: Database, tenant: Tenant, sent: dict[str, Any], pointer: str
) -> None:
    async with caller_of(database, tenant) as call:
        for route, items in (("/metrics", "series"), ("/logs", "lines")):
            said = await call("POST", route, {items: [], **sent}, status=422)
            assert said["errors"][0]["pointer"] == pointer
