"""A page of the runs table out of 100 000 runs with 20 series each, in an embedded database.

The hot query filters on one series and one param and sorts by a metric; it is asked as the role
without power, so row-level security is part of the time. Promise: first page and page 10 at most
25 ms at the median and 60 ms at the 95th percentile, and no plan scans a big table from end to end.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, LiteralString

import psycopg
from peer import Target, arguments_of, report

from mapi.database.embedded.binaries import find_binaries, find_identity
from mapi.database.embedded.server import EmbeddedServer
from mapi.database.migrate import migrate
from mapi.search import (
    Position,
    Search,
    column_statement,
    page_statements,
    parse_columns,
    parse_filter,
    parse_sort,
    position_of,
)
from mapi.series.names import labels_hash

BIG: Final = {"runs", "run_metric_summary", "run_params"}
LIMIT: Final = 50
COLUMNS: Final = "name,status,metrics.loss{split=val},metrics.s05,params.lr,tags.stage"
HOT: Final = ("metrics.loss{split=val} < 0.3 AND params.lr = 0.01", "-metrics.acc{split=val}")
#: Other shapes, to see where the edges are; the promise is about the hot one.
SEARCHES: Final = {
    "hot": HOT,
    "newest": ("", ""),
    "rare": ("metrics.loss{split=val} < 0.0005 AND params.lr = 0.01", "-metrics.acc{split=val}"),
    "wide": ("metrics.loss{split=val} < 0.99", "metrics.acc{split=val}.min"),
    "negated": (
        "NOT metrics.loss{split=val} >= 0.3 AND params.lr != 0.1",
        "-metrics.acc{split=val}",
    ),
    "either": (
        "metrics.loss{split=val} < 0.01 OR metrics.s05 > 0.999",
        "-metrics.acc{split=val}",
    ),
    "either_wide": (
        "metrics.loss{split=val} < 0.9 OR metrics.s05 > 0.1",
        "-metrics.acc{split=val}",
    ),
    "tag": ("tags.stage = rare", "-created"),
}

FILL: Final[LiteralString] = """
set session_replication_role = replica;
insert into runs (tenant_id, id, project_id, kind, status, name, created)
select
    1, ('01900000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 1, 'fit', 'succeeded',
    'run ' || number, now() - (number * 7919 %% %(runs)s) * interval '1 minute'
from generate_series(1, %(runs)s) as number;
insert into run_params (tenant_id, run_id, key, project_id, text, number, source)
select 1, id, 'lr', 1, value::text, value, 'api'
from (
    select id, (array[0.1, 0.03, 0.01, 0.003, 0.001])[1 + floor(random() * 5)::int]::float8 as value
    from runs offset 0
) as drawn;
insert into run_params (tenant_id, run_id, key, project_id, text, number, source)
select 1, id, 'seed', 1, value::text, value, 'api'
from (select id, floor(random() * 1000)::float8 as value from runs offset 0) as drawn;
insert into run_tags (tenant_id, run_id, key, project_id, text, source)
select 1, id, 'stage', 1, case when random() < 0.001 then 'rare' else 'dev' end, 'api' from runs;
"""
FILL_SUMMARIES: Final[LiteralString] = """
insert into run_metric_summary (
    tenant_id, run_id, key, labels_hash, labels, project_id, attempt, series_id, is_scalar, count,
    nonfinite_count, first_time, last_time, last_step, last_value, min_value, min_step, max_value,
    max_step, finite_sum, source
)
select
    1, runs.id, series.key, series.hash, series.labels::jsonb, 1, 1, 0, false, 100, 0, now(), now(),
    99, drawn.value, drawn.value / 2, 50, drawn.value * 2, 1, drawn.value * 100, 'api'
from runs
cross join unnest(%(keys)s::text[], %(hashes)s::int8[], %(labels)s::text[])
    as series (key, hash, labels)
cross join lateral (
    select case when random() < 0.01 and series.key = 'acc' then 'NaN' else random() end as value
    where runs.id is not null and series.key is not null
) as drawn
"""


def fill(connection: psycopg.Connection[Any], runs: int) -> None:
    """Load the rows into the first project; indexes are made afterwards, as for any bulk load."""
    series = [("loss", "val"), ("acc", "val"), ("loss", "train"), ("acc", "train")]
    series += [(f"s{number:02}", "") for number in range(16)]
    labels = [(("split", split),) if split else () for _, split in series]
    literal = FILL.replace("%(runs)s", str(int(runs))).replace("%%", "%")
    connection.execute(literal)
    indexes = connection.execute(
        "select indexname, indexdef from pg_indexes"
        " where schemaname = 'mapi' and indexname like 'run_metric_summary_%' and indexdef not like '%UNIQUE%'"
    ).fetchall()
    for name, _ in indexes:
        connection.execute(f"drop index {name}")
    connection.execute(
        FILL_SUMMARIES,
        {
            "keys": [key for key, _ in series],
            "hashes": [labels_hash(one) for one in labels],
            "labels": [json.dumps(dict(one)) for one in labels],
        },
    )
    for _, definition in indexes:
        connection.execute(definition)
    connection.execute("vacuum analyze")


class Client:
    """Asks as the application does.

    Args:
        connection: of the role without power.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def page(self, search: Search, after: Position | None) -> tuple[list[Any], Position | None]:
        """Return the rows of one page with their columns, and where the next one begins."""
        with self._connection.transaction():
            self._begin()
            rows: list[Any] = []
            for statement in page_statements(search, LIMIT, after):
                text = statement.text
                rows += self._connection.execute(
                    text, statement.parameters, prepare=False
                ).fetchall()
                if len(rows) > LIMIT:
                    break
            page = rows[:LIMIT]
            columns = parse_columns(COLUMNS, series_from_name=no_name)
            looked = column_statement(
                search.project_id, columns, [row[-1] for row in page], now=search.now
            )
            text = looked.text
            self._connection.execute(text, looked.parameters).fetchall()
        return page, position_of(page[-1]) if len(rows) > LIMIT else None

    def plan(self, search: Search, after: Position | None) -> list[dict[str, Any]]:
        """Return the nodes of the plans that a page ran."""
        nodes: list[dict[str, Any]] = []
        with self._connection.transaction():
            self._begin()
            rows = 0
            for statement in page_statements(search, LIMIT, after):
                text = f"explain (analyze, buffers, format json) {statement.text}"
                found = self._connection.execute(
                    text, statement.parameters, prepare=False
                ).fetchone()
                assert found is not None
                plan = found[0][0]["Plan"]
                nodes += walk(plan)
                rows += plan["Actual Rows"]
                if rows > LIMIT:
                    break
        return nodes

    def _begin(self) -> None:
        self._connection.execute(
            "select set_config('mapi.tenant', '1', true), set_config('mapi.projects', '*', true)"
        )


def walk(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a plan and all below it."""
    below = [node for one in plan.get("Plans", []) for node in walk(one)]
    return [plan, *below]


def no_name(name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Stand in for the name map: nothing here is quoted."""
    raise ValueError(name)


def measure(
    client: Client, search: Search, after: Position | None, *, rounds: int
) -> dict[str, float]:
    """Return median and 95th percentile of one page in milliseconds."""
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        client.page(search, after)
        took.append((time.perf_counter() - start) * 1000)
    return {
        "p50_ms": round(statistics.median(took), 2),
        "p95_ms": round(sorted(took)[min(rounds - 1, int(rounds * 0.95))], 2),
    }


def figures_of(
    client: Client, filter_text: str, sort_text: str, *, rounds: int
) -> dict[str, float]:
    """Return what the first page and page 10 of a search cost."""
    search = Search(
        1,
        datetime.now(UTC),
        parse_filter(filter_text, series_from_name=no_name),
        parse_sort(sort_text, series_from_name=no_name),
    )
    position: Position | None = None
    tenth: Position | None = None
    for _ in range(9):
        _, position = client.page(search, position)
        if position is None:
            break
        tenth = position
    figures: dict[str, float] = {}
    for page, after in (("first", None), ("page10", tenth)):
        scans = [node for node in client.plan(search, after) if node["Node Type"] == "Seq Scan"]
        found = measure(client, search, after, rounds=rounds)
        figures |= {f"{page}_{name}": value for name, value in found.items()}
        figures[f"{page}_whole_scans"] = sum(node["Relation Name"] in BIG for node in scans)
    return figures


def main() -> None:
    """Run the bench, one line for each search."""
    options = arguments_of(__doc__, rows=100_000, rounds=60)
    promised = [
        Target(f"{page}_{figure}", text, at_most=limit, at_rows=100_000)
        for page in ("first", "page10")
        for figure, text, limit in (
            ("p50_ms", "<= 25 ms", 25),
            ("p95_ms", "<= 60 ms", 60),
            ("whole_scans", "no scan of a whole table", 0),
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedServer(
            Path(folder) / "database", find_binaries(None), find_identity(65534)
        )
        server.start()
        try:
            migrate(server.superuser_url(), login="mapi_login", password="bench")  # noqa: S106 - of a private socket
            path = "-c search_path=mapi,pg_temp -c timezone=UTC"
            with psycopg.connect(server.superuser_url(), autocommit=True, options=path) as owner:
                owner.execute("insert into tenants (name) values ('bench')")
                owner.execute("insert into projects (tenant_id, name) values (1, 'bench')")
                fill(owner, options.rows)
            url = server.url("mapi_login", "bench", "postgres")
            with psycopg.connect(url, autocommit=True, options=path, prepare_threshold=3) as app:
                for name, (filter_text, sort_text) in SEARCHES.items():
                    report(
                        f"search_runs_{name}",
                        options.rounds,
                        settings={"rows": options.rows, "series": 20},
                        ours=figures_of(
                            Client(app), filter_text, sort_text, rounds=options.rounds
                        ),
                        peer={},
                        targets=promised if name == "hot" else [],
                    )
        finally:
            server.stop()


if __name__ == "__main__":
    main()
