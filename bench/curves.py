"""Curves: a million points in a thousand buckets, and ten thousand points exactly, through the API.

The database is embedded and on this machine; the application is called without a socket, its JSON
included. Promise: at most 250 ms for the buckets and 25 ms for the exact points.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import psycopg
from peer import Target, arguments_of, report

from mapi.access.tokens import new_token
from mapi.api.app import build_app
from mapi.database.door import Database
from mapi.database.embedded.binaries import find_binaries, find_identity
from mapi.database.embedded.server import EmbeddedServer
from mapi.database.migrate import ensure_tenant, migrate
from mapi.objects.opening import open_store
from mapi.series.names import labels_hash

#: What is asked, and the promise in milliseconds.
TARGETS = {"buckets_1000_ms": 250.0, "exact_10000_ms": 25.0}
PASSWORD = "a password of the bench"  # noqa: S105 - of a server that ends with this program


def fill(superuser_url: str, tenant_id: int, points: int) -> tuple[str, str]:
    """Make a run with a long and a short series; return its id and a token."""
    token = new_token()
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        project = connection.execute(
            "insert into mapi.projects (tenant_id, name) values (%s, 'default') returning id",
            [tenant_id],
        ).fetchone()
        assert project is not None
        connection.execute(
            "insert into mapi.tokens (tenant_id, id, secret_hash, name, scopes)"
            " values (%s, %s, %s, 'bench', '{admin}')",
            [tenant_id, token.id, token.secret_hash],
        )
        run = connection.execute(
            "insert into mapi.runs (tenant_id, id, project_id, kind, status)"
            " values (%s, gen_random_uuid(), %s, 'external', 'running') returning id",
            [tenant_id, project[0]],
        ).fetchone()
        assert run is not None
        for key, count in (("long", points), ("short", 10_000)):
            series = connection.execute(
                "insert into mapi.run_series"
                " (tenant_id, run_id, attempt, key, labels, labels_hash, source)"
                " values (%s, %s, 1, %s, '{}', %s, 'api') returning id",
                [tenant_id, run[0], key, labels_hash(())],
            ).fetchone()
            assert series is not None
            connection.execute(
                "insert into mapi.run_metric_points"
                " select %s, %s, step, timestamptz '2026-01-01' + step * interval '1 second',"
                " random() from generate_series(0, %s - 1) as step",
                [tenant_id, series[0], count],
            )
        connection.execute("vacuum analyze")
    return f"run_{run[0]}", token.text


async def measure(url: str, run: str, token: str, *, rounds: int) -> dict[str, float]:
    """Return the median of each question in milliseconds."""
    database = Database(url, connections=2)
    await database.open()
    try:
        # Nothing here is of the store, but an application has one.
        objects = open_store(None, home=Path(tempfile.mkdtemp()), upload_url="", secret=bytes(32))
        app = build_app(database, version="0", objects=objects)
        transport: Any = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        client = httpx.AsyncClient(
            transport=transport,
            base_url="http://127.0.0.1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=60,
        )
        path = f"/v1/runs/{run}/metrics/points"
        figures = {}
        for name, params in (
            ("buckets_1000_ms", {"key": "long", "buckets": "1000"}),
            ("exact_10000_ms", {"key": "short"}),
        ):
            took = []
            for _ in range(rounds + 1):
                started = time.perf_counter()
                answer = await client.get(path, params=params)
                took.append((time.perf_counter() - started) * 1_000)
                assert answer.status_code == 200, answer.text
            figures[name] = round(statistics.median(took[1:]), 1)
        return figures
    finally:
        await database.close()


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=1_000_000, rounds=7)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        root.chmod(0o755)
        server = EmbeddedServer(root / "postgres", find_binaries(None), find_identity(65534))
        server.start()
        try:
            migrate(server.superuser_url(), login="mapi", password=PASSWORD)
            tenant_id = ensure_tenant(server.superuser_url(), "bench")
            run, token = fill(server.superuser_url(), tenant_id, options.rows)
            url = server.url("mapi", PASSWORD, "postgres")
            figures = asyncio.run(measure(url, run, token, rounds=options.rounds))
        finally:
            server.stop()
    report(
        "curves",
        options.rounds,
        settings={"rows": options.rows},
        ours=figures,
        peer={},
        targets=[
            Target(name, f"<= {limit:.0f} ms", at_most=limit, at_rows=1_000_000)
            for name, limit in TARGETS.items()
        ],
    )


if __name__ == "__main__":
    main()
