"""Many writers of one run at once, and a database that is killed below them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from tests.mapi.tenants import make_tenant

from mapi.database.door import Database
from mapi.database.embedded.binaries import find_binaries, find_identity
from mapi.database.embedded.server import EmbeddedServer
from mapi.database.migrate import migrate
from mapi.errors import UnavailableError
from mapi.tracking.batch import PointBatch, Series
from mapi.tracking.ingest import write_points

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Connection
    from mapi.tracking.writing import Counts

BATCHES = 12
SERIES = 6

#: Writes batches of its own steps into series that all writers share, in an order of its own.
WRITER = """
import asyncio, json, sys
import numpy as np
from uuid import UUID
from mapi.database.door import Database, Reach
from mapi.tracking.batch import PointBatch, Series
from mapi.tracking.ingest import write_points
from mapi.tracking.logs import CheckedLine, append_lines
from mapi.tracking.notes import write_params, write_tags

url, tenant, run, number, batches, count = sys.argv[1:]
number, batches, count, run = int(number), int(batches), int(count), UUID(run)
series = [Series(f"s{at}") for at in range(count)]
order = series if number % 2 else series[::-1]

async def main():
    database = Database(url, connections=3)
    await database.open()
    accepted = 0
    for part in range(batches):
        batch = PointBatch.of(
            order,
            index=np.arange(count),
            steps=np.full(count, number * batches + part),
            times_us=np.full(count, 1_780_000_000_000_000 + part),
            values=np.full(count, float(part)),
        )
        texts = {f"t{at}": f"{number}.{part}" for at in range(3)}
        if number % 2:
            texts = dict(reversed(texts.items()))
        jobs = (
            lambda connection: write_points(connection, run, batch),
            lambda connection: write_tags(connection, run, texts),
            lambda connection: write_params(connection, run, {f"p{number}.{part}": part}),
        )
        done = await asyncio.gather(*(database.run(Reach(int(tenant)), job) for job in jobs))
        accepted += done[0].accepted
    await database.close()
    print(json.dumps(accepted))

asyncio.run(main())
"""


def test_processes_that_write_to_one_run_in_opposite_order_lose_nothing(
    database_url: str, tenant: Tenant
) -> None:
    run_id = tenant.run()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, database_url]
            + [str(one) for one in (tenant.id, run_id, number, BATCHES, SERIES)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for writer in writers:
        out, complaint = writer.communicate(timeout=100)
        assert writer.returncode == 0, complaint
        assert json.loads(out) == BATCHES * SERIES
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        summaries = connection.execute(
            "select count, last_step from mapi.run_metric_summary where run_id = %s", [run_id]
        ).fetchall()
        params = connection.execute(
            "select count(*) from mapi.run_params where run_id = %s", [run_id]
        ).fetchone()
        run = connection.execute(
            "select point_count, series_count, change_seq from mapi.runs where id = %s", [run_id]
        ).fetchone()
        tags = connection.execute(
            "select key, text from mapi.run_tags where run_id = %s", [run_id]
        ).fetchall()
    assert summaries == [(3 * BATCHES, 3 * BATCHES - 1)] * SERIES
    assert params == (3 * BATCHES,)
    # Each write was one change, and none of them took another's number.
    assert run == (3 * BATCHES * SERIES, SERIES, 3 * 3 * BATCHES)
    # The tags of one call go together: the last of some writer.
    assert len({text for _, text in tags}) == 1
    assert {text.partition(".")[2] for _, text in tags} == {str(BATCHES - 1)}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path / "pg", find_binaries(None), find_identity(65534))
    try:
        server.start()
        migrate(server.superuser_url(), login="mapi", password="p")
        yield server
    finally:
        server.stop()


def test_a_killed_database_has_every_value_that_was_acknowledged(own: EmbeddedServer) -> None:
    tenant = make_tenant(own)
    run_id = tenant.run()
    acknowledged = asyncio.run(_write_until_killed(own, tenant, run_id))
    own.stop()
    own.start()
    with psycopg.connect(own.superuser_url()) as connection:
        steps = connection.execute(
            "select step, value from mapi.run_metrics where run = %s", [run_id]
        ).fetchall()
        summary = connection.execute(
            "select count, finite_sum from mapi.run_metric_summary where run_id = %s", [run_id]
        ).fetchone()
    stored: dict[int, float] = dict(steps)
    assert len(acknowledged) >= 5
    assert {step: stored.get(step) for step in acknowledged} == {
        step: float(step) for step in acknowledged
    }
    assert summary == (len(stored), sum(stored.values()))


async def _write_until_killed(own: EmbeddedServer, tenant: Tenant, run_id: UUID) -> list[int]:
    """Write until the database is gone; return the steps that it said it had."""
    database = Database(own.url("mapi", "p", "postgres"), connections=3)
    await database.open()
    acknowledged: list[int] = []

    async def write(first: int) -> None:
        step = first
        while True:
            try:
                await database.run(
                    tenant.reach,
                    lambda connection, step=step: _one_point(connection, run_id, step),  # type: ignore[misc]
                )
            except UnavailableError:
                return
            acknowledged.append(step)
            if len(acknowledged) == 20:
                _kill_all(own)
            step += 3

    await asyncio.gather(*(write(first) for first in range(3)))
    await database.close()
    return acknowledged


def _kill_all(own: EmbeddedServer) -> None:
    """Kill the server and every process that it started, in the middle of what they do."""
    server = own.process_id
    assert server is not None
    below = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    for process in (server, *map(int, below)):
        os.kill(process, signal.SIGKILL)


async def _one_point(connection: Connection, run_id: UUID, step: int) -> Counts:
    batch = PointBatch.of(
        [Series("loss")],
        index=np.array([0]),
        steps=np.array([step]),
        times_us=np.array([1_780_000_000_000_000]),
        values=np.array([float(step)]),
    )
    return await write_points(connection, run_id, batch)
