"""Rows as the evaluator in memory takes them: strategies for them, and their way into the tables."""

from __future__ import annotations

import functools
import json
import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from hypothesis import strategies as st
from tests.mapi.search.language import KEYS, LABELS, NOW, PATHS, Universe

from mapi.search.literals import is_number
from mapi.search.nodes import KINDS, STATUSES
from mapi.series.names import labels_hash

if TYPE_CHECKING:
    import psycopg
    from tests.mapi.search.conftest import Doors

    from mapi.search import Row

RUN_IDS: Final = [UUID(int=(0x01900000_0000_7000_8000 << 48) + number) for number in range(8)]
EXPERIMENTS: Final = {
    UUID(int=(0x01900000_0000_7000_9000 << 48) + number): name
    for number, name in enumerate(["base", "Base two"])
}
LONG: Final = "x" * 300
TEXTS = [
    "dev",
    "Dev",
    "prod",
    "0.1",
    "0.10",
    "1e-1",
    "-3",
    "inf",
    "auto",
    "adam",
    "AdamW",
    "a%b",
    "a_b",
    "a\\b",
    "ÄÖß",
    "äöß",
    "true",
    "*",
]
TEXTS += ["a & b", "a\nb", f"{LONG}1", f"{LONG}2"]
NUMBERS: Final = [-1.0, -0.0, 0.0, 0.1, 0.3, 1.0, 3.0, 2.0**53, 1e308, 5e-324, math.inf, -math.inf]

POOL: Final = Universe(
    texts=st.sampled_from(TEXTS),
    numbers=st.sampled_from(NUMBERS),
    ids=st.sampled_from([f"run_{one}" for one in RUN_IDS[:3]] + ["run_none"]),
    experiments=st.sampled_from(
        [*EXPERIMENTS.values(), "BASE", "none", *(f"exp_{one}" for one in EXPERIMENTS)]
    ),
)


@st.composite
def summaries(draw: st.DrawFn) -> dict[str, Any]:
    """What a summary says; the mean follows from the sum, as it does in the table."""
    count = draw(st.sampled_from([1, 2, 3, 2**53 + 1]))
    nonfinite = draw(st.sampled_from([0, 1, count]))
    total = draw(st.sampled_from([0.0, 0.3, -1.0, 5e-324, 1e308, math.inf, math.nan]))
    found: dict[str, Any] = {
        "last": draw(st.sampled_from([*NUMBERS, math.nan])),
        "count": count,
        "nonfinite": nonfinite,
        "sum": total,
    }
    finite = count - nonfinite
    if finite:
        # Too small for a quotient, as in `mapi.mean_of`.
        found["mean"] = 0.0 if abs(total) < 5e-324 * finite else total / finite
        found["min"] = draw(st.sampled_from(NUMBERS[:-2]))
        found["max"] = draw(st.sampled_from(NUMBERS[:-2]))
        found["min_step"] = draw(st.sampled_from([-1, 0, 3, 2**53 + 1]))
        found["max_step"] = draw(st.sampled_from([-1, 0, 3]))
    return found


def params() -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(TEXTS).map(
        lambda text: {"text": text, "number": float(text) if is_number(text) else None}
    )


TIMES: Final = st.sampled_from([NOW - timedelta(days=number) for number in (0, 1, 7, 8)])


# Made once: a strategy that is made anew for each example fills Hypothesis's own cache, whose keys
# are compared as long as they are.
@functools.cache
def row_of(number: int) -> st.SearchStrategy[Row]:
    """Rows of the run with one of `RUN_IDS`."""
    times = st.none() | TIMES
    return st.fixed_dictionaries(
        {
            "id": st.just(f"run_{RUN_IDS[number]}"),
            "name": st.sampled_from(["", *TEXTS]),
            "note": st.sampled_from(["", *TEXTS]),
            "status": st.sampled_from(STATUSES),
            "kind": st.sampled_from(KINDS),
            "user": st.sampled_from(["", "dev", "Dev"]),
            "experiment": st.none()
            | st.sampled_from(
                [{"id": f"exp_{one}", "name": name} for one, name in EXPERIMENTS.items()]
            ),
            "created": TIMES,
            "started": times,
            "finished": times,
            "heartbeat": times,
            "parent": st.sampled_from([None, *(f"run_{one}" for one in RUN_IDS[:number])]),
            "attempts": st.sampled_from([0, 1, 3]),
            # Unique in a project.
            "external_id": st.none() | st.just(f"{TEXTS[number % len(TEXTS)]}{number}"),
            "metrics": st.dictionaries(
                st.tuples(st.sampled_from(KEYS), st.sampled_from(LABELS)), summaries(), max_size=4
            ),
            "params": st.dictionaries(st.sampled_from(PATHS), params(), max_size=3),
            "tags": st.dictionaries(
                st.sampled_from(PATHS), st.sampled_from(["", *TEXTS]), max_size=3
            ),
        }
    )


def tables(least: int = 1) -> st.SearchStrategy[list[Row]]:
    """Several runs, each once."""
    return st.integers(least, len(RUN_IDS)).flatmap(_table_of)


@functools.cache
def _table_of(count: int) -> st.SearchStrategy[list[Row]]:
    return st.tuples(*(row_of(number) for number in range(count))).map(list)


def insert(doors: Doors, connection: psycopg.Connection[Any], rows: list[Row]) -> None:
    """Put rows into the tables, as the owner."""
    tenant, project = doors.tenant_id, doors.project_id
    for identity, name in EXPERIMENTS.items():
        connection.execute(
            "insert into experiments (tenant_id, id, project_id, name) values (%s, %s, %s, %s)",
            [tenant, identity, project, name],
        )
    for row in rows:
        run = row["id"].removeprefix("run_")
        experiment = row["experiment"] and row["experiment"]["id"].removeprefix("exp_")
        connection.execute(
            "insert into runs (tenant_id, id, project_id, kind, status, name, note, user_name,"
            " experiment_id, parent_id, created, started, finished, heartbeat, external_id)"
            " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                *(tenant, run, project, row["kind"], row["status"]),
                *(row["name"], row["note"], row["user"], experiment),
                row["parent"] and row["parent"].removeprefix("run_"),
                *(row["created"], row["started"], row["finished"], row.get("heartbeat")),
                row.get("external_id"),
            ],
        )
        for attempt in range(1, row["attempts"] + 1):
            connection.execute(
                "insert into run_attempts (tenant_id, run_id, attempt, source)"
                " values (%s, %s, %s, 'api')",
                [tenant, run, attempt],
            )
        for (key, labels), found in row["metrics"].items():
            connection.execute(
                "insert into run_metric_summary (tenant_id, run_id, key, labels_hash, labels,"
                " project_id, attempt, series_id, is_scalar, count, nonfinite_count, first_time,"
                " last_time, last_step, last_value, min_value, min_step, max_value, max_step,"
                " finite_sum, source) values (%s, %s, %s, %s, %s, %s, 1, 1, false, %s, %s, now(),"
                " now(), 0, %s, %s, %s, %s, %s, %s, 'api')",
                [
                    *(tenant, run, key, labels_hash(labels), json.dumps(dict(labels)), project),
                    *(found["count"], found["nonfinite"], found["last"]),
                    *(found.get(name) for name in ("min", "min_step", "max", "max_step")),
                    found["sum"],
                ],
            )
        for key, value in row["params"].items():
            connection.execute(
                "insert into run_params (tenant_id, run_id, key, project_id, text, number, source)"
                " values (%s, %s, %s, %s, %s, %s, 'api')",
                [tenant, run, key, project, value["text"], value["number"]],
            )
        for key, text in row["tags"].items():
            connection.execute(
                "insert into run_tags (tenant_id, run_id, key, project_id, text, source)"
                " values (%s, %s, %s, %s, %s, 'api')",
                [tenant, run, key, project, text],
            )


def acting(doors: Doors, connection: psycopg.Connection[Any]) -> None:
    """Go on in this transaction as the application does: its role, for the tenant."""
    connection.execute("set local role mapi_login")
    connection.execute(
        "select set_config('mapi.tenant', %s, true), set_config('mapi.projects', '*', true)",
        [str(doors.tenant_id)],
    )
