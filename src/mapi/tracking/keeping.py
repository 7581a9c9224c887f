"""Rules that keep runs whatever their age: the best of a search, or all that it finds.

A rule is a search of one project in the words of every other search. What any rule keeps, neither
points nor media go of for their age; the trash is emptied all the same. A rule is looked at each
time that something is to go, so a run that is no longer among the best is old like any other.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError
from mapi.search import (
    Search,
    filter_text,
    page_statements,
    parse_filter,
    parse_sort,
    position_of,
    sort_text,
)
from mapi.series.name_map import series_from_name

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection, Database, Reach
    from mapi.search import Position

__all__ = [
    "BEST_MAX",
    "Rule",
    "add_rule",
    "kept_by_rule",
    "kept_runs",
    "list_rules",
    "remove_rule",
]

_logger: Final = logging.getLogger("mapi.tracking")
#: Runs that one rule keeps for their place in an order.
BEST_MAX: Final = 10_000
#: Runs of one look at what a filter finds.
_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Rule:
    """Which runs of a project are kept."""

    number: int
    project: str
    filter: str
    """Those that it matches; all where it is empty."""
    sort: str
    """The order in which the first are the best."""
    best: int | None
    """How many of them; ``None`` is all."""


async def add_rule(
    connection: Connection, project_id: int, *, filters: str, sort: str, best: int | None
) -> int:
    """Make a rule and return its number.

    Args:
        connection: a transaction of the tenant.
        project_id: the project.
        filters: which runs.
        sort: in which order; needed with ``best``.
        best: how many of them, 1 to `BEST_MAX`; ``None`` is all.

    Raises:
        InvalidError: a text breaks the grammar, or the rule would keep everything.
    """
    tree = parse_filter(filters, series_from_name=series_from_name, pointer="/filter")
    order = (
        parse_sort(sort, series_from_name=series_from_name, pointer="/sort")
        if sort.strip()
        else ()
    )
    if best is None and not filters.strip():
        raise InvalidError(
            Fault("/filter", "it would keep every run: name which, or the best of them")
        )
    if (best is None) != (not order):
        raise InvalidError(
            Fault("/sort", "the best of an order needs both, how many and the order")
        )
    if best is not None and not 1 <= best <= BEST_MAX:
        raise InvalidError(Fault("/best", f"{best} is not from 1 to {BEST_MAX}"))
    cursor = await connection.execute(
        query("retention.insert_rule"),
        {
            "project": project_id,
            "filter": filter_text(tree) if filters.strip() else "",
            "sort": sort_text(order) if order else "",
            "best": best,
        },
    )
    (number,) = await cursor.fetchone() or (0,)
    return int(number)


async def list_rules(connection: Connection) -> list[Rule]:
    """Return the rules of a tenant by project."""
    cursor = await connection.execute(query("retention.list_rules"))
    return [Rule(*row[:5]) for row in await cursor.fetchall()]


async def remove_rule(connection: Connection, number: int) -> Rule:
    """Delete a rule and return what it was.

    Raises:
        NotFoundError: the tenant has none of this number.
    """
    found = {rule.number: rule for rule in await list_rules(connection)}
    if number not in found:
        raise NotFoundError(f"There is no rule {number}.")
    await connection.execute(query("retention.delete_rule"), {"rule": number})
    return found[number]


async def kept_runs(database: Database, reach: Reach) -> list[UUID]:
    """Return the runs that the rules of a tenant keep now.

    A rule that cannot be read keeps every run of its project.
    """
    found = await kept_by_rule(database, reach)
    return sorted({run for _, runs in found for run in runs})


async def kept_by_rule(database: Database, reach: Reach) -> list[tuple[Rule, set[UUID]]]:
    """Return the rules of a tenant by project, each with the runs that it keeps now."""
    async with database.transaction(reach) as connection:
        cursor = await connection.execute(query("retention.list_rules"))
        rows = await cursor.fetchall()
    return [
        (rule := Rule(*row), await _kept_by(database, reach, rule, project_id=project_id))
        for *row, project_id in rows
    ]


async def _kept_by(database: Database, reach: Reach, rule: Rule, *, project_id: int) -> set[UUID]:
    try:
        search = _search(project_id, rule.filter, rule.sort)
    except InvalidError as error:
        # Written under an older grammar, say. Nobody knows what it kept, so all of its project
        # stays; the rules of the others hold.
        _logger.warning(
            "rule %d cannot be read, so no run of its project goes for its age: %s",
            rule.number,
            error,
        )
        return await _matching(database, reach, _search(project_id, "", ""))
    if rule.best is None:
        return await _matching(database, reach, search)
    return await _best(database, reach, search, count=rule.best)


def _search(project_id: int, filters: str, sort: str) -> Search:
    return Search(
        project_id,
        datetime.now(UTC),
        parse_filter(filters, series_from_name=series_from_name, pointer="filter"),
        parse_sort(sort, series_from_name=series_from_name, pointer="sort"),
    )


async def _best(database: Database, reach: Reach, search: Search, *, count: int) -> set[UUID]:
    # The first statement gives the runs that have a number to be sorted by, and no others.
    statement = page_statements(search, count)[0]
    async with database.transaction(reach) as connection:
        cursor = await connection.execute(statement.text.encode(), statement.parameters)
        return {row[-1] for row in (await cursor.fetchall())[:count]}


async def _matching(database: Database, reach: Reach, search: Search) -> set[UUID]:
    found: set[UUID] = set()
    after: Position | None = None
    while True:
        (statement,) = page_statements(search, _PAGE, after)
        async with database.transaction(reach) as connection:
            cursor = await connection.execute(statement.text.encode(), statement.parameters)
            rows: list[Any] = await cursor.fetchall()
        found |= {row[-1] for row in rows[:_PAGE]}
        if len(rows) <= _PAGE:
            return found
        after = position_of(rows[_PAGE - 1])
