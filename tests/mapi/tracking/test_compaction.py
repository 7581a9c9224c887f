"""Compacted or not, pruned or not, a log says what its rules say, while others write and read."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.mapi.cutting import CutDatabase, Fuse, KilledError
from tests.mapi.pruning import prune
from tests.mapi.tracking.log_model import (
    DELETES,
    NOW_US,
    POINTS,
    WRITERS,
    Log,
    apply_event,
    batch_of,
    run_totals,
    series_of,
    stored_summaries,
)

from mapi.errors import NotFoundError
from mapi.tracking.batch import SCALAR_STEP, Series
from mapi.tracking.buckets import read_buckets
from mapi.tracking.compaction import Sizes, compact, compact_run
from mapi.tracking.curves import Stretch, count_points, find_parts, read_points
from mapi.tracking.ingest import write_points
from mapi.tracking.writing import Counts
from mapi.wire.values import value_to_wire

if TYPE_CHECKING:
    import uuid
    from collections.abc import Mapping

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database
    from mapi.wire.metrics import Bucket

#: So small that a handful of points makes several chunks, and several transactions.
SMALL = Sizes(chunk_points=2, batch_points=3, batch_chunks=1, batch_series=2, few=1)
WRITES = st.tuples(st.just("write"), st.integers(0, 2), st.integers(0, 3), POINTS)
EVENTS = st.lists(
    st.one_of(
        WRITES,
        WRITES,
        st.tuples(st.just("correct"), st.integers(0, 2), st.integers(0, 3), POINTS),
        st.tuples(
            st.just("register"),
            st.integers(0, 2),
            st.integers(1, 3),
            st.one_of(st.none(), st.integers(0, 5), st.just("runner")),
        ),
        DELETES,
        st.tuples(st.sampled_from(["compact", "prune"]), st.just(0), st.just(0), st.just(())),
    ),
    min_size=3,
    max_size=10,
)


def execute(tenant: Tenant, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Run a statement past every rule."""
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        cursor = connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []


def finished_run(tenant: Tenant, *, hours: int = 0) -> uuid.UUID:
    run_id = tenant.run()
    execute(
        tenant,
        "update mapi.runs set status = 'succeeded',"
        " finished = now() - make_interval(hours => %s) where id = %s",
        hours,
        run_id,
    )
    return run_id


def chunks_of(tenant: Tenant, run_id: uuid.UUID) -> list[tuple[Any, ...]]:
    return execute(
        tenant,
        "select c.series_id, c.first_step, c.last_step, c.count, c.steps"
        " from mapi.run_metric_chunks as c join mapi.run_series as s on s.id = c.series_id"
        " where s.run_id = %s order by c.series_id, c.first_step",
        run_id,
    )


def check_chunks(tenant: Tenant, run_id: uuid.UUID) -> None:
    """Hold the chunks against what is promised of them."""
    ends: dict[int, int] = {}
    total = 0
    for series_id, first, last, count, steps in chunks_of(tenant, run_id):
        assert steps == sorted(set(steps))
        assert (first, last, count) == (steps[0], steps[-1], len(steps))
        assert first > ends.get(series_id, -1)
        ends[series_id] = last
        total += count
    compacted = execute(tenant, "select compacted_count from mapi.runs where id = %s", run_id)
    assert compacted == [(total,)]


def buckets_of(
    reading: Mapping[int, tuple[int, float, int]], wanted: int
) -> list[tuple[object, ...]]:
    """Return what the buckets of a curve must be."""
    origin = max(min(reading), 0)
    width = max(1, -(-(max(reading) - origin + 1) // wanted))
    piece = -(-width // 16)
    width = piece * -(-width // piece)
    found: dict[int, list[int]] = {}
    for step in sorted(reading):
        found.setdefault((max(step, origin) - origin) // width, []).append(step)
    result: list[tuple[object, ...]] = []
    for steps in found.values():
        values = {step: reading[step][1] for step in steps}
        finite = [step for step in steps if math.isfinite(values[step])]
        low = min(finite, key=lambda step: (values[step], step), default=None)
        high = min(finite, key=lambda step: (-values[step], step), default=None)
        result.append(
            (
                (_said(steps[0]), value_to_wire(values[steps[0]])),
                (_said(steps[-1]), value_to_wire(values[steps[-1]])),
                None if low is None else (_said(low), values[low]),
                None if high is None else (_said(high), values[high]),
                (len(steps), len(steps) - len(finite)),
            )
        )
    return result


def _said(step: int) -> int | None:
    """Return a step as answers have it: a scalar has none."""
    return None if step == SCALAR_STEP else step


def told(bucket: Bucket) -> tuple[object, ...]:
    return (
        (bucket.first_step, bucket.first),
        (bucket.last_step, bucket.last),
        None if bucket.min is None else (bucket.min_step, bucket.min),
        None if bucket.max is None else (bucket.max_step, bucket.max),
        (bucket.count, bucket.nonfinite_count),
    )


async def check_readings(
    door: Database, tenant: Tenant, run_id: uuid.UUID, *, log: Log, names: list[Series]
) -> None:
    """Read every curve in every way, and compare it with the model."""
    reading = log.default_reading()
    for number, name in enumerate(names):
        expected = reading.get(number, {})
        async with door.transaction(tenant.reach) as connection:
            try:
                parts = await find_parts(connection, run_id, name)
            except NotFoundError:
                assert not expected
                continue
            for stretch in (Stretch(), Stretch(1, 3), Stretch(0, 0)):
                inside = {
                    step: one
                    for step, one in expected.items()
                    if stretch.first <= step <= stretch.last
                }
                for limit in (1, 3, 100):
                    points = await read_points(connection, parts, stretch, limit=limit)
                    assert [(one.step, one.time_us, repr(one.value)) for one in points] == [
                        (step, inside[step][0] + NOW_US, repr(inside[step][1]))
                        for step in sorted(inside)[:limit]
                    ]
                assert await count_points(connection, parts, stretch) == len(inside)
                for wanted in (1, 2, 10):
                    found = await read_buckets(connection, parts, stretch, buckets=wanted)
                    assert [told(one) for one in found] == (
                        buckets_of(inside, wanted) if inside else []
                    )


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(EVENTS)
def test_whatever_is_written_corrected_compacted_and_pruned_the_log_says_what_the_rules_say(
    loop: asyncio.Runner, door: Database, tenant: Tenant, events: list[Any]
) -> None:
    run_id = finished_run(tenant)
    logs = [Log() for _ in WRITERS]

    async def apply_all() -> None:
        for event in [*events, ("compact", 0, 0, ())]:
            if event[0] == "compact":
                await compact_run(door, tenant.reach, run_id, sizes=SMALL)
                check_chunks(tenant, run_id)
                rows = "select count(*) from mapi.run_metric_points where tenant_id = %s"
                assert execute(
                    tenant, f"{rows} and step >= 0 and series_id in"
                    " (select id from mapi.run_series where run_id = %s)", tenant.id, run_id,
                ) == [(0,)]  # fmt: skip
                assert await compact_run(door, tenant.reach, run_id, sizes=SMALL) == 0
            elif event[0] == "prune":
                freed = await prune(door, tenant, run_id)
                assert freed.points == sum(log.prune() for log in logs)
            else:
                await apply_event(door, tenant, run_id, log=logs[event[1]], event=event)
            expected: dict[Any, Any] = {}
            for log, writer in zip(logs, WRITERS, strict=True):
                expected |= log.summaries(series_of(*writer))
            assert stored_summaries(tenant, run_id) == expected
        for log, writer in zip(logs, WRITERS, strict=True):
            await check_readings(door, tenant, run_id, log=log, names=series_of(*writer))

    loop.run(apply_all())
    stored = sum(len(attempt.points) for log in logs for attempt in log.attempts.values())
    assert run_totals(tenant, run_id)[::2] == (stored, stored)


in_loop = pytest.mark.anyio


@in_loop
async def test_a_run_is_compacted_once_it_has_been_over_for_long_enough(
    database: Database, tenant: Tenant
) -> None:
    old, young, alive = finished_run(tenant, hours=2), finished_run(tenant), tenant.run()
    for run_id in (old, young, alive):
        async with database.transaction(tenant.reach) as connection:
            points = [(0, step, step, float(step)) for step in range(10)]
            await write_points(connection, run_id, batch_of(points))
    heard: list[int] = []
    assert await compact(database, tenant.reach, age_seconds=3_600, told=heard.append) == 10
    assert heard == [10]
    assert [len(chunks_of(tenant, one)) for one in (old, young, alive)] == [1, 0, 0]
    assert await compact(database, tenant.reach, age_seconds=3_600) == 0
    assert await compact_run(database, tenant.reach, alive) == 0


@in_loop
async def test_a_few_points_and_scalars_stay_rows(database: Database, tenant: Tenant) -> None:
    run_id = finished_run(tenant)
    points = [(0, step, step, 1.0) for step in (-1, 0, 1, 2)]
    async with database.transaction(tenant.reach) as connection:
        await write_points(connection, run_id, batch_of(points))
    assert await compact_run(database, tenant.reach, run_id) == 0
    async with database.transaction(tenant.reach) as connection:
        await write_points(connection, run_id, batch_of([(0, 3, 3, 1.0)]))
    assert await compact_run(database, tenant.reach, run_id) == 4
    # Beside chunks a single late point is merged in.
    async with database.transaction(tenant.reach) as connection:
        await write_points(connection, run_id, batch_of([(0, 9, 9, 1.0)]))
    assert await compact_run(database, tenant.reach, run_id) == 1
    assert [chunk[1:4] for chunk in chunks_of(tenant, run_id)] == [(0, 9, 5)]


@in_loop
async def test_what_is_sent_again_is_counted_as_it_was_before_the_compaction(
    database: Database, tenant: Tenant
) -> None:
    run_id = finished_run(tenant)
    points = [(0, step, step, float(step)) for step in range(0, 9_000, 2)]
    async with database.transaction(tenant.reach) as connection:
        await write_points(connection, run_id, batch_of(points))
    before = stored_summaries(tenant, run_id)
    assert await compact_run(database, tenant.reach, run_id) == 4_500
    again = [*points[:4_400], *((0, step, step, -1.0) for step in range(8_800, 9_000, 2))]
    async with database.transaction(tenant.reach) as connection:
        assert await write_points(connection, run_id, batch_of(again)) == Counts(0, 4_500, 100)
    assert stored_summaries(tenant, run_id) == before
    late = [(0, step, step, 0.5) for step in range(1, 101, 2)]
    async with database.transaction(tenant.reach) as connection:
        assert await write_points(connection, run_id, batch_of(late)) == Counts(50)
    assert stored_summaries(tenant, run_id)["a", "{}"]["count"] == 4_550
    assert await compact_run(database, tenant.reach, run_id) == 50
    check_chunks(tenant, run_id)


@in_loop
async def test_readers_and_writers_notice_nothing_of_a_compaction_beside_them(
    database: Database, tenant: Tenant
) -> None:
    run_id = finished_run(tenant)
    count = 600
    points = [(0, step, step, float(step)) for step in range(count)]
    async with database.transaction(tenant.reach) as connection:
        await write_points(connection, run_id, batch_of(points))
    sizes = Sizes(chunk_points=10, batch_points=20, batch_chunks=3, few=1)
    is_over = asyncio.Event()

    async def write() -> int:
        for step in range(100):
            async with database.transaction(tenant.reach) as connection:
                found = await write_points(
                    connection,
                    run_id,
                    batch_of([(0, step, step, -1.0), (0, count + step, 0, 1.0)]),
                )
            assert found == Counts(1, 1, 1)
        return 100

    async def read() -> int:
        rounds = 0
        while not is_over.is_set():
            async with database.transaction(tenant.reach) as connection:
                parts = await find_parts(connection, run_id, Series("a"))
                stretch = Stretch(0, count - 1)
                exact = await read_points(connection, parts, stretch, limit=count + 1)
                buckets = await read_buckets(connection, parts, stretch, buckets=7)
            assert [one.step for one in exact] == list(range(count))
            assert sum(one.count for one in buckets) == count
            assert (buckets[0].min, buckets[-1].max) == (0.0, count - 1.0)
            rounds += 1
        return rounds

    async def compact_again() -> int:
        moved = 0
        while not is_over.is_set():
            moved += await compact_run(database, tenant.reach, run_id, sizes=sizes)
        return moved + await compact_run(database, tenant.reach, run_id, sizes=sizes)

    reading, compacting = asyncio.create_task(read()), asyncio.create_task(compact_again())
    written = await write()
    is_over.set()
    assert await reading > 0
    assert await compacting == count + written
    check_chunks(tenant, run_id)
    assert run_totals(tenant, run_id)[0] == count + written


@in_loop
async def test_two_compactions_of_one_run_do_its_work_once(
    database: Database, tenant: Tenant
) -> None:
    run_id = finished_run(tenant)
    points = [(0, step, step, float(step)) for step in range(500)]
    async with database.transaction(tenant.reach) as connection:
        await write_points(connection, run_id, batch_of(points))
    sizes = Sizes(chunk_points=10, batch_points=20, few=1)
    one, two = (compact_run(database, tenant.reach, run_id, sizes=sizes) for _ in range(2))
    assert sum(await asyncio.gather(one, two)) <= 500
    await compact_run(database, tenant.reach, run_id, sizes=sizes)
    check_chunks(tenant, run_id)
    assert sum(chunk[3] for chunk in chunks_of(tenant, run_id)) == 500


@in_loop
async def test_a_compacted_point_takes_less_than_30_bytes_with_all_that_is_stored_for_it(
    database: Database, tenant: Tenant
) -> None:
    run_id = finished_run(tenant)
    # Irregular times and values without a pattern: what compresses least.
    points = [
        (series, step, step * 1_000_003 + step**3 % 9_973, math.sin(step * (series + 1)) / 3)
        for series in range(3)
        for step in range(10_000)
    ]
    async with database.transaction(tenant.reach) as connection:
        await write_points(connection, run_id, batch_of(points))
    size = (
        "select sum(pg_total_relation_size(relid)) from"
        " pg_partition_tree('mapi.run_metric_chunks') where isleaf"
    )
    ((before,),) = execute(tenant, size)
    assert await compact_run(database, tenant.reach, run_id) == len(points)
    ((after,),) = execute(tenant, size)
    assert 8 < (after - before) / len(points) < 30


@in_loop
async def test_a_compaction_that_is_stopped_goes_on_where_it_was(
    database: Database, tenant: Tenant
) -> None:
    run_id = finished_run(tenant)
    points = [(0, step, step, float(step)) for step in range(300)]
    async with database.transaction(tenant.reach) as connection:
        await write_points(connection, run_id, batch_of(points))
    sizes = Sizes(chunk_points=10, batch_points=20, few=1)
    stops = 0
    while True:
        job = asyncio.create_task(compact_run(database, tenant.reach, run_id, sizes=sizes))
        # Each time a little later: in the middle of every statement once, however slow they are.
        done, _ = await asyncio.wait([job], timeout=0.001 * stops)
        if done:
            break
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)
        stops += 1
        check_chunks(tenant, run_id)
        assert run_totals(tenant, run_id)[0] == run_totals(tenant, run_id)[2] == 300
    assert stops > 0
    assert sum(chunk[3] for chunk in chunks_of(tenant, run_id)) == 300


async def test_a_compaction_that_was_killed_anywhere_ends_as_one_that_was_not(
    database: Database, database_url: str, tenant: Tenant
) -> None:
    points = [(which, step, step, float(step)) for step in range(50) for which in (0, 1)]
    sizes = Sizes(chunk_points=10, batch_points=20, batch_series=1, few=1)

    async def compacted(fuse: Fuse | None) -> list[tuple[Any, ...]]:
        run_id = finished_run(tenant)
        async with database.transaction(tenant.reach) as connection:
            await write_points(connection, run_id, batch_of(points))
        if fuse is not None:
            door = CutDatabase(database_url, fuse)
            await door.open()
            with contextlib.suppress(KilledError):
                await compact_run(door, tenant.reach, run_id, sizes=sizes)
            await door.close()
        await compact_run(database, tenant.reach, run_id, sizes=sizes)
        check_chunks(tenant, run_id)
        return [chunk[1:] for chunk in chunks_of(tenant, run_id)]

    whole = await compacted(None)
    assert sum(chunk[2] for chunk in whole) == len(points)
    for cuts in itertools.count():
        fuse = Fuse(cuts)
        assert await compacted(fuse) == whole, cuts
        if not fuse.is_burnt:
            break
    assert cuts > 6
