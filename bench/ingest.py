"""Points into a served platform: one client, one embedded database, one machine.

Promises (2 cores): at least 100 000 points a second (10 us a point) in calls of 10 000 and 25 000
(40 us) in calls of 100; 1 000 runs with 10 params and 20 metrics each in at most 6 seconds; of a
batch of 10 000 the database's part costs at most ten times a raw binary ``COPY`` into a table
without index. Beside each figure stands the time that the server's processes spent on a processor:
on a machine that others use as well, it says more than the clock. ``--rows`` is the number of
points in calls of 10 000; the other parts follow it.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import math
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
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

if TYPE_CHECKING:
    from collections.abc import Iterator

SERIES = 10
START_SECONDS = 60
#: Of a database that lives as long as the bench.
PASSWORD = secrets.token_hex(8)
PROGRAM = (
    "import sys; from pathlib import Path; from mapi.config import settings_from\n"
    "from mapi.serve.command import serve\n"
    "serve(settings_from({'MAPI_HOME': sys.argv[1]}), host='127.0.0.1', port=0, version='0',"
    " say=lambda text: print(text, flush=True))\n"
)


class Client:
    """One kept-alive connection to a served platform."""

    def __init__(self, home: Path) -> None:
        found = json.loads((home / "local.json").read_text(encoding="ascii"))
        self._connection = http.client.HTTPConnection(found["url"].removeprefix("http://"))
        self._headers = {
            "Authorization": f"Bearer {found['token']}",
            "Content-Type": "application/json",
        }

    def post(self, path: str, body: Any) -> Any:
        """Return the answer to a body."""
        self._connection.request("POST", path, msgspec.json.encode(body), self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{path}: {answer.status} {text!r}")
        return json.loads(text)


@contextlib.contextmanager
def served(home: Path) -> Iterator[tuple[Client, int]]:
    """Run a platform in a home of its own; give a client and the process's number."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(home)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield Client(home), process.pid
        finally:
            process.terminate()
            process.wait(timeout=START_SECONDS)


def busy_seconds(pid: int) -> float:
    """Return the processor time of a process and all that it started."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _is_below(int(entry.name), pid):
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _is_below(pid: int, top: int) -> bool:
    while pid > 1:
        if pid == top:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def columns(first: int, points: int) -> dict[str, Any]:
    """Return a body with so many points, ``SERIES`` series going on at step ``first``."""
    size = points // SERIES
    now_us = time.time_ns() // 1_000
    return {
        "series": [
            {
                "key": f"loss_{number}",
                "labels": {"split": "val"},
                "steps": list(range(first, first + size)),
                "times": [now_us + at for at in range(size)],
                "values": [math.sin(first + at + number) for at in range(size)],
            }
            for number in range(SERIES)
        ]
    }


def points_rate(client: Client, pid: int, *, points: int, calls: int) -> dict[str, float]:
    """Log into a new run; return how quick that was."""
    run = client.post("/v1/runs", {})["id"]
    step = points // SERIES
    bodies = [columns(at * step, points) for at in range(calls + 3)]
    for body in bodies[:3]:
        client.post(f"/v1/runs/{run}/metrics", body)
    busy, took = busy_seconds(pid), []
    for body in bodies[3:]:
        start = time.perf_counter()
        answer = client.post(f"/v1/runs/{run}/metrics", body)
        took.append(time.perf_counter() - start)
        assert answer["accepted"] == points, answer
    busy = busy_seconds(pid) - busy
    return {
        "us_per_point": round(1e6 * sum(took) / (points * calls), 2),
        "call_ms": round(1000 * statistics.median(took), 2),
        "server_us_per_point": round(1e6 * busy / (points * calls), 2),
    }


def runs_rate(client: Client, pid: int, *, runs: int) -> dict[str, float]:
    """Make runs with params and metrics; return how long 1 000 take."""
    busy, start = busy_seconds(pid), time.perf_counter()
    for number in range(runs):
        run = client.post(
            "/v1/runs",
            {"name": f"run {number}", "params": {f"param_{at}": at * 0.5 for at in range(10)}},
        )["id"]
        points = [{"key": f"metric_{at}", "value": number + at / 20} for at in range(20)]
        client.post(f"/v1/runs/{run}/metrics", {"points": points})
    return {
        "seconds_per_1000": round((time.perf_counter() - start) * 1000 / runs, 2),
        "server_ms_per_run": round(1000 * (busy_seconds(pid) - busy) / runs, 2),
    }


def database_part(directory: Path, *, points: int, calls: int) -> dict[str, float]:
    """Write the same rows by the log's way in and by a raw ``COPY``; return both rates."""
    server = EmbeddedServer(directory, find_binaries(None), find_identity(65534))
    server.start()
    try:
        migrate(server.superuser_url(), login="mapi", password=PASSWORD)
        limits = dict.fromkeys(("points", "points_per_series"), "unlimited")
        tenant_id = ensure_tenant(server.superuser_url(), "bench", json.dumps(limits))
        raw, logged = asyncio.run(_database_rates(server, tenant_id, points=points, calls=calls))
    finally:
        server.stop()
    return {
        "raw_copy_us_per_point": round(1e6 * raw / points, 3),
        "logged_us_per_point": round(1e6 * logged / points, 3),
        "logged_of_raw": round(logged / raw, 2),
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


def _per_point(limit_us: float) -> Target:
    return Target("us_per_point", f"<= {limit_us} us a point", at_most=limit_us, at_rows=500_000)


def main() -> None:
    """Run the bench, one line for each way in."""
    options = arguments_of(__doc__, rows=500_000, rounds=1)
    rows: int = options.rows

    def line(name: str, ours: dict[str, float], *targets: Target) -> None:
        report(
            f"ingest_{name}", 1, settings={"rows": rows}, ours=ours, peer={}, targets=[*targets]
        )

    def share(part: int) -> int:
        return max(1, rows // part)

    with tempfile.TemporaryDirectory() as directory:
        # The database's own user walks through it.
        Path(directory).chmod(0o755)
        with served(Path(directory) / "home") as (client, pid):
            for points, calls, targets in (
                (10_000, share(10_000), [_per_point(10)]),
                (1_000, share(2_500), []),
                (100, share(1_000), [_per_point(40)]),
            ):
                figures = points_rate(client, pid, points=points, calls=calls)
                line(f"calls_of_{points}", figures, *targets)
            target = Target("seconds_per_1000", "<= 6 s", at_most=6, at_rows=500_000)
            line("runs", runs_rate(client, pid, runs=share(500)), target)
        figures = database_part(Path(directory) / "postgres", points=10_000, calls=share(12_500))
        target = Target("logged_of_raw", "<= 10 raw copies", at_most=10, at_rows=500_000)
        line("database", figures, target)


if __name__ == "__main__":
    main()
