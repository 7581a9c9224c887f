"""A page of the runs table as a browser asks for it: over HTTP, beside MLflow's server.

Ours holds ``--rows`` runs with 20 series each, loaded by SQL; MLflow's, on SQLite, a fifth of them,
loaded by SQL too, as it takes too long with more. Both filter on one metric and one param and sort
by a metric, 50 rows a page. Promise with 100 000 runs: first page and page 10 at most 25 ms at
the median and 60 ms at the 95th percentile.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg
from peer import Figures, Target, arguments_of, medians, report, run_program
from search_runs import COLUMNS, HOT, fill
from servers.mlflow import mlflow, mlflow_python, mlflow_version, sqlite_address
from servers.platform import platform

#: How many times as many runs ours holds.
SHARE = 5

#: MLflow has no labels; ``loss_val`` stands for ``loss{split=val}``.
FILL_MLFLOW = """
with recursive counted (number) as (
    select 1 union all select number + 1 from counted where number < :runs
)
insert into runs (run_uuid, name, source_type, source_name, entry_point_name, user_id, status,
    start_time, end_time, source_version, lifecycle_stage, artifact_uri, experiment_id)
select printf('%032x', number), 'run ' || number, 'LOCAL', '', '', 'bench', 'FINISHED',
    1796000000000 + number, 1796000000001 + number, '', 'active', '', 0
from counted;
insert into params (key, value, run_uuid)
select 'lr', json_extract('["0.1","0.03","0.01","0.003","0.001"]', '$[' || abs(random() % 5) || ']'),
    run_uuid
from runs;
insert into latest_metrics (key, value, timestamp, step, is_nan, run_uuid)
select series.value, abs(random() % 1000000) / 1e6, 1796000000000, 99, 0, runs.run_uuid
from runs cross join json_each(:keys) as series;
analyze;
"""

_SHARED = """
import json, time, urllib.request
def asked(path, body):
    request = urllib.request.Request(
        settings["url"] + path,
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {settings.get('token')}"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())
def quantile(took, share):
    return sorted(took)[min(len(took) - 1, int(len(took) * share))]
def measured(path, body, cursor_name, next_name):
    first, tenth = dict(body), dict(body)
    for _ in range(9):
        cursor = asked(path, tenth).get(next_name)
        if not cursor:
            break
        tenth = {**body, cursor_name: cursor}
    figures = {}
    for name, one in (("first", first), ("page10", tenth)):
        took = []
        for _ in range(settings["asked"]):
            start = time.perf_counter()
            asked(path, one)
            took.append((time.perf_counter() - start) * 1e3)
        figures |= {f"{name}_p50_ms": quantile(took, 0.5), f"{name}_p95_ms": quantile(took, 0.95)}
    print(json.dumps(figures))
"""
OURS = (
    _SHARED
    + """
body = {name: settings[name] for name in ("filter", "sort", "columns")} | {"limit": 50}
measured("/v1/runs/search", body, "cursor", "next_cursor")
"""
)
MLFLOW = (
    _SHARED
    + """
measured("/api/2.0/mlflow/runs/search", {
    "experiment_ids": ["0"],
    "filter": "metrics.loss_val < 0.3 and params.lr = '0.01'",
    "order_by": ["metrics.acc_val DESC"],
    "max_results": 50,
}, "page_token", "next_page_token")
"""
)


def fill_mlflow(file: Path, runs: int) -> None:
    """Load as many runs with 20 metrics each; its own server has made the tables."""
    keys = ["loss_val", "acc_val", "loss_train", "acc_train", *(f"s{at:02}" for at in range(16))]
    named = {":runs": str(int(runs)), ":keys": f"'{json.dumps(keys)}'"}
    script = FILL_MLFLOW
    for name, value in named.items():
        script = script.replace(name, value)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=100_000, rounds=2)
    runs: int = options.rows
    settings: dict[str, Any] = {"rows": runs, "asked": 30}
    promised = [
        Target(f"{page}_{figure}", f"<= {limit} ms", at_most=limit, at_rows=100_000)
        for page in ("first", "page10")
        for figure, limit in (("p50_ms", 25), ("p95_ms", 60))
    ]
    with (
        tempfile.TemporaryDirectory(prefix="et-bench-") as directory,
        contextlib.ExitStack() as undo,
    ):
        root = Path(directory)
        # The database's own user walks through it.
        root.chmod(0o755)
        ours = undo.enter_context(platform(root / "home"))
        path = "-c search_path=mapi,pg_temp -c timezone=UTC"
        with psycopg.connect(ours.superuser_url(), autocommit=True, options=path) as owner:
            fill(owner, runs)
        filter_text, sort_text = HOT
        asked = {"filter": filter_text, "sort": sort_text, "columns": COLUMNS}
        sides = [(Path(sys.executable), OURS, {**asked, "url": ours.url, "token": ours.token})]
        if not options.no_peer:
            theirs = undo.enter_context(mlflow(root / "mlflow", sqlite_address(root)))
            fill_mlflow(root / "mlflow.db", runs // SHARE)
            settings |= {
                "peer": f"mlflow {mlflow_version()} on sqlite",
                "peer_rows": runs // SHARE,
            }
            sides.append((mlflow_python(), MLFLOW, {"url": theirs.url}))
        rounds: list[list[Figures]] = [
            [run_program(python, code, {**settings, **where}) for python, code, where in sides]
            for _ in range(options.rounds)
        ]
    found = [medians(list(side)) for side in zip(*rounds, strict=True)]
    report(
        "search_pages",
        options.rounds,
        settings=settings,
        ours=found[0],
        peer=found[1] if len(found) > 1 else {},
        targets=promised,
    )


if __name__ == "__main__":
    main()
