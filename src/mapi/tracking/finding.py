"""Runs found by a search: one page, its columns, and where the next page begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
from psycopg.rows import dict_row

from mapi.access.identifiers import EXPERIMENT, RUN, VIEW, text_from_uuid, uuid_from_text
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError
from mapi.search import (
    Given,
    Search,
    column_statement,
    column_text,
    count_statement,
    cursor_content,
    field_text,
    fields_of_filter,
    filter_text,
    join_filters,
    named_fields,
    occurrence_statement,
    page_statements,
    parse_columns,
    parse_filter,
    parse_limit,
    parse_sort,
    position_of,
    search_from_cursor,
)
from mapi.search.nodes import MetricAt
from mapi.series.name_map import series_from_name
from mapi.series.names import labels_hash
from mapi.wire.enums import RunKind, RunStatus
from mapi.wire.runs import RunPage, RunRow
from mapi.wire.values import value_to_wire

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from mapi.access.cursors import Cursors
    from mapi.database.door import Connection
    from mapi.search import Column, Field, Position, Statement

__all__ = ["Query", "find_runs"]

#: Where the parts of a query stand in a request; the form sent by POST has them at its root.
_IN_QUERY: Final = "/query"
#: What cursors are bound to here; which search it is they say themselves.
_LIST: Final = {"list": "runs"}


@dataclass(frozen=True, slots=True)
class Query:
    """What a client asks for, as it was sent."""

    filters: Sequence[str] = ()
    sort: str | None = None
    columns: str | None = None
    limit: int | None = None
    cursor: str | None = None
    view: str | None = None
    with_total: bool = False
    in_trash: bool = False
    at: str = field(default=_IN_QUERY)
    """The JSON pointer that its parts stand below."""

    def pointer(self, name: str, place: int | None = None) -> str:
        """Return where one part of the query stands."""
        return f"{self.at}/{name}" + ("" if place is None else f"/{place}")


async def find_runs(
    connection: Connection, project_id: int, sent: Query, *, cursors: Cursors
) -> RunPage:
    """Return one page of a search.

    Args:
        connection: a transaction whose reach has the project.
        project_id: the project that is searched.
        sent: the query.
        cursors: what signs where the page ends, and reads where the one before did.

    Raises:
        InvalidError: a part of the query breaks the language's rules.
    """
    now = datetime.now(UTC)
    limit = parse_limit(sent.limit, pointer=sent.pointer("limit"))
    search, columns, after = await _understand(
        connection, project_id, sent, cursors=cursors, now=now
    )
    rows: list[tuple[Any, ...]] = []
    for statement in page_statements(search, limit, after):
        rows += await _fetch(connection, statement)
        if len(rows) > limit:
            break
    page = rows[:limit]
    run_ids: list[UUID] = [row[-1] for row in page]
    next_cursor = None
    if len(rows) > limit:
        next_cursor = cursors.write(_LIST, cursor_content(search, position_of(page[-1])))
    total = None
    if sent.with_total:
        ((total,),) = await _fetch(connection, count_statement(search))
    names = [("sort", key.field) for key in search.sort]
    if not page and after is None:
        names += [("filter", one) for one in fields_of_filter(search.filter)]
    shown = await _rows(connection, search, columns=columns, run_ids=run_ids)
    return RunPage(
        runs=shown,
        columns=[column_text(one) for one in columns],
        filter_canonical=filter_text(search.filter),
        next_cursor=next_cursor,
        total=total,
        warnings=[
            *await _warnings(connection, search, names),
            *await _warnings_of_pruned(connection, columns, shown),
        ],
    )


async def _warnings(
    connection: Connection, search: Search, names: Sequence[tuple[str, Field]]
) -> list[str]:
    """Return what to say of names that no run of the project has."""
    fields = named_fields(field for _, field in names)
    if not fields:
        return []
    statement = occurrence_statement(search.project_id, fields, now=search.now)
    (found,) = await _fetch(connection, statement)
    unknown = {field for field, is_there in zip(fields, found, strict=True) if not is_there}
    return list(
        dict.fromkeys(
            f"{part}: no run of the project has {field_text(field)}"
            for part, field in names
            if field in unknown
        )
    )


async def _warnings_of_pruned(
    connection: Connection, columns: Sequence[Column], shown: Sequence[RunRow]
) -> list[str]:
    """Return what to say of columns that need points, of runs whose points are gone for their age."""
    lacking: list[tuple[MetricAt, set[UUID]]] = []
    for place, column in enumerate(columns):
        missing = {uuid_from_text(RUN, row.id) for row in shown if row.values[place] is None}
        if isinstance(column, MetricAt) and missing:
            lacking.append((column, missing))
    if not lacking:
        return []
    wanted = [column for column, _ in lacking]
    cursor = await connection.execute(
        query("finding.values_pruned"),
        {
            "runs": list(set().union(*(missing for _, missing in lacking))),
            "keys": [one.key for one in wanted],
            "hashes": [labels_hash(one.labels) for one in wanted],
            "of_keys": [one.of_key for one in wanted],
            "of_hashes": [labels_hash(one.of_labels) for one in wanted],
            "extremes": [one.extreme for one in wanted],
        },
    )
    gone = await cursor.fetchall()
    return [
        f"columns: {column_text(column)} is missing of runs whose points were deleted for their age"
        for number, (column, missing) in enumerate(lacking, 1)
        if any(place == number and run_id in missing for place, run_id in gone)
    ]


async def _understand(
    connection: Connection, project_id: int, sent: Query, *, cursors: Cursors, now: datetime
) -> tuple[Search, Sequence[Column], Position | None]:
    filters, sort, columns = list(sent.filters), sent.sort, sent.columns
    nodes = [
        parse_filter(
            text,
            series_from_name=series_from_name,
            pointer=sent.pointer("filter", None if len(filters) == 1 else place),
        )
        for place, text in enumerate(filters)
    ]
    if sent.view is not None:
        view = await _view(connection, project_id, sent)
        nodes.append(parse_filter(view["filter"], series_from_name=series_from_name))
        # What is given with the view wins over what the view says.
        sort = sort if sort is not None else view["sort"] or None
        columns = columns if columns is not None else view["columns"] or None
    tree = join_filters(nodes, pointer=sent.pointer("filter")) if nodes else None
    keys = None
    if sort is not None:
        keys = parse_sort(sort, series_from_name=series_from_name, pointer=sent.pointer("sort"))
    shown: Sequence[Column] = ()
    if columns:
        shown = parse_columns(
            columns, series_from_name=series_from_name, pointer=sent.pointer("columns")
        )
    if sent.cursor is not None:
        pointer = sent.pointer("cursor")
        search, after = search_from_cursor(
            cursors.read(sent.cursor, _LIST, pointer=pointer),
            Given(project_id, tree, keys, sent.in_trash),
            pointer=pointer,
        )
        return search, shown, after
    asked: dict[str, Any] = {}
    if tree is not None:
        asked["filter"] = tree
    if keys is not None:
        asked["sort"] = keys
    return Search(project_id, now, in_trash=sent.in_trash, **asked), shown, None


async def _view(connection: Connection, project_id: int, sent: Query) -> dict[str, Any]:
    assert sent.view is not None
    row = None
    try:
        view_id = uuid_from_text(VIEW, sent.view)
    except NotFoundError:
        view_id = None
    if view_id is not None:
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(query("finding.view"), {"view": view_id, "project": project_id})
            row = await cursor.fetchone()
    if row is None:
        raise InvalidError(
            Fault(sent.pointer("view"), f"the project has no saved view {sent.view[:80]!r}")
        )
    return row


async def _fetch(connection: Connection, statement: Statement) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(
        statement.text,  # of our own words; what users say travels as parameters
        statement.parameters,
        # A prepared statement is planned without the values after five uses: 5 ms become 570.
        prepare=False,
    )
    return await cursor.fetchall()


async def _rows(
    connection: Connection, search: Search, *, columns: Sequence[Column], run_ids: list[UUID]
) -> list[RunRow]:
    if not run_ids:
        return []
    values: dict[UUID, list[Any]] = {}
    if columns:
        for run_id, *found in await _fetch(
            connection, column_statement(search.project_id, columns, run_ids, now=search.now)
        ):
            values[run_id] = [_on_the_wire(value) for value in found]
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("finding.rows"), {"runs": run_ids})
        facts = await cursor.fetchall()
    return [
        RunRow(
            id=text_from_uuid(RUN, row["id"]),
            kind=RunKind(row["kind"]),
            status=RunStatus(row["status"]),
            name=row["name"],
            experiment=None
            if row["experiment_id"] is None
            else text_from_uuid(EXPERIMENT, row["experiment_id"]),
            user=row["user_name"],
            created=row["created"],
            started=row["started"],
            finished=row["finished"],
            # A run that was deleted between the two statements and came back has one of each too.
            values=values.get(row["id"], [None] * len(columns)),
        )
        for row in facts
    ]


def _on_the_wire(value: Any) -> Any:
    if isinstance(value, float):
        return value_to_wire(value)
    # As times stand everywhere else in an answer.
    return msgspec.to_builtins(value)
