from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

import pytest
from search_pages import fill_mlflow

if TYPE_CHECKING:
    from pathlib import Path

#: As far as the rows need it: what MLflow's server makes at its first start.
TABLES = """
create table runs (run_uuid primary key, name, source_type, source_name, entry_point_name, user_id,
    status, start_time, end_time, source_version, lifecycle_stage, artifact_uri, experiment_id);
create table params (key, value not null, run_uuid, primary key (key, run_uuid));
create table latest_metrics (key, value not null, timestamp, step, is_nan, run_uuid,
    primary key (key, run_uuid));
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mlflow.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
    return path


def test_the_peer_gets_runs_with_twenty_metrics_and_a_param_each(file: Path) -> None:
    fill_mlflow(file, 30)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        counts = [
            connection.execute(f"select count(*) from {table}").fetchone()[0]
            for table in ("runs", "params", "latest_metrics")
        ]
        rates = connection.execute("select distinct value from params").fetchall()
    assert counts == [30, 30, 600]
    assert {rate for (rate,) in rates} <= {"0.1", "0.03", "0.01", "0.003", "0.001"}
