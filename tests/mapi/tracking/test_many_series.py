"""What a batch of many series costs grows with their number, not with its square, nor with the runs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from tests.mapi.pruning import prune

from mapi.database.door import Database
from mapi.database.queries import query
from mapi.tracking.batch import SCALAR_STEP, PointBatch, Series
from mapi.tracking.columns import SeriesChoice, StoredColumns, read_columns
from mapi.tracking.compaction import Sizes, compact_run
from mapi.tracking.curves import Stretch
from mapi.tracking.ingest import write_points
from mapi.tracking.live import Position, read_delta
from mapi.tracking.series import list_series, summary_from_row
from mapi.wire.events import TrackingFrame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from uuid import UUID

    from psycopg.errors import Diagnostic
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Connection
    from mapi.database.embedded.server import EmbeddedServer
    from mapi.tracking.writing import Counts
    from mapi.wire.metrics import SeriesSummary

pytestmark = pytest.mark.anyio

T = TypeVar("T")
SERIES = 300
#: Two points of a series are a chunk already.
ALL = Sizes(few=1)
#: Every statement tells its plan and what it did, those within functions too.
TELLS = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_nested_statements": "on",
    "client_min_messages": "log",
}
READ = re.compile(r"actual rows=(\d+)(?:\.\d+)? loops=(\d+)")
#: The indexes that a search walks: by series first, so all of its runs lie between.
WALKED = re.compile(r"run_metric_summary_(?:last|min|max)")
COMPARED = re.compile(r"Rows Removed by (?:Join )?Filter: (\d+)")


@pytest.fixture
async def telling(server: EmbeddedServer, database_url: str) -> AsyncIterator[Database]:
    """A door whose one connection tells its plans; only who owns the server may ask for them."""
    role = sql.Identifier(str(psycopg.conninfo.conninfo_to_dict(database_url)["user"]))
    with psycopg.connect(server.superuser_url(), autocommit=True) as owner:
        for name, value in TELLS.items():
            owner.execute(
                sql.SQL("alter role {} set {} = {}").format(
                    role, sql.SQL(name), sql.Literal(value)
                )
            )
        try:
            found = Database(database_url, connections=1)
            await found.open()
        finally:
            # Nobody else's connections are to tell theirs.
            for name in TELLS:
                owner.execute(sql.SQL("alter role {} reset {}").format(role, sql.SQL(name)))
    try:
        yield found
    finally:
        await found.close()


def batch_of(first: int, stop: int, *, step: int) -> PointBatch:
    count = stop - first
    return PointBatch.of(
        [Series(f"loss_{at % 7}", (("layer", str(at)),)) for at in range(first, stop)],
        index=np.arange(count),
        steps=np.full(count, step),
        times_us=np.full(count, 1_780_000_000_000_000),
        values=np.sin(np.arange(count)),
    )


async def told_of(
    database: Database, tenant: Tenant, work: Callable[[Connection], Awaitable[T]]
) -> tuple[T, list[str]]:
    """Return what some work returns, and the plans that it took."""
    plans: list[str] = []

    def hear(told: Diagnostic) -> None:
        plans.append(told.message_primary or "")

    async def heard(connection: Connection) -> T:
        connection.add_notice_handler(hear)
        try:
            return await work(connection)
        finally:
            connection.remove_notice_handler(hear)

    return await database.run(tenant.reach, heard), plans


async def write(
    database: Database, tenant: Tenant, run_id: UUID, batch: PointBatch
) -> tuple[Counts, list[str]]:
    """Write a batch, and return what became of it and the plans that it took."""

    async def work(connection: Connection) -> Counts:
        return await write_points(connection, run_id, batch)

    return await told_of(database, tenant, work)


def most_compared(plans: list[str]) -> int:
    """Return how many rows a step of a plan has looked at in vain, at most."""
    return max((int(found) for plan in plans for found in COMPARED.findall(plan)), default=0)


async def test_no_plan_compares_each_series_with_each(telling: Database, tenant: Tenant) -> None:
    small = tenant.run()
    # Statements and functions keep their plans after some calls: made for the few series of these.
    for step in range(12):
        await write(telling, tenant, small, batch_of(step, step + 3, step=step))
        await write(telling, tenant, small, batch_of(step, step + 3, step=step))
    run_id = tenant.run()
    for batch in (
        batch_of(0, SERIES, step=5),  # all new
        batch_of(0, SERIES, step=6),  # all known
        batch_of(SERIES // 2, 2 * SERIES, step=7),  # some
        batch_of(0, SERIES, step=1),  # the long way: before what is there
        batch_of(SERIES, 3 * SERIES, step=2),
    ):
        counts, plans = await write(telling, tenant, run_id, batch)
        assert counts.accepted == len(batch)
        assert any("run_metric_summary" in plan for plan in plans)
        assert most_compared(plans) < 10 * SERIES


async def test_a_batch_reads_nothing_of_other_runs_with_the_same_series(
    telling: Database, tenant: Tenant
) -> None:
    # Plans are made for the first runs and kept.
    for _ in range(100):
        counts, plans = await write(telling, tenant, tenant.run(), batch_of(0, 10, step=0))
        assert counts.accepted == 10
        assert any("run_metric_summary_pkey" in plan for plan in plans)
        assert not any(WALKED.search(plan) for plan in plans)
        read = [int(rows) * int(loops) for plan in plans for rows, loops in READ.findall(plan)]
        assert max(read) <= 2 * 10


async def test_no_reader_of_a_pruned_run_compares_each_series_with_each(
    telling: Database, database: Database, tenant: Tenant
) -> None:
    run_id = tenant.run()
    await write(telling, tenant, run_id, batch_of(0, SERIES, step=5))
    assert (await prune(database, tenant, run_id)).points == SERIES

    async def list_all(connection: Connection) -> list[SeriesSummary]:
        return (await list_series(connection, run_id, limit=SERIES))[0]

    async def compare_all(connection: Connection) -> list[SeriesSummary]:
        sent = {"runs": [run_id], "keys": None, "limit": SERIES}
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(query("compare.summaries"), sent)
            return [summary_from_row(row) for row in await cursor.fetchall()]

    async def follow_all(connection: Connection) -> list[SeriesSummary]:
        start = Position(0, 0)
        delta, _ = await read_delta(connection, run_id, start, known=None)
        (frame,) = [one for one in delta.frames if isinstance(one, TrackingFrame)]
        return frame.series

    for work in (list_all, compare_all, follow_all):
        found, plans = await told_of(telling, tenant, work)
        assert [one.pruned is not None for one in found] == [True] * SERIES, work
        assert most_compared(plans) < 10 * SERIES, work


async def test_no_writer_of_a_compacted_or_pruned_run_compares_each_series_with_each(
    telling: Database, database: Database, tenant: Tenant
) -> None:
    async def keep(run_id: UUID, count: int) -> list[list[str]]:
        """Write what is there in chunks, what was pruned, and scalars beside that; return the plans."""
        told = []
        for step in (5, 6):
            await write(telling, tenant, run_id, batch_of(0, count, step=step))
        end(tenant, run_id)
        await compact_run(database, tenant.reach, run_id, sizes=ALL)
        counts, plans = await write(telling, tenant, run_id, batch_of(0, count, step=6))
        assert (counts.accepted, counts.duplicates) == (0, count)
        told.append(plans)
        await write(telling, tenant, run_id, batch_of(0, count, step=SCALAR_STEP))
        assert (await prune(database, tenant, run_id)).points == 2 * count
        later = batch_of(0, count, step=SCALAR_STEP)
        later = replace(later, times_us=later.times_us + 1, values=later.values + 1)
        for batch in (later, batch_of(0, count, step=6), batch_of(0, count, step=7)):
            _, plans = await write(telling, tenant, run_id, batch)
            told.append(plans)
        return told

    # Statements and functions keep their plans after some calls: made for the few series of these.
    for _ in range(8):
        await keep(tenant.run(), 3)
    for plans in await keep(tenant.run(), SERIES):
        assert any("run_series" in plan for plan in plans)
        assert most_compared(plans) < 10 * SERIES


def end(tenant: Tenant, run_id: UUID) -> None:
    """Let a run have ended some time ago."""
    with psycopg.connect(tenant.server.superuser_url()) as owner:
        owner.execute(
            "update mapi.runs set status = 'succeeded', finished = now() - interval '1 hour'"
            " where id = %s",
            [run_id],
        )


@pytest.mark.parametrize("is_pruned", [False, True])
async def test_the_points_of_many_series_are_read_without_comparing_each_with_each(
    telling: Database, database: Database, tenant: Tenant, is_pruned: bool
) -> None:
    run_id = tenant.run()
    await write(telling, tenant, run_id, batch_of(0, SERIES, step=5))
    if is_pruned:
        assert (await prune(database, tenant, run_id)).points == SERIES

    async def read_all(connection: Connection) -> list[StoredColumns]:
        found, end = await read_columns(
            connection, run_id, SeriesChoice(), stretch=Stretch(), limit=10 * SERIES
        )
        assert end is None
        # A statement tells its plan when the next one begins.
        await connection.execute("select", binary=True)
        return found

    found, plans = await told_of(telling, tenant, read_all)
    assert [one.steps for one in found] == [[] if is_pruned else [5]] * SERIES
    assert [one.pruned is not None for one in found] == [is_pruned] * SERIES
    assert any("run_metric_points" in plan for plan in plans)
    assert most_compared(plans) < 10 * SERIES
