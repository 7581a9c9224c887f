"""Ingest against a model in plain Python, on the real database, as the role without power."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mapi.database.door import Database
from mapi.errors import NotFoundError
from mapi.tracking.batch import PointBatch, Series
from mapi.tracking.ingest import IngestCounts, write_points

if TYPE_CHECKING:
    import uuid

    from tests.mapi.tenants import Tenant

Point = tuple[int, int, int, float]
SERIES = [Series("a"), Series("b"), Series("a", (("x", "1"),))]
NOW_US = 1_780_000_000_000_000
POINTS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(-1, 4),
        st.integers(0, 3),
        st.sampled_from([0.0, 1.5, -2.0, math.nan, math.inf, -math.inf]),
    ),
    max_size=12,
)


def batch_of(points: list[Point]) -> PointBatch:
    columns = list(zip(*points, strict=True)) if points else [(), (), (), ()]
    return PointBatch(
        SERIES,
        np.array(columns[0], dtype=np.int64),
        np.array(columns[1], dtype=np.int64),
        np.array(columns[2], dtype=np.int64) + NOW_US,
        np.array(columns[3], dtype=np.float64),
    )


class Log:
    """What the database must say, in plain Python."""

    def __init__(self) -> None:
        #: by attempt, then series and step: time and value
        self.points: dict[int, dict[tuple[int, int], tuple[int, float]]] = {}

    def write(self, attempt: int, points: list[Point]) -> tuple[int, int]:
        """Return how many places changed, and how many points came with another value."""
        mine = self.points.setdefault(attempt, {})
        before = dict(mine)
        conflicts = 0
        for series, step, time, value in points:
            known = mine.get((series, step))
            if known is None or (step == -1 and time >= known[0]):
                mine[series, step] = (time, value)
            elif step != -1 and repr(known[1]) != repr(value):
                conflicts += 1
        changed = sum(repr(before.get(place)) != repr(point) for place, point in mine.items())
        return changed, conflicts

    def default_reading(self) -> dict[int, dict[int, tuple[int, float, int]]]:
        """Return by series and step: time, value and the newest attempt that wrote it."""
        reading: dict[int, dict[int, tuple[int, float, int]]] = {}
        for attempt in sorted(self.points):
            for (series, step), (time, value) in self.points[attempt].items():
                reading.setdefault(series, {})[step] = (time, value, attempt)
        return reading

    def summaries(self) -> dict[tuple[str, str], dict[str, Any]]:
        found = {}
        for series, steps in self.default_reading().items():
            finite = {step: one[1] for step, one in steps.items() if math.isfinite(one[1])}
            last = max(steps)
            low = min(finite, key=lambda step: (finite[step], step), default=None)
            high = min(finite, key=lambda step: (-finite[step], step), default=None)
            found[SERIES[series].key, str(dict(SERIES[series].labels))] = {
                "count": len(steps),
                "nonfinite": len(steps) - len(finite),
                "times": (
                    min(one[0] for one in steps.values()),
                    max(one[0] for one in steps.values()),
                ),
                "last": (last, repr(steps[last][1])),
                "min": None if low is None else (finite[low], low),
                "max": None if high is None else (finite[high], high),
                "sum": sum(finite.values()),
                "attempt": max(one[2] for one in steps.values()),
                "is_scalar": set(steps) == {-1},
            }
        return found


def stored_summaries(tenant: Tenant, run_id: uuid.UUID) -> dict[tuple[str, str], dict[str, Any]]:
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        rows = connection.execute(
            "select key, labels, count, nonfinite_count, first_time, last_time, last_step,"
            " last_value, min_value, min_step, max_value, max_step, finite_sum, attempt, is_scalar"
            " from mapi.run_metric_summary where tenant_id = %s and run_id = %s",
            [tenant.id, run_id],
        ).fetchall()

    def microseconds(time: Any) -> int:
        since = time - datetime(1970, 1, 1, tzinfo=UTC)
        return int(since / timedelta(microseconds=1)) - NOW_US

    return {
        (row[0], str(row[1])): {
            "count": row[2],
            "nonfinite": row[3],
            "times": (microseconds(row[4]), microseconds(row[5])),
            "last": (row[6], repr(row[7])),
            "min": None if row[8] is None else (row[8], row[9]),
            "max": None if row[10] is None else (row[10], row[11]),
            "sum": row[12],
            "attempt": row[13],
            "is_scalar": row[14],
        }
        for row in rows
    }


BATCHES = st.lists(st.tuples(st.integers(1, 3), POINTS), min_size=1, max_size=5)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BATCHES)
def test_points_and_summaries_are_those_of_the_rules(
    database_url: str, tenant: Tenant, batches: list[tuple[int, list[Point]]]
) -> None:
    run_id = tenant.run()
    log = Log()

    async def write_all() -> None:
        database = Database(database_url, connections=2)
        await database.open()
        try:
            for attempt, points in batches:
                async with database.transaction(tenant.reach) as connection:
                    await connection.execute(
                        "insert into run_attempts (tenant_id, run_id, attempt, source)"
                        " values (%s, %s, %s, 'api') on conflict do nothing",
                        [tenant.id, run_id, attempt],
                    )
                    counts = await write_points(
                        connection, run_id, batch_of(points), attempt=attempt
                    )
                changed, conflicts = log.write(attempt, points)
                assert counts == IngestCounts(changed, len(points) - changed, conflicts)
                assert stored_summaries(tenant, run_id) == log.summaries()
        finally:
            await database.close()

    asyncio.run(write_all())
    with psycopg.connect(tenant.server.superuser_url()) as superuser:
        totals = superuser.execute(
            "select point_count, (select count(*) from mapi.run_metrics as m where m.run = r.id)"
            " from mapi.runs as r where r.id = %s",
            [run_id],
        ).fetchone()
    stored = sum(len(points) for points in log.points.values())
    assert totals == (stored, stored)


@pytest.mark.anyio
async def test_a_large_batch_takes_the_staging_table_and_says_the_same(
    database: Database, tenant: Tenant
) -> None:
    run_id = tenant.run()
    points = [(0, step, step, float(step)) for step in range(3_000)]
    for expected in (IngestCounts(3_000), IngestCounts(0, 3_000)):
        async with database.transaction(tenant.reach) as connection:
            assert await write_points(connection, run_id, batch_of(points)) == expected
    more = [(0, step, step, -1.0) for step in range(2_999, 4_000)]
    async with database.transaction(tenant.reach) as connection:
        assert await write_points(connection, run_id, batch_of(more)) == IngestCounts(1_000, 1, 1)


@pytest.mark.anyio
async def test_writers_of_one_run_in_opposite_order_lose_nothing(
    database: Database, tenant: Tenant
) -> None:
    run_id = tenant.run()

    async def write(writer: int) -> int:
        accepted = 0
        for part in range(10):
            points = [(series, writer * 100 + part, part, 1.0) for series in range(3)]
            batch = batch_of(points if writer % 2 else points[::-1])
            counts = await database.run(
                tenant.reach,
                lambda connection, batch=batch: write_points(connection, run_id, batch),  # type: ignore[misc]
            )
            accepted += counts.accepted
        return accepted

    assert await asyncio.gather(*(write(writer) for writer in range(4))) == [30] * 4
    summaries = stored_summaries(tenant, run_id)
    assert [one["count"] for one in summaries.values()] == [40] * 3


@pytest.mark.anyio
async def test_another_tenants_run_does_not_exist(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    run_id = tenant.run()
    with pytest.raises(NotFoundError):
        async with database.transaction(other_tenant.reach) as connection:
            await write_points(connection, run_id, batch_of([(0, 0, 0, 1.0)]))
    assert stored_summaries(tenant, run_id) == {}
