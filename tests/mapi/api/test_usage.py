"""`GET /v1/usage` is what a count of the rows says, whatever was done to the runs."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.mapi.api.media_calls import png
from tests.mapi.callers import Caller, make_caller
from tests.mapi.pruning import prune
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import set_limits

from mapi.api.app import build_app
from mapi.tracking.changes import Changes
from mapi.tracking.compaction import compact_run
from mapi.wire.enums import Budget

if TYPE_CHECKING:
    import asyncio

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

RUNS = 2
STEPS = st.lists(st.one_of(st.none(), st.integers(0, 12)), min_size=1, max_size=8)
EVENTS = st.lists(
    st.tuples(
        st.integers(0, RUNS - 1),
        st.one_of(
            st.tuples(st.just("points"), st.integers(1, 2), st.sampled_from("ab"), STEPS),
            st.tuples(st.just("points"), st.integers(1, 2), st.sampled_from("ab"), STEPS),
            st.tuples(st.just("correct"), st.sampled_from("ab"), STEPS),
            st.tuples(st.just("delete"), st.sampled_from("ab"), st.integers(-1, 6)),
            st.tuples(st.just("delete series"), st.sampled_from("ab")),
            st.tuples(st.just("lines"), st.integers(1, 3)),
            st.tuples(st.just("spans"), st.integers(1, 3)),
            st.tuples(st.just("media"), st.integers(0, 2), st.integers(0, 3)),
            st.tuples(st.just("delete media")),
            st.tuples(st.just("end")),
            st.tuples(st.just("compact")),
            st.tuples(st.just("prune")),
            st.tuples(st.just("trash and back")),
            st.tuples(st.just("purge")),
        ),
    ),
    min_size=4,
    max_size=14,
)
COUNTED = """
select
    (select count(*) from mapi.runs where tenant_id = %(t)s),
    (select count(*) from mapi.run_metrics where tenant_id = %(t)s),
    (
        select count(*) from (
            select distinct run_id, key, labels_hash from mapi.run_series where tenant_id = %(t)s
        ) as series
    ),
    (select count(*) from mapi.run_logs where tenant_id = %(t)s),
    (select count(*) from mapi.run_spans where tenant_id = %(t)s),
    (
        select coalesce(sum(octet_length(message)), 0) from mapi.run_logs where tenant_id = %(t)s
    ),
    (select count(*) from mapi.run_media where tenant_id = %(t)s),
    (select coalesce(sum(size_bytes), 0) from mapi.run_media where tenant_id = %(t)s),
    (select coalesce(sum(count), 0) from mapi.run_metric_chunks where tenant_id = %(t)s),
    (select coalesce(sum(compacted_count), 0) from mapi.runs where tenant_id = %(t)s)
"""


#: By the words of the budgets, in their order: the most that one run of the tenant has.
MOST = """
select
    coalesce(max(counted.series), 0), coalesce(max(counted.points), 0), coalesce(max(counted.params), 0), coalesce(max(counted.tags), 0),
    coalesce(max(counted.lines), 0), coalesce(max(counted.spans), 0), coalesce(max(counted.items), 0),
    coalesce(max(counted.media_bytes), 0)
from mapi.runs as run
cross join lateral (
    select
        (
            select count(distinct (key, labels_hash)) from mapi.run_series as one
            where one.tenant_id = run.tenant_id and one.run_id = run.id
        ) as series,
        (
            select count(*) from mapi.run_metrics as one
            where one.tenant_id = run.tenant_id and one.run = run.id
        ) as points,
        (select count(*) from mapi.run_params as one where one.run_id = run.id) as params,
        (select count(*) from mapi.run_tags as one where one.run_id = run.id) as tags,
        (select count(*) from mapi.run_logs as one where one.run_id = run.id) as lines,
        (select count(*) from mapi.run_spans as one where one.run_id = run.id) as spans,
        (select count(*) from mapi.run_media as one where one.run_id = run.id) as items,
        (select sum(size_bytes) from mapi.run_media as one where one.run_id = run.id) as media_bytes
) as counted
where run.tenant_id = %s
"""
MOST_OF = (
    "series",
    "points",
    "params",
    "tags",
    "log_lines",
    "spans",
    "media_items",
    "media_bytes",
)


class World:
    """Runs of a tenant, and what can be done to them."""

    def __init__(self, caller: Caller, database: Database, tenant: Tenant) -> None:
        self.caller, self.database, self.tenant = caller, database, tenant
        self.runs: list[str] = []

    async def fill(self) -> None:
        self.runs = [
            await self.caller.make_run(
                params={f"p{one}": one for one in range(at + 1)}, tags={"a": "b"} if at else {}
            )
            for at in range(RUNS)
        ]

    async def do(self, at: int, event: tuple[Any, ...]) -> None:
        """Do what an event says to one of the runs."""
        kind, *what = event
        run = self.runs[at]
        if kind == "purge":
            await self.purge(at)
        elif kind == "compact":
            await compact_run(self.database, self.tenant.reach, uuid.UUID(run[4:]))
        elif kind == "prune":
            await prune(self.database, self.tenant, uuid.UUID(run[4:]))
        else:
            await getattr(self, kind.replace(" ", "_"))(run, f"/v1/runs/{run}", *what)

    async def points(
        self, run: str, path: str, attempt: int, key: str, steps: list[int | None]
    ) -> None:
        series = {"key": key, "steps": steps, "values": [float(one or 0) for one in steps]}
        await self._post(f"{path}/metrics", {"series": [series], "attempt": attempt})

    async def correct(self, run: str, path: str, key: str, steps: list[int | None]) -> None:
        series = {"key": key, "steps": steps, "values": [9.0] * len(steps)}
        await self._post(f"{path}/metrics/corrections", {"series": [series]})

    async def delete(self, run: str, path: str, key: str, first: int) -> None:
        body = {"key": key, "from_step": first, "to_step": first + 3, "reason": "r"}
        await self._post(f"{path}/corrections", body)

    async def delete_series(self, run: str, path: str, key: str) -> None:
        await self._post(f"{path}/corrections", {"key": key, "reason": "r"})

    async def lines(self, run: str, path: str, count: int) -> None:
        lines = [{"message": "m" * (one + 1)} for one in range(count)]
        await self._post(f"{path}/logs", {"lines": lines})

    async def spans(self, run: str, path: str, count: int) -> None:
        one = {"name": "a", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 1}
        await self._post(f"{path}/spans", {"spans": [one] * count})

    async def media(self, run: str, path: str, step: int, grey: int) -> None:
        answer = await self.caller.client.post(
            f"{path}/media",
            content=png(width=1 + grey, grey=grey),
            params={"key": "sample", "step": step},
            headers={**self.caller.headers, "Content-Type": "image/png"},
        )
        assert answer.status_code in {200, 201}

    async def delete_media(self, run: str, path: str) -> None:
        for item in (await self.caller.get(f"{path}/media"))["media"][:1]:
            await self._post(f"{path}/corrections", {"media": item["id"], "reason": "r"})

    async def end(self, run: str, path: str) -> None:
        await self.caller.send("PATCH", path, json={"status": "succeeded"})

    async def trash_and_back(self, run: str, path: str) -> None:
        await self.caller.send("DELETE", path, status=204)
        await self.caller.post(f"{path}/restore", None)

    async def purge(self, at: int) -> None:
        before = await self.counted()
        path = f"/v1/runs/{self.runs[at]}"
        await self.caller.send("DELETE", path, status=204)
        freed = await self.caller.post(f"{path}/purge", None)
        after = await self.counted()
        # The run, its points, lines, spans and media items.
        assert freed["rows"] == sum(before[place] - after[place] for place in (0, 1, 3, 4, 6))
        self.runs[at] = await self.caller.make_run()

    async def _post(self, path: str, body: Any) -> None:
        answer = await self.caller.client.post(path, json=body, headers=self.caller.headers)
        # What is not there cannot be deleted; what there is no room for is told.
        assert answer.status_code in {200, 201, 404, 429}, answer.text

    async def counted(self) -> tuple[int, ...]:
        with psycopg.connect(self.tenant.server.superuser_url()) as connection:
            row = connection.execute(COUNTED, {"t": self.tenant.id}).fetchone()
        assert row is not None
        return tuple(int(one) for one in row)

    async def check(self, *, span_bytes: int) -> None:
        (told,) = (await self.caller.get("/v1/usage"))["projects"]
        (
            runs,
            points,
            series,
            lines,
            spans,
            line_bytes,
            items,
            media,
            chunked,
            noted,
        ) = await self.counted()
        assert told["runs"] == runs
        assert told["rows"] == {
            "points": points,
            "series": series,
            "log_lines": lines,
            "spans": spans,
        }
        assert (told["media_items"], told["media_bytes"]) == (items, media)
        assert chunked == noted
        assert told["size_bytes"] == {
            "points": 95 * (points - chunked) + 20 * chunked,
            "log_lines": line_bytes,
            "spans": span_bytes * spans,
            "media": media,
        }
        with psycopg.connect(self.tenant.server.superuser_url()) as connection:
            most = connection.execute(MOST, [self.tenant.id]).fetchone()
        assert most is not None
        assert {name: told["budgets"][name]["used"] for name in MOST_OF} == dict(
            zip(MOST_OF, map(int, most), strict=True)
        )


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(EVENTS)
def test_usage_is_what_a_count_of_rows_says(
    loop: asyncio.Runner, door: Database, tenant: Tenant, events: list[Any]
) -> None:
    set_limits(tenant, points=20)

    async def work() -> None:
        changes = Changes(door, None)
        changes.end_streams()
        app = build_app(door, version="0", changes=changes, objects=temporary_objects())
        world = World(make_caller(app, tenant), door, tenant)
        await world.fill()
        await world.do(0, ("spans", 1))
        (told,) = (await world.caller.get("/v1/usage"))["projects"]
        span_bytes = told["size_bytes"]["spans"] // told["rows"]["spans"]
        for at, event in events:
            await world.do(at, event)
            await world.check(span_bytes=span_bytes)
        with psycopg.connect(tenant.server.superuser_url()) as connection:
            connection.execute("delete from mapi.runs where tenant_id = %s", [tenant.id])
            for table in ("run_metric_points", "run_metric_chunks"):
                connection.execute(f"delete from mapi.{table} where tenant_id = {tenant.id}")

    loop.run(work())


@pytest.mark.anyio
async def test_usage_says_how_near_runs_are_to_their_budgets(
    caller: Caller, tenant: Tenant, stranger: Caller
) -> None:
    set_limits(tenant, points=4, log_lines="unlimited")
    first, second, third = [await caller.make_run() for _ in range(3)]
    await caller.log(first, "loss", [1.0, 2.0, 3.0])
    for run, count in ((second, 6), (third, 5)):
        answer = await caller.client.post(
            f"/v1/runs/{run}/metrics",
            json={"series": [{"key": "a", "steps": list(range(count)), "values": [0.0] * count}]},
            headers=caller.headers,
        )
        assert answer.status_code == 429
    (told,) = (await caller.get("/v1/usage"))["projects"]
    assert told["budgets"].keys() == {budget.value for budget in Budget}
    assert told["budgets"]["points"] == {"used": 4, "limit": 4, "dropped": 3, "full_runs": 2}
    assert told["budgets"]["series"] == {"used": 1, "limit": 1_000, "dropped": 0, "full_runs": 0}
    assert told["budgets"]["log_lines"]["limit"] == "unlimited"
    assert told["budgets"]["points_per_series"]["used"] is None
    # Another tenant's runs are nobody's neighbours.
    (others,) = (await stranger.get("/v1/usage"))["projects"]
    assert {one["used"] for one in others["budgets"].values()} == {0, None}
    assert {one["dropped"] for one in others["budgets"].values()} == {0}
    (limits,) = [(await caller.get("/v1/limits?project=default"))["tracking"]]
    assert {name: one["limit"] for name, one in told["budgets"].items()} == limits
