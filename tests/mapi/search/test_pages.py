from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.search.language import NOW, series_from_name
from tests.mapi.search.rows import EXPERIMENTS, RUN_IDS, acting, insert

from mapi.search import (
    Search,
    column_statement,
    count_statement,
    page_statements,
    parse_columns,
    parse_filter,
    parse_sort,
)
from mapi.series.names import labels_hash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from tests.mapi.search.conftest import Doors

    from mapi.search import Row
    from mapi.search.statement import Statement

EXPERIMENT = next(iter(EXPERIMENTS))
VAL = (("split", "val"),)


def row(number: int, **given: Any) -> Row:
    plain: dict[str, Any] = {"name": "", "note": "", "status": "running", "kind": "fit"}
    plain |= {"user": "", "experiment": None, "created": NOW, "started": None, "finished": None}
    plain |= {
        "parent": None,
        "external_id": None,
        "attempts": 0,
        "metrics": {},
        "params": {},
        "tags": {},
    }
    return plain | {"id": f"run_{RUN_IDS[number]}"} | given


def summary(last: float, **given: Any) -> dict[str, Any]:
    return {"last": last, "count": 1, "nonfinite": 0, "sum": last} | given


@pytest.fixture
def held(doors: Doors) -> Iterator[Doors]:
    """A transaction of the owner that leaves nothing behind."""
    with doors.owner.transaction(force_rollback=True):
        yield doors


def rows_of(doors: Doors, statement: Statement) -> list[tuple[Any, ...]]:
    return doors.owner.execute(statement.text, statement.parameters).fetchall()


def search(doors: Doors, filter_text: str = "", sort_text: str = "", **given: Any) -> Search:
    return Search(
        doors.project_id,
        NOW,
        parse_filter(filter_text, series_from_name=series_from_name),
        parse_sort(sort_text, series_from_name=series_from_name),
        **given,
    )


def ids(doors: Doors, sought: Search) -> list[UUID]:
    return [one[-1] for each in page_statements(sought, 50) for one in rows_of(doors, each)]


def columns_of(doors: Doors, text: str, *numbers: int) -> list[tuple[Any, ...]]:
    columns = parse_columns(text, series_from_name=series_from_name)
    return rows_of(
        doors,
        column_statement(doors.project_id, columns, [RUN_IDS[one] for one in numbers], now=NOW),
    )


def test_runs_in_the_trash_are_found_only_there(held: Doors) -> None:
    insert(held, held.owner, [row(0), row(1)])
    held.owner.execute("update runs set trashed = now() where id = %s", [RUN_IDS[0]])
    acting(held, held.owner)
    assert ids(held, search(held)) == [RUN_IDS[1]]
    assert ids(held, search(held, in_trash=True)) == [RUN_IDS[0]]


def test_no_run_of_another_tenant_or_project_is_found_or_counted(held: Doors) -> None:
    insert(held, held.owner, [row(0, tags={"a": "1"}, metrics={("loss", ()): summary(1.0)})])
    found = held.owner.execute("insert into tenants (name) values ('two') returning id").fetchone()
    assert found is not None
    sought = search(held, "tags.a = 1 AND metrics.loss = 1", "metrics.loss")
    acting(held, held.owner)
    assert ids(held, sought) == [RUN_IDS[0]]
    other_project = Search(held.project_id + 1, NOW, sought.filter, sought.sort)
    assert ids(held, other_project) == []
    held.owner.execute("select set_config('mapi.tenant', %s, true)", [str(found[0])])
    assert ids(held, sought) == []
    assert rows_of(held, count_statement(sought)) == [(0,)]
    columns = parse_columns("metrics.loss,tags.a", series_from_name=series_from_name)
    assert rows_of(held, column_statement(held.project_id, columns, [RUN_IDS[0]], now=NOW)) == []


def test_nan_and_missing_stand_last_in_both_directions(held: Doors) -> None:
    values = [1.0, math.nan, None, math.inf, -1.0]
    made = [
        row(number, metrics={} if value is None else {("loss", ()): summary(value)})
        for number, value in enumerate(values)
    ]
    insert(held, held.owner, made)
    acting(held, held.owner)
    rest = [RUN_IDS[2], RUN_IDS[1]]
    ascending = [RUN_IDS[4], RUN_IDS[0], RUN_IDS[3]]
    assert ids(held, search(held, sort_text="metrics.loss")) == ascending + rest
    assert ids(held, search(held, sort_text="-metrics.loss")) == ascending[::-1] + rest


def test_params_sort_numbers_by_size_then_texts_then_what_is_missing(held: Doors) -> None:
    texts = ["10", "9", "auto", None, "Auto"]
    made = [
        row(
            number,
            params={}
            if text is None
            else {"lr": {"text": text, "number": float(text) if text.isdigit() else None}},
        )
        for number, text in enumerate(texts)
    ]
    insert(held, held.owner, made)
    acting(held, held.owner)
    order = [RUN_IDS[one] for one in (1, 0, 4, 2, 3)]
    assert ids(held, search(held, sort_text="params.lr")) == order


def test_columns_come_in_their_order_for_the_runs_of_the_page_in_its_order(held: Doors) -> None:
    full = row(
        0,
        name="one",
        experiment={"id": f"exp_{EXPERIMENT}", "name": "base"},
        metrics={("loss", VAL): summary(math.nan, min=0.5, count=4, nonfinite=2, sum=3.0)},
        params={"lr": {"text": "0.10", "number": 0.1}},
        tags={"a": ""},
        attempts=2,
    )
    insert(held, held.owner, [full, row(1, parent=f"run_{RUN_IDS[0]}")])
    acting(held, held.owner)
    text = "metrics.loss{split=val}.min,params.lr,tags.a,metrics.loss{split=val}.mean,name"
    text += ",experiment,attempts,parent,id,metrics.loss{split=val}"
    bare, found = columns_of(held, text, 1, 0)
    assert bare[0] == RUN_IDS[1]
    parent, own = f"run_{RUN_IDS[0]}", f"run_{RUN_IDS[1]}"
    assert bare[1:] == (None, None, None, None, None, None, 1, parent, own, None)
    assert found[1:10] == (0.5, "0.10", "", 1.5, "one", "base", 2, None, parent)
    assert math.isnan(found[10])


def insert_points(doors: Doors, key: str, attempt: int, points: dict[int, float]) -> None:
    found = doors.owner.execute(
        "insert into run_series (tenant_id, run_id, attempt, key, labels, labels_hash, source)"
        " values (%s, %s, %s, %s, %s, %s, 'api') returning id",
        [doors.tenant_id, RUN_IDS[0], attempt, key, json.dumps(dict(VAL)), labels_hash(VAL)],
    ).fetchone()
    assert found is not None
    for step, value in points.items():
        doors.owner.execute(
            "insert into run_metric_points (tenant_id, series_id, step, time, value)"
            " values (%s, %s, %s, now(), %s)",
            [doors.tenant_id, found[0], step, value],
        )


def test_a_column_shows_the_value_where_another_series_is_best(held: Doors) -> None:
    best = summary(0.3, min=0.1, min_step=2, max=0.9, max_step=7)
    insert(held, held.owner, [row(0, metrics={("loss", VAL): best}), row(1)])
    insert_points(held, "acc", 1, {1: 0.6, 2: 0.7, 7: 0.8})
    insert_points(held, "acc", 2, {7: 0.9})
    acting(held, held.owner)
    text = "metrics.acc{split=val} AT MIN metrics.loss{split=val}"
    text += ",metrics.acc{split=val} AT MAX metrics.loss{split=val}"
    assert columns_of(held, text, 0, 1) == [(RUN_IDS[0], 0.7, 0.9), (RUN_IDS[1], None, None)]


def test_a_point_that_a_later_attempt_took_back_is_not_shown(held: Doors) -> None:
    best = summary(0.3, min=0.1, min_step=2, max=0.9, max_step=1)
    insert(held, held.owner, [row(0, attempts=2, metrics={("loss", VAL): best})])
    insert_points(held, "acc", 1, {1: 0.6, 2: 0.7})
    held.owner.execute("update run_attempts set from_step = 2 where attempt = 2")
    acting(held, held.owner)
    text = "metrics.acc{split=val} AT MIN metrics.loss{split=val}"
    text += ",metrics.acc{split=val} AT MAX metrics.loss{split=val}"
    assert columns_of(held, text, 0) == [(RUN_IDS[0], None, 0.6)]


def test_what_users_say_is_in_the_parameters_and_never_in_the_text() -> None:
    evil = "'; drop table runs; --"
    tree = parse_filter(
        f'params."{evil}" = "{evil}" AND tags."{evil}" ~ "{evil}*" AND experiment = "{evil}"'
        f' AND metrics.loss{{split="{evil}"}} < 1 AND name IN ("{evil}", "%(p1)s")',
        series_from_name=series_from_name,
    )
    sort = parse_sort(f'params."{evil}",-tags."{evil}"', series_from_name=series_from_name)
    position = (None, evil, evil, NOW.isoformat(), str(RUN_IDS[0]))
    for after in (None, position):
        for statement in page_statements(Search(1, NOW, tree, sort), 50, after):
            assert "drop" not in statement.text
            assert statement.text.count("%(") == statement.text.count(")s")
            assert any(evil in str(value) for value in statement.parameters.values())


def fill(doors: Doors, *, runs: int) -> None:
    """Put many runs into the project, with three series and a param each, and look at them as autovacuum does."""
    doors.owner.execute(
        "insert into runs (tenant_id, id, project_id, kind, status, name, created)"
        " select %s, md5(at::text)::uuid, %s, 'external', 'succeeded', 'run ' || at,"
        " now() - at * interval '1 minute' from generate_series(1, %s) as at",
        [doors.tenant_id, doors.project_id, runs],
    )
    for key in ("loss", "acc", "f1"):
        doors.owner.execute(
            "insert into run_metric_summary (tenant_id, run_id, key, labels_hash, labels,"
            " project_id, attempt, series_id, is_scalar, count, nonfinite_count, first_time,"
            " last_time, last_step, last_value, min_value, min_step, max_value, max_step,"
            " finite_sum, source) select %s, id, %s, %s, '{}', project_id, 1, 1, false, 1, 0,"
            " now(), now(), 0, x, x, 0, x, 0, x, 'api'"
            " from (select *, random() as x from runs where tenant_id = %s) as run",
            [doors.tenant_id, key, labels_hash(()), doors.tenant_id],
        )
    doors.owner.execute(
        "insert into run_params (tenant_id, run_id, key, project_id, text, number, source)"
        " select tenant_id, id, 'lr', project_id, x::text, x, 'api'"
        " from (select *, round(random()::numeric, 3)::float8 as x from runs where tenant_id = %s)"
        " as run",
        [doors.tenant_id],
    )
    doors.owner.execute("analyze runs, run_metric_summary, run_params")


def test_in_a_large_project_a_search_without_power_takes_the_indexes_by_itself(
    held: Doors,
) -> None:
    fill(held, runs=20_000)
    acting(held, held.owner)
    for filter_text, sort_text in (
        ("metrics.loss < 0.001", "-created"),
        ("metrics.loss.min < 0.3 AND params.lr = 0.1", "-metrics.acc"),
        ("params.lr = 0.1", "metrics.loss.max"),
        ("", "-metrics.acc"),
    ):
        leading, *_ = page_statements(search(held, filter_text, sort_text), 50)
        found = held.owner.execute(
            f"explain (analyze, format json) {leading.text}", leading.parameters
        ).fetchone()
        assert found is not None
        plan = list(nodes_of(found[0][0]["Plan"]))
        assert [one["Relation Name"] for one in plan if one["Node Type"] == "Seq Scan"] == []
        # What a policy does not let below it is looked at in every row that an index yields.
        conditions = " ".join(one.get("Index Cond", "") for one in plan)
        assert ("labels_hash" in conditions) == ("metrics" in filter_text + sort_text)
        assert sum(one.get("Rows Removed by Filter", 0) for one in plan) < 20_000, filter_text


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for one in plan.get("Plans", ()):
        yield from nodes_of(one)
