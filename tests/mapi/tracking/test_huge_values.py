"""Means and deviations of values near the greatest number and the least, against exact fractions."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.mapi.tracking.log_model import batch_of

from mapi.search import Column, Search, column_statement, parse_columns
from mapi.series.name_map import series_from_name
from mapi.tracking.batch import Series
from mapi.tracking.curves import Stretch
from mapi.tracking.groups import group_runs
from mapi.tracking.ingest import write_batch
from mapi.tracking.series import list_series
from mapi.tracking.writing import Sender

if TYPE_CHECKING:
    import asyncio
    import uuid

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

GREATEST = 1.7976931348623157e308
VALUES = st.one_of(
    st.sampled_from(
        [GREATEST, -GREATEST, 1e308, -1e308, 1e290, -1e290, 1e289, 1e160, -1e149, 1.0, 0.0]
    ),
    st.sampled_from([5e-324, -5e-324, 1e-310, 1e-150, math.nan, math.inf, -math.inf]),
    st.floats(allow_nan=False, allow_infinity=False),
)
EXAMPLES = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def is_near(found: float, exact: Fraction, *, size: float, count: int) -> bool:
    """Whether a float is what additions of so many values, the largest of a size, may come to."""
    return abs(Fraction(found) - exact) <= Fraction(size) * count * Fraction(2) ** -50 + Fraction(
        1e-320
    )


@EXAMPLES
@given(st.lists(st.lists(VALUES, min_size=1, max_size=6), min_size=1, max_size=4), st.booleans())
@example([[GREATEST] * 3, [GREATEST]], False)
@example([[1e-320, 1e300]], False)
@example([[1.0, 2.0], [1e308], [5e-324]], True)
def test_the_mean_of_finite_values_is_finite_and_right(
    loop: asyncio.Runner,
    door: Database,
    tenant: Tenant,
    batches: list[list[float]],
    is_again: bool,
) -> None:
    run_id = tenant.run()
    values = [value for batch in batches for value in batch]
    finite = [value for value in values if math.isfinite(value)]

    async def work() -> tuple[float | None, float | None]:
        step = 0
        for batch in batches:
            points = [(0, step + place, 0, value) for place, value in enumerate(batch)]
            step += len(batch)
            await write_batch(door, tenant.reach, run_id, batch=batch_of(points), sender=Sender())
        if is_again:
            # Made again from the points: another attempt takes the place of the first step.
            again = batch_of([(0, 0, 0, values[0])])
            sender = Sender(attempt=2)
            await write_batch(door, tenant.reach, run_id, batch=again, sender=sender)
        async with door.transaction(tenant.reach) as connection:
            (series,), _ = await list_series(connection, run_id, limit=2)
            assert series.count - series.nonfinite_count == len(finite)
            wanted: tuple[Column, ...] = parse_columns(
                "metrics.a.mean", series_from_name=series_from_name
            )
            statement = column_statement(
                tenant.project_id, wanted, [run_id], now=datetime.now(UTC)
            )
            cursor = await connection.execute(statement.text.encode(), statement.parameters)
            row = await cursor.fetchone()
            assert row is not None
            return series.mean, row[1]

    for mean in loop.run(work()):
        if not finite:
            assert mean is None
            continue
        assert mean is not None
        assert min(finite) <= mean <= max(finite) or is_near(
            mean, Fraction(min(finite)), size=0.0, count=1
        )
        exact = sum((Fraction(value) for value in finite), Fraction(0)) / len(finite)
        size = max(abs(value) for value in finite)
        assert is_near(mean, exact, size=size, count=len(finite))


@EXAMPLES
@given(st.lists(VALUES, min_size=1, max_size=6))
@example([GREATEST, GREATEST, GREATEST])
@example([GREATEST, -GREATEST])
@example([1e160, 5e-324])
@example([math.nan, math.inf])
def test_groups_of_huge_values_have_a_mean_and_a_deviation_or_none(
    loop: asyncio.Runner, door: Database, tenant: Tenant, values: list[float]
) -> None:
    runs = [tenant.run() for _ in values]
    finite = [value for value in values if math.isfinite(value)]

    async def work() -> None:
        for run_id, value in zip(runs, values, strict=True):
            batch = batch_of([(0, 0, 0, value)])
            await write_batch(door, tenant.reach, run_id, batch=batch, sender=Sender())
        async with door.transaction(tenant.reach) as connection:
            found = await group_runs(
                connection,
                Search(tenant.project_id, datetime.now(UTC)),
                by=(),
                series=Series("a"),
                stretch=Stretch(),
            )
        points = found.groups[0].points
        (point,) = points
        assert point.nonfinite_count == len(values) - len(finite)
        if not finite:
            assert (point.mean, point.std, point.min, point.max) == (None,) * 4
            return
        exact = sum((Fraction(value) for value in finite), Fraction(0)) / len(finite)
        size = max(abs(value) for value in finite)
        assert point.count == len(finite)
        assert is_near(point.mean or 0.0, exact, size=size, count=len(finite))
        if len(finite) == 1:
            assert point.std is None
            return
        square = sum(((Fraction(value) - exact) ** 2 for value in finite), Fraction(0)) / (
            len(finite) - 1
        )
        if point.std is None:
            assert square > Fraction(GREATEST) ** 2
        else:
            slack = Fraction(size) * len(finite) * Fraction(2) ** -40 + Fraction(1e-150)
            low, high = Fraction(point.std) - slack, Fraction(point.std) + slack
            assert low < 0 or low * low <= square
            assert square <= high * high

    try:
        loop.run(work())
    finally:
        loop.run(forget(door, tenant, runs))


async def forget(door: Database, tenant: Tenant, runs: list[uuid.UUID]) -> None:
    """Delete the runs, so that the next example has a project of its own."""
    async with door.transaction(tenant.reach) as connection:
        await connection.execute("delete from runs where id = any(%s)", [runs])
