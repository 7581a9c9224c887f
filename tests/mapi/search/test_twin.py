from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.mapi.search.language import NOW
from tests.mapi.search.rows import POOL, acting, insert, tables

from mapi.search import (
    Given,
    Node,
    Position,
    Row,
    Search,
    SortKey,
    count_statement,
    cursor_content,
    evaluate,
    filter_text,
    in_order,
    page_statements,
    position_of,
    search_from_cursor,
)
from mapi.search.nodes import Not

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mapi.search.conftest import Doors

# The database is made once, and each example leaves it as it was.
SHARED = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
SORTS = st.lists(
    st.builds(SortKey, POOL.fields(), st.booleans()), max_size=3, unique_by=lambda key: key.field
).map(tuple)


@contextlib.contextmanager
def holding(doors: Doors, rows: list[Row]) -> Iterator[None]:
    """Hold rows in the tables, seen as the application's role, and take them away again."""
    with doors.owner.transaction(force_rollback=True):
        insert(doors, doors.owner, rows)
        acting(doors, doors.owner)
        yield


def fetch(
    doors: Doors, search: Search, limit: int, after: Position | None
) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for statement in page_statements(search, limit, after):
        rows += doors.owner.execute(statement.text, statement.parameters).fetchall()
        if len(rows) > limit:
            break
    return rows[: limit + 1]


def walk(doors: Doors, search: Search, limit: int) -> list[str]:
    """Return the ids of all pages, each page asked for with the cursor of the one before."""
    found: list[str] = []
    after: Position | None = None
    while True:
        rows = fetch(doors, search, limit, after)
        found += [f"run_{row[-1]}" for row in rows[:limit]]
        if len(rows) <= limit:
            return found
        position = position_of(rows[limit - 1])
        said = json.loads(json.dumps(cursor_content(search, position)))
        search, after = search_from_cursor(said, Given(search.project_id))


@SHARED
@given(rows=tables(least=3), trees=st.lists(POOL.trees(), min_size=1, max_size=3))
def test_the_database_finds_the_runs_for_which_the_evaluator_says_true(
    doors: Doors, rows: list[Row], trees: list[Node]
) -> None:
    with holding(doors, rows):
        # Each also negated: what is neither true nor false has to stay away from both.
        for tree in [*trees, *map(Not, trees)]:
            expected = {row["id"] for row in rows if evaluate(tree, row, NOW) is True}
            search = Search(doors.project_id, NOW, tree)
            found = {f"run_{row[-1]}" for row in fetch(doors, search, 100, None)}
            assert found == expected, filter_text(tree)
            statement = count_statement(search)
            counted = doors.owner.execute(statement.text, statement.parameters).fetchone()
            assert counted == (len(expected),)


@SHARED
@given(rows=tables(least=3), sort=SORTS, limit=st.integers(1, 4))
def test_pages_hold_each_run_once_in_the_order_of_the_evaluator(
    doors: Doors, rows: list[Row], sort: tuple[SortKey, ...], limit: int
) -> None:
    search = Search(doors.project_id, NOW, sort=sort or Search(0, NOW).sort)
    with holding(doors, rows):
        found = walk(doors, search, limit)
    assert found == [row["id"] for row in in_order(rows, search.sort, NOW)]


@SHARED
@given(rows=tables(least=3), tree=POOL.trees(), sort=SORTS)
def test_a_filter_and_an_order_together_page_as_in_memory(
    doors: Doors, rows: list[Row], tree: Node, sort: tuple[SortKey, ...]
) -> None:
    search = Search(doors.project_id, NOW, tree, sort or Search(0, NOW).sort)
    with holding(doors, rows):
        found = walk(doors, search, 2)
    expected = [row for row in rows if evaluate(tree, row, NOW) is True]
    assert found == [row["id"] for row in in_order(expected, search.sort, NOW)]
