"""Ingest against a model in plain Python, on the real database, as the role without power."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mapi.access.rights import Principal
from mapi.database.door import Database
from mapi.errors import ForbiddenError, NotFoundError, StateError
from mapi.tracking.attempts import register_attempt
from mapi.tracking.batch import PointBatch, Series
from mapi.tracking.corrections import correct_points
from mapi.tracking.ingest import write_batch, write_points
from mapi.tracking.writing import Counts, Sender
from mapi.wire.enums import Role, Scope, Source

if TYPE_CHECKING:
    import uuid
    from collections.abc import Iterator

    from tests.mapi.tenants import Tenant

    from mapi.series.names import Labels

Point = tuple[int, int, int, float]
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
WRITERS = [("", 0), ("data", 0), ("", 1)]


def series_of(stream: str = "", rank: int = 0) -> list[Series]:
    who: Labels = (("rank", str(rank)),) if rank else ()
    if stream:
        who = (*who, ("stream", stream))
    return [Series("a", who), Series("b", who), Series("a", (*who, ("x", "1")))]


def batch_of(points: list[Point], series: list[Series] | None = None) -> PointBatch:
    columns = list(zip(*points, strict=True)) if points else [(), (), (), ()]
    return PointBatch.of(
        series or series_of(),
        index=np.array(columns[0], dtype=np.int64),
        steps=np.array(columns[1], dtype=np.int64),
        times_us=np.array(columns[2], dtype=np.int64) + NOW_US,
        values=np.array(columns[3], dtype=np.float64),
    )


@dataclasses.dataclass
class Attempt:
    """What the database must know of an attempt, in plain Python."""

    from_step: int | None = None
    is_runner: bool = False
    #: by series and step: time and value
    points: dict[tuple[int, int], tuple[int, float]] = dataclasses.field(default_factory=dict)


class Log:
    """What the database must say of one stream and rank, in plain Python."""

    def __init__(self) -> None:
        self.attempts: dict[int, Attempt] = {}

    def newest(self) -> int:
        return max(self.attempts, default=1)

    def write(self, number: int, points: list[Point]) -> tuple[int, int]:
        """Return how many places changed, and how many points came with another value."""
        mine = self.attempts.setdefault(number, Attempt()).points
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

    def correct(self, number: int, points: list[Point]) -> int:
        """Let the last value of each step stay; return how many places changed."""
        changed, _ = self.write(number, [point for point in points if point[1] == -1])
        mine = self.attempts[number].points
        last = {point[:2]: point[2:] for point in points if point[1] != -1}
        for place, (time, value) in last.items():
            if place not in mine or repr(mine[place][1]) != repr(value):
                mine[place] = (time, value)
                changed += 1
        return changed

    def is_superseded(self, number: int, series: int, step: int) -> bool:
        for later, attempt in self.attempts.items():
            if later <= number or attempt.from_step is None:
                continue
            if attempt.is_runner and not any(place[0] == series for place in attempt.points):
                continue
            if attempt.from_step == 0 or step >= attempt.from_step:
                return True
        return False

    def default_reading(self) -> dict[int, dict[int, tuple[int, float, int]]]:
        """Return by series and step: time, value and the newest attempt that wrote it."""
        reading: dict[int, dict[int, tuple[int, float, int]]] = {}
        for number in sorted(self.attempts):
            for (series, step), (time, value) in self.attempts[number].points.items():
                if not self.is_superseded(number, series, step):
                    reading.setdefault(series, {})[step] = (time, value, number)
        return reading

    def summaries(self, series_list: list[Series]) -> dict[tuple[str, str], dict[str, Any]]:
        found = {}
        for series, steps in self.default_reading().items():
            finite = {step: one[1] for step, one in steps.items() if math.isfinite(one[1])}
            last = max(steps)
            low = min(finite, key=lambda step: (finite[step], step), default=None)
            high = min(finite, key=lambda step: (-finite[step], step), default=None)
            name = series_list[series]
            found[name.key, str(dict(sorted(name.labels)))] = {
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
        (row[0], str(dict(sorted(row[1].items())))): {
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


def run_totals(tenant: Tenant, run_id: uuid.UUID) -> tuple[int, int, int, int]:
    """Return the counters of a run, and what they count."""
    with psycopg.connect(tenant.server.superuser_url()) as superuser:
        row = superuser.execute(
            "select point_count, series_count,"
            " (select count(*) from mapi.run_metrics as m where m.run = r.id),"
            " (select count(distinct (key, labels_hash)) from mapi.run_series as s"
            " where s.run_id = r.id)"
            " from mapi.runs as r where r.id = %s",
            [run_id],
        ).fetchone()
    assert row is not None
    return (row[0], row[1], row[2], row[3])


#: What happens to a log: who does it, at which attempt (0 is the default), and what.
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 2), st.integers(0, 3), POINTS),
        st.tuples(st.just("correct"), st.integers(0, 2), st.integers(0, 3), POINTS),
        st.tuples(
            st.just("register"),
            st.integers(0, 2),
            st.integers(1, 3),
            st.one_of(st.none(), st.integers(0, 5), st.just("runner")),
        ),
    ),
    min_size=1,
    max_size=7,
)


async def apply_event(
    database: Database, tenant: Tenant, run_id: uuid.UUID, *, log: Log, event: Any
) -> None:
    """Do the same to the database and to its model, and compare what both say."""
    kind, who, number, what = event
    stream, rank = WRITERS[who]
    sender = Sender(stream=stream, rank=rank, attempt=number or None)
    if kind == "register":
        from_step, is_runner = (0, True) if what == "runner" else (what, False)
        known = log.attempts.get(number)
        source = Source.RUNNER if is_runner else Source.API
        try:
            async with database.transaction(tenant.reach) as connection:
                await register_attempt(
                    connection,
                    run_id,
                    sender=dataclasses.replace(sender, source=source, attempt=None),
                    number=number,
                    from_step=from_step,
                )
        except StateError:
            assert known is not None
            assert known.from_step not in (None, from_step)
            return
        attempt = log.attempts.setdefault(number, Attempt())
        if attempt.from_step is None and from_step is not None:
            attempt.from_step, attempt.is_runner = from_step, is_runner
        return
    number = number or log.newest()
    batch = batch_of(what, series_of(stream, rank))
    if kind == "write":
        counts = await write_batch(database, tenant.reach, run_id, batch=batch, sender=sender)
        changed, conflicts = log.write(number, what)
        assert counts == Counts(changed, len(what) - changed, conflicts)
    else:
        async with database.transaction(tenant.reach) as connection:
            counts = await correct_points(connection, run_id, batch, sender=sender)
        changed = log.correct(number, what)
        assert (counts.accepted, counts.duplicates) == (changed, len(what) - changed)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def door(database_url: str, loop: asyncio.Runner) -> Iterator[Database]:
    """One for all examples: to connect takes longer than an example."""
    database = Database(database_url, connections=2)
    loop.run(database.open())
    yield database
    loop.run(database.close())


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(EVENTS)
def test_points_and_summaries_are_those_of_the_rules(
    loop: asyncio.Runner, door: Database, tenant: Tenant, events: list[Any]
) -> None:
    run_id = tenant.run()
    logs = [Log() for _ in WRITERS]

    async def apply_all() -> None:
        for event in events:
            await apply_event(door, tenant, run_id, log=logs[event[1]], event=event)
            expected: dict[Any, Any] = {}
            for log, writer in zip(logs, WRITERS, strict=True):
                expected |= log.summaries(series_of(*writer))
            assert stored_summaries(tenant, run_id) == expected

    loop.run(apply_all())
    points = [attempt.points for log in logs for attempt in log.attempts.values()]
    series = sum(
        len({place[0] for attempt in log.attempts.values() for place in attempt.points})
        for log in logs
    )
    stored = sum(len(one) for one in points)
    assert run_totals(tenant, run_id) == (stored, series, stored, series)


@pytest.mark.anyio
async def test_a_large_batch_says_the_same_as_a_small_one(
    database: Database, tenant: Tenant
) -> None:
    run_id = tenant.run()
    points = [(0, step, step, float(step)) for step in range(3_000)]
    for expected in (Counts(3_000), Counts(0, 3_000)):
        async with database.transaction(tenant.reach) as connection:
            assert await write_points(connection, run_id, batch_of(points)) == expected
    more = [(0, step, step, -1.0) for step in range(2_999, 4_000)]
    async with database.transaction(tenant.reach) as connection:
        assert await write_points(connection, run_id, batch_of(more)) == Counts(1_000, 1, 1)


@pytest.mark.anyio
async def test_values_near_the_greatest_number_are_summed_up_without_a_failure(
    database: Database, tenant: Tenant
) -> None:
    run_id = tenant.run()
    for attempt, steps in ((1, (0, 1)), (1, (2,)), (2, (0,))):
        batch = batch_of([(0, step, 0, 1.7e308) for step in steps])
        async with database.transaction(tenant.reach) as connection:
            await write_points(connection, run_id, batch, sender=Sender(attempt=attempt))
        assert next(iter(stored_summaries(tenant, run_id).values()))["sum"] == math.inf


@pytest.mark.anyio
async def test_another_tenants_run_does_not_exist(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    run_id = tenant.run()
    with pytest.raises(NotFoundError):
        async with database.transaction(other_tenant.reach) as connection:
            await write_points(connection, run_id, batch_of([(0, 0, 0, 1.0)]))
    assert stored_summaries(tenant, run_id) == {}


@pytest.mark.anyio
async def test_a_run_in_the_trash_takes_nothing(database: Database, tenant: Tenant) -> None:
    run_id = tenant.run()
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute("update mapi.runs set trashed = now() where id = %s", [run_id])
    with pytest.raises(StateError, match="restore it"):
        async with database.transaction(tenant.reach) as own:
            await write_points(own, run_id, batch_of([(0, 0, 0, 1.0)]))


@pytest.mark.anyio
async def test_whoever_may_not_write_there_is_refused_and_leaves_nothing(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    run_id, batch = tenant.run(), batch_of([(0, 0, 0, 1.0)])
    elsewhere = tenant.project_id + 1_000_000

    def sender(role: Role | None, *, place: int = tenant.project_id) -> Sender:
        roles = {} if role is None else {place: role}
        scopes = frozenset({Scope.WRITE})
        return Sender(principal=Principal(tenant.id, "p", "t", scopes, user_id=1, roles=roles))

    for refused, error in (
        (sender(Role.VIEWER), ForbiddenError),
        (sender(Role.ADMIN, place=elsewhere), NotFoundError),
        (sender(None), NotFoundError),
    ):
        assert refused.principal is not None
        for reach in (tenant.reach, refused.principal.reach, other_tenant.reach):
            wanted = error if reach == tenant.reach else (ForbiddenError, NotFoundError)
            with pytest.raises(wanted):
                await write_batch(database, reach, run_id, batch=batch, sender=refused)
    assert run_totals(tenant, run_id) == (0, 0, 0, 0)
    written = await write_batch(
        database, tenant.reach, run_id, batch=batch, sender=sender(Role.RUNNER)
    )
    assert written == Counts(1)


@pytest.mark.anyio
async def test_a_taken_number_of_a_writer_is_the_same_the_short_way_and_the_long(
    database: Database, tenant: Tenant
) -> None:
    run_id = tenant.run()

    async def write(step: int, seq: int) -> Counts:
        batch = batch_of([(step % 2, step, step, 1.0)])
        sender = Sender(writer="w", seq=seq)
        return await write_batch(database, tenant.reach, run_id, batch=batch, sender=sender)

    assert await write(0, 5) == Counts(1, accepted_seq=5)
    assert await write(0, 4) == Counts(0, 1, accepted_seq=5)
    assert await write(1, 4) == Counts(1, accepted_seq=5)
    assert await write(2, 6) == Counts(1, accepted_seq=6)


@pytest.mark.anyio
async def test_a_series_without_points_is_not_made(database: Database, tenant: Tenant) -> None:
    run_id = tenant.run()
    async with database.transaction(tenant.reach) as connection:
        assert await write_points(connection, run_id, batch_of([(1, 0, 0, 1.0)])) == Counts(1)
    assert run_totals(tenant, run_id) == (1, 1, 1, 1)
