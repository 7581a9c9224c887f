"""Curves over HTTP: a million points in a thousand buckets, and ten thousand points exactly.

Promise: at most 250 ms for the buckets, spikes kept, and 25 ms for the exact points. MLflow's server, on
SQLite, is asked for the same history page by page through its client, and for a thousand points of a
tenth of the long series through the route of its charts, which samples: a spike between is not there.
Ours are asked for again once the run is compacted, where a point takes at most 30 bytes.
All points are loaded by SQL. ``--rows`` is the length of our long series.
"""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg
from peer import Figures, Target, arguments_of, medians, report, run_program
from servers.mlflow import mlflow, mlflow_python, mlflow_version, sqlite_address
from servers.platform import PROGRAM, platform

from mapi.series.names import labels_hash

#: What is asked, and the promise in milliseconds.
TARGETS = {
    "buckets_1000_ms": 250.0,
    "exact_10000_ms": 25.0,
    "compacted_buckets_1000_ms": 250.0,
    "compacted_exact_10000_ms": 25.0,
}
POINT_BYTES_MAX = 30.0
#: Of the exact curve.
SHORT = 10_000
#: How many times as long our long series is.
SHARE = 10

_SHARED = """
import http.client, json, time
connection = http.client.HTTPConnection(settings["url"].removeprefix("http://"))
def asked(path):
    headers = {"Authorization": f"Bearer {settings.get('token')}"}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, text
    return json.loads(text)
def median_ms(ask):
    ask()
    took = []
    for _ in range(settings["asked"]):
        start = time.perf_counter()
        ask()
        took.append((time.perf_counter() - start) * 1e3)
    return sorted(took)[len(took) // 2]
"""
OURS = (
    _SHARED
    + """
path = f"/v1/runs/{settings['run']}/metrics/points"
print(json.dumps({
    settings["prefix"] + "buckets_1000_ms": median_ms(
        lambda: asked(path + "?key=long&buckets=1000")
    ),
    settings["prefix"] + "exact_10000_ms": median_ms(lambda: asked(path + "?key=short")),
}))
"""
)
MLFLOW = (
    _SHARED
    + """
run = settings["run"]
bulk = "/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval"
def exact():
    path = f"/api/2.0/mlflow/metrics/get-history?run_id={run}&metric_key=short"
    assert len(asked(path)["metrics"]) == 10_000
print(json.dumps({
    "buckets_1000_ms": median_ms(
        lambda: asked(f"{bulk}?run_ids={run}&metric_key=long&max_results=1000")
    ),
    "exact_10000_ms": median_ms(exact),
}))
"""
)


def fill(superuser_url: str, points: int) -> str:
    """Make a run of the first project with a long and a short series; return its id."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        run = connection.execute(
            "insert into mapi.runs (tenant_id, id, project_id, kind, status, finished)"
            " values (1, gen_random_uuid(), 1, 'external', 'succeeded', now()) returning id"
        ).fetchone()
        assert run is not None
        for key, count in (("long", points), ("short", SHORT)):
            series = connection.execute(
                "insert into mapi.run_series"
                " (tenant_id, run_id, attempt, key, labels, labels_hash, source)"
                " values (1, %s, 1, %s, '{}', %s, 'api') returning id",
                [run[0], key, labels_hash(())],
            ).fetchone()
            assert series is not None
            connection.execute(
                "insert into mapi.run_metric_points"
                " select 1, %s, step, timestamptz '2026-01-01' + step * interval '1 second'"
                " + random() * interval '1 second', random() from generate_series(0, %s - 1) as step",
                [series[0], count],
            )
        connection.execute("vacuum analyze")
    return f"run_{run[0]}"


def point_bytes(superuser_url: str) -> float:
    """Return what a compacted point takes, with all that is stored for it."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute("vacuum analyze")
        row = connection.execute(
            "select (select sum(pg_total_relation_size(relid)) from"
            " pg_partition_tree('mapi.run_metric_chunks') where isleaf) / sum(count)"
            " from mapi.run_metric_chunks"
        ).fetchone()
    assert row is not None
    return round(float(row[0]), 1)


def fill_mlflow(file: Path, points: int) -> str:
    """Do the same for MLflow, whose server has made the tables; return the run's id."""
    run = "0" * 31 + "1"
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "insert into runs (run_uuid, name, source_type, source_name, entry_point_name, user_id,"
            " status, start_time, source_version, lifecycle_stage, artifact_uri, experiment_id)"
            " values (?, 'run', 'LOCAL', '', '', 'bench', 'RUNNING', 0, '', 'active', '', 0)",
            [run],
        )
        for key, count in (("long", points), ("short", SHORT)):
            connection.execute(
                "with recursive counted (step) as"
                " (select 0 union all select step + 1 from counted where step + 1 < ?)"
                " insert into metrics (key, value, timestamp, run_uuid, step, is_nan)"
                " select ?, abs(random() % 1000000) / 1e6, 1796000000000 + step, ?, step, 0"
                " from counted",
                [count, key, run],
            )
            connection.execute(
                "insert into latest_metrics (key, value, timestamp, step, is_nan, run_uuid)"
                " values (?, 0.5, 1796000000000, ?, 0, ?)",
                [key, count - 1, run],
            )
        connection.execute("analyze")
    return run


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=1_000_000, rounds=2)
    points: int = options.rows
    settings: dict[str, Any] = {"rows": points, "asked": 5}
    with (
        tempfile.TemporaryDirectory(prefix="et-bench-") as directory,
        contextlib.ExitStack() as undo,
    ):
        root = Path(directory)
        # The database's own user walks through it.
        root.chmod(0o755)
        ours = undo.enter_context(platform(root / "home"))
        run = fill(ours.superuser_url(), points)
        own = {"url": ours.url, "token": ours.token, "run": run, "prefix": ""}
        sides = [(Path(sys.executable), OURS, own)]
        if not options.no_peer:
            theirs = undo.enter_context(mlflow(root / "mlflow", sqlite_address(root)))
            shorter = max(1, points // SHARE)
            settings |= {"peer": f"mlflow {mlflow_version()} on sqlite", "peer_rows": shorter}
            run = fill_mlflow(root / "mlflow.db", shorter)
            sides.append((mlflow_python(), MLFLOW, {"url": theirs.url, "run": run}))
        rounds: list[list[Figures]] = [
            [run_program(python, code, {**settings, **where}) for python, code, where in sides]
            for _ in range(options.rounds)
        ]
        subprocess.run(
            [
                sys.executable,
                "-c",
                PROGRAM,
                "admin",
                f"--home={ours.home}",
                "compact",
                "--hours=0",
            ],
            check=True,
            stdout=sys.stderr,
        )
        size = point_bytes(ours.superuser_url())
        compacted = [
            run_program(Path(sys.executable), OURS, {**settings, **own, "prefix": "compacted_"})
            for _ in range(options.rounds)
        ]
    found = [medians(list(side)) for side in zip(*rounds, strict=True)]
    found[0] |= medians(compacted) | {"compacted_point_bytes": size}
    report(
        "curves",
        options.rounds,
        settings=settings,
        ours=found[0],
        peer=found[1] if len(found) > 1 else {},
        targets=[
            Target(name, f"<= {limit:.0f} ms", at_most=limit, at_rows=1_000_000)
            for name, limit in TARGETS.items()
        ]
        + [
            Target(
                "compacted_point_bytes", "<= 30 bytes", at_most=POINT_BYTES_MAX, at_rows=1_000_000
            )
        ],
    )


if __name__ == "__main__":
    main()
