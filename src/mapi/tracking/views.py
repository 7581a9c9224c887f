"""Saved views: a search of the runs table under a name, shared by all of the project.

What is saved is checked by the language's own parser, so that no view can be opened that is wrong;
it is kept as it was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from psycopg.errors import UniqueViolation
from psycopg.rows import dict_row

from mapi.access.audit import record
from mapi.access.identifiers import EXPERIMENT, VIEW, check_no_id, new_uuid, text_from_uuid
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NameTakenError, NotFoundError, QuotaError
from mapi.search import parse_columns, parse_filter, parse_sort
from mapi.series.name_map import series_from_name
from mapi.series.names import check_title
from mapi.tracking.experiments import find_experiment
from mapi.wire.experiments import VIEWS_MAX, ViewFacts

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection
    from mapi.tracking.versions import Expected
    from mapi.wire.experiments import ViewCreate, ViewPatch

__all__ = [
    "check_search",
    "check_view_name",
    "create_view",
    "delete_view",
    "get_view",
    "list_views",
    "patch_view",
    "view_project",
]


async def create_view(
    connection: Connection, project_id: int, sent: ViewCreate, *, is_got: bool = False
) -> tuple[UUID, bool]:
    """Save a search under a name.

    Args:
        connection: a transaction whose reach has the project.
        project_id: the project.
        sent: the search and its name.
        is_got: whether one of the same name is an answer as well, unchanged.

    Returns:
        Its number, and whether it is new.

    Raises:
        InvalidError: the name or a part of the search is wrong, or there is no such experiment.
        NameTakenError: the project has a view of this name.
        QuotaError: it has as many as it may.
    """
    _check_name(sent.name)
    check_search(sent.filter, sent.sort, sent.columns)
    experiment_id = None
    if sent.experiment is not None:
        experiment_id = await _experiment(connection, project_id, sent.experiment)
    await connection.execute(query("views.lock_project"), {"project": project_id})
    cursor = await connection.execute(query("views.count"), {"project": project_id})
    (count,) = await cursor.fetchone() or (0,)
    if is_got:
        # Behind the lock: nobody makes one now.
        cursor = await connection.execute(
            query("views.find_name"), {"project": project_id, "name": sent.name}
        )
        known = await cursor.fetchone()
        if known is not None:
            return known[0], False
    view_id = new_uuid()
    if count < VIEWS_MAX:
        cursor = await connection.execute(
            query("views.insert"),
            {
                "id": view_id,
                "project": project_id,
                "experiment": experiment_id,
                "name": sent.name,
                "filter": sent.filter,
                "sort": sent.sort,
                "columns": sent.columns,
            },
        )
        if await cursor.fetchone() is None:
            raise _taken(sent.name, way_out="change that one, or send ?if_exists=get to have it")
        return view_id, True
    raise QuotaError(
        f"The project has {count} saved views, which is as many as a project may have: delete one "
        "that nobody uses.",
        {},
    )


async def get_view(connection: Connection, view_id: UUID) -> ViewFacts:
    """Return a saved view.

    Raises:
        NotFoundError: there is none for the transaction's reach.
    """
    found = await _facts(connection, view_id=view_id)
    if not found:
        raise NotFoundError("There is no such saved view.")
    return found[0]


async def list_views(
    connection: Connection, project_id: int, *, experiment: str | None
) -> list[ViewFacts]:
    """Return the views of a project, or of one of its experiments, by name.

    Raises:
        InvalidError: there is no such experiment.
    """
    experiment_id = None
    if experiment is not None:
        experiment_id = await find_experiment(
            connection, project_id, experiment, pointer="/query/experiment", takes_runs=False
        )
    return await _facts(connection, project_id=project_id, experiment_id=experiment_id)


async def view_project(connection: Connection, view_id: UUID) -> int:
    """Return the project of a view.

    Raises:
        NotFoundError: there is no such view for the transaction's reach.
    """
    cursor = await connection.execute(query("views.project_of"), {"id": view_id})
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such saved view.")
    return int(row[0])


async def patch_view(
    connection: Connection, view_id: UUID, sent: ViewPatch, *, expected: Expected
) -> None:
    """Change a view; what the patch leaves out stays, null empties.

    Raises:
        NotFoundError: there is no such view.
        PreconditionError: its version is not expected.
        InvalidError: the name or a part of the search is wrong, or there is no such experiment.
        NameTakenError: the project has another view of this name.
    """
    if sent.name is not UNSET:
        _check_name(sent.name)
    row = await _lock(connection, view_id, expected=expected)
    wanted = {
        name: row[name] if value is UNSET else value or ""
        for name, value in (
            ("name", sent.name),
            ("filter", sent.filter),
            ("sort", sent.sort),
            ("columns", sent.columns),
        )
    }
    check_search(wanted["filter"], wanted["sort"], wanted["columns"])
    experiment_id: UUID | None = row["experiment_id"]
    if sent.experiment is None:
        experiment_id = None
    elif sent.experiment is not UNSET:
        experiment_id = await _experiment(connection, row["project_id"], sent.experiment)
    if {**row, **wanted} == row and experiment_id == row["experiment_id"]:
        return
    try:
        await connection.execute(
            query("views.change"), {"id": view_id, "experiment": experiment_id, **wanted}
        )
    except UniqueViolation:
        raise _taken(wanted["name"], way_out="rename that one first") from None


async def delete_view(
    connection: Connection, principal: Principal, view_id: UUID, *, expected: Expected
) -> None:
    """Delete a view.

    Raises:
        NotFoundError: there is no such view.
        PreconditionError: its version is not expected.
    """
    row = await _lock(connection, view_id, expected=expected)
    await connection.execute(query("views.delete"), {"id": view_id})
    await record(
        connection,
        principal.name,
        "view.delete",
        text_from_uuid(VIEW, view_id),
        name=row["name"],
    )


def check_search(filter_: str, sort: str, columns: str) -> None:
    """Refuse a search that could not be opened.

    Raises:
        InvalidError: a part of it is wrong; it says where.
    """
    parse_filter(filter_, series_from_name=series_from_name, pointer="/filter")
    parse_sort(sort, series_from_name=series_from_name, pointer="/sort")
    parse_columns(columns, series_from_name=series_from_name, pointer="/columns")


async def _experiment(connection: Connection, project_id: int, text: str) -> UUID:
    return await find_experiment(
        connection, project_id, text, pointer="/experiment", takes_runs=False
    )


def check_view_name(name: str) -> str | None:
    """Return what is wrong with the name of a saved view, or ``None``."""
    wrong = check_title("the name of a view", name)
    return wrong or check_no_id(VIEW, name, what="a saved view")


def _check_name(name: str) -> None:
    wrong = check_view_name(name)
    if wrong is not None:
        raise InvalidError(Fault("/name", wrong))


async def _lock(connection: Connection, view_id: UUID, *, expected: Expected) -> dict[str, Any]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("views.lock"), {"id": view_id})
        row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such saved view.")
    expected.check(row["version"], what="saved view")
    return row


async def _facts(
    connection: Connection,
    *,
    view_id: UUID | None = None,
    project_id: int | None = None,
    experiment_id: UUID | None = None,
) -> list[ViewFacts]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            query("views.facts"),
            {"id": view_id, "project": project_id, "experiment": experiment_id},
        )
        rows = await cursor.fetchall()
    return [
        ViewFacts(
            id=text_from_uuid(VIEW, row["id"]),
            project=row["project"],
            name=row["name"],
            filter=row["filter"],
            sort=row["sort"],
            columns=row["columns"],
            experiment=None
            if row["experiment_id"] is None
            else text_from_uuid(EXPERIMENT, row["experiment_id"]),
            created=row["created"],
            etag=f'"{row["version"]}"',
        )
        for row in rows
    ]


def _taken(name: str, *, way_out: str) -> NameTakenError:
    return NameTakenError(
        f"The project has a saved view {name!r} already; take another name, or {way_out}.",
        [Fault("/name", "unique in the project")],
    )
