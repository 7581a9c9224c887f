"""Ingest against a model in plain Python, on the real database, as the role without power."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from tests.mapi.tracking.log_model import (
    EVENTS,
    WRITERS,
    Log,
    apply_event,
    batch_of,
    run_totals,
    series_of,
    stored_summaries,
)

from mapi.access.rights import Principal
from mapi.errors import ForbiddenError, NotFoundError, StateError
from mapi.tracking.ingest import write_batch, write_points
from mapi.tracking.writing import Counts, Sender
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    import asyncio
    import uuid

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(EVENTS)
# An attempt that was written to beside a newer one, before it was registered as a runner's.
@example(
    [
        ("write", 0, 1, [(0, 1, 0, 0.0)]),
        ("write", 0, 3, []),
        ("write", 0, 2, [(0, 0, 0, 0.0)]),
        ("register", 0, 2, "runner"),
    ]
)
@example(
    [
        ("write", 0, 0, [(0, 1, 0, 0.0)]),
        ("correct", 0, 2, [(0, 0, 0, 0.0)]),
        ("register", 0, 2, "runner"),
    ]
)
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
async def test_numbers_of_series_that_come_round_pass_over_those_in_use(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    def restart(number: int) -> None:
        with psycopg.connect(tenant.server.superuser_url()) as connection:
            connection.execute("select setval('mapi.run_series_id_seq', %s, false)", [number])

    async def write(run_id: uuid.UUID, tenant: Tenant, series: list[int]) -> None:
        batch = batch_of([(at, step, step, float(at)) for at in series for step in range(2)])
        counts = await write_batch(database, tenant.reach, run_id, batch=batch, sender=Sender())
        assert counts == Counts(2 * len(series))

    with psycopg.connect(tenant.server.superuser_url()) as connection:
        (newest,) = connection.execute("select nextval('mapi.run_series_id_seq')").fetchone() or (
            1,
        )
    try:
        run_id, elsewhere = tenant.run(), other_tenant.run()
        restart(1)
        await write(run_id, tenant, [0, 1])
        restart(2**31 - 1)
        await write(run_id, tenant, [2])
        again = tenant.run()
        await write(again, tenant, [0, 1, 2])
        restart(1)
        await write(elsewhere, other_tenant, [0, 1, 2])
    finally:
        restart(newest)
    for one, of in ((run_id, tenant), (again, tenant), (elsewhere, other_tenant)):
        summaries = stored_summaries(of, one)
        assert sorted(found["last"] for found in summaries.values()) == [
            (1, "0.0"),
            (1, "1.0"),
            (1, "2.0"),
        ]
        assert run_totals(of, one) == (6, 3, 6, 3)


@pytest.mark.anyio
async def test_a_series_without_points_is_not_made(database: Database, tenant: Tenant) -> None:
    run_id = tenant.run()
    async with database.transaction(tenant.reach) as connection:
        assert await write_points(connection, run_id, batch_of([(1, 0, 0, 1.0)])) == Counts(1)
    assert run_totals(tenant, run_id) == (1, 1, 1, 1)
