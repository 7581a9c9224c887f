"""The database's part of a batch of 10 000 points, beside a raw binary ``COPY`` of the same rows.

The raw table has no index and no rights to look at; both go through one connection of the same
embedded database, in turns. Promise: at most ten times a raw copy. ``--rows`` is the number of points.

Beside it: one batch that begins ``NEW_SERIES`` series, and the next point of each of them.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import psycopg
from peer import Target, arguments_of, report

from mapi.access.identifiers import uuid_from_text
from mapi.database.door import Database, Reach
from mapi.database.embedded.binaries import find_binaries, find_identity
from mapi.database.embedded.server import EmbeddedServer
from mapi.database.migrate import ensure_tenant, migrate
from mapi.tracking.batch import PointBatch, Series
from mapi.tracking.ingest import write_batch
from mapi.tracking.writing import API

SERIES = 10
POINTS = 10_000
#: What one request of a tool that logs per layer, head and expert may begin.
NEW_SERIES = 20_000
#: Of a database that lives as long as the bench.
PASSWORD = secrets.token_hex(8)


def database_part(directory: Path, *, points: int, calls: int) -> dict[str, float]:
    """Write the same rows by the log's way in and by a raw ``COPY``; return both rates."""
    server = EmbeddedServer(directory, find_binaries(None), find_identity(65534))
    server.start()
    try:
        migrate(server.superuser_url(), login="mapi", password=PASSWORD)
        limits = dict.fromkeys(("points", "points_per_series", "series"), "unlimited")
        tenant_id = ensure_tenant(server.superuser_url(), "bench", json.dumps(limits))
        raw, logged = asyncio.run(_database_rates(server, tenant_id, points=points, calls=calls))
        begun, gone_on = asyncio.run(_new_series_seconds(server, tenant_id))
    finally:
        server.stop()
    return {
        "raw_copy_us_per_point": round(1e6 * raw / points, 3),
        "logged_us_per_point": round(1e6 * logged / points, 3),
        "logged_of_raw": round(logged / raw, 2),
        "new_series_seconds": round(begun, 3),
        "known_series_seconds": round(gone_on, 3),
    }


async def _database_rates(
    server: EmbeddedServer, tenant_id: int, *, points: int, calls: int
) -> tuple[float, float]:
    """Return the median seconds of a batch each way, taken in turns."""
    run_id = uuid_from_text("", "0198c5e0-0000-7000-8000-000000000001")
    with psycopg.connect(server.superuser_url()) as connection:
        connection.execute(
            "insert into mapi.projects (tenant_id, name) values (%s, 'default')", [tenant_id]
        )
        connection.execute(
            "insert into mapi.runs (tenant_id, id, project_id, kind, status)"
            " select %s, %s, id, 'external', 'running' from mapi.projects",
            [tenant_id, run_id],
        )
        connection.execute(
            "create table public.raw (series_id int8, step int8, time timestamptz, value float8)"
        )
    database = Database(server.url("mapi", PASSWORD, "postgres"), connections=2)
    await database.open()
    raw, logged = [], []
    try:
        for number in range(calls):
            batch = _batch(number, points)
            raw.append(_copy_seconds(server, batch))
            start = time.perf_counter()
            await write_batch(database, Reach(tenant_id), run_id, batch=batch, sender=API)
            logged.append(time.perf_counter() - start)
    finally:
        await database.close()
    return statistics.median(raw), statistics.median(logged)


async def _new_series_seconds(server: EmbeddedServer, tenant_id: int) -> tuple[float, float]:
    """Return the seconds of a batch of one point for each of new series, and of the next such batch."""
    run_id = uuid_from_text("", "0198c5e0-0000-7000-8000-000000000002")
    with psycopg.connect(server.superuser_url()) as connection:
        connection.execute(
            "insert into mapi.runs (tenant_id, id, project_id, kind, status)"
            " select %s, %s, id, 'external', 'running' from mapi.projects",
            [tenant_id, run_id],
        )
    series = [Series(f"loss_{at % 100}", (("layer", str(at)),)) for at in range(NEW_SERIES)]
    database = Database(server.url("mapi", PASSWORD, "postgres"), connections=2)
    await database.open()
    found = []
    try:
        for step in range(2):
            batch = PointBatch.of(
                series,
                index=np.arange(NEW_SERIES),
                steps=np.full(NEW_SERIES, step),
                times_us=np.full(NEW_SERIES, 1_780_000_000_000_000 + step),
                values=np.sin(np.arange(NEW_SERIES)),
            )
            start = time.perf_counter()
            counts = await write_batch(database, Reach(tenant_id), run_id, batch=batch, sender=API)
            found.append(time.perf_counter() - start)
            assert counts.accepted == NEW_SERIES
    finally:
        await database.close()
    return found[0], found[1]


def _batch(number: int, points: int) -> PointBatch:
    size = points // SERIES
    steps = np.tile(np.arange(number * size, (number + 1) * size), SERIES)
    return PointBatch.of(
        [Series(f"loss_{at}") for at in range(SERIES)],
        index=np.repeat(np.arange(SERIES), size),
        steps=steps,
        times_us=1_780_000_000_000_000 + steps,
        values=np.sin(steps),
    )


def _binary_rows(batch: PointBatch) -> bytes:
    """Return a batch as ``COPY`` takes it: a header, rows of sized fields, a trailer."""
    fields = {"series": ">i8", "step": ">i8", "time": ">i8", "value": ">f8"}
    row = [("count", ">i2")]
    for name, kind in fields.items():
        row += [(f"{name}_size", ">i4"), (name, kind)]
    rows = np.empty(len(batch), dtype=np.dtype(row))
    rows["count"] = len(fields)
    for name in fields:
        rows[f"{name}_size"] = 8
    rows["series"] = batch.index
    rows["step"] = batch.steps
    rows["time"] = batch.times_us - 946_684_800_000_000  # since 2000
    rows["value"] = batch.values
    return b"PGCOPY\n\xff\r\n\x00" + bytes(8) + rows.tobytes() + b"\xff\xff"


def _copy_seconds(server: EmbeddedServer, batch: PointBatch) -> float:
    with psycopg.connect(server.superuser_url()) as connection:
        start = time.perf_counter()
        rows = _binary_rows(batch)
        with connection.cursor().copy(
            "copy public.raw (series_id, step, time, value) from stdin (format binary)"
        ) as copy:
            copy.write(rows)
        connection.commit()
        return time.perf_counter() - start


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=400_000, rounds=1)
    with tempfile.TemporaryDirectory() as directory:
        # The database's own user walks through it.
        Path(directory).chmod(0o755)
        calls = max(1, options.rows // POINTS)
        figures = database_part(Path(directory) / "postgres", points=POINTS, calls=calls)
    targets = [
        Target("logged_of_raw", "<= 10 raw copies", at_most=10, at_rows=400_000),
        Target("new_series_seconds", "<= 4 s for 20 000 new series", at_most=4),
    ]
    report(
        "ingest_database",
        1,
        settings={"rows": options.rows},
        ours=figures,
        peer={},
        targets=targets,
    )


if __name__ == "__main__":
    main()
