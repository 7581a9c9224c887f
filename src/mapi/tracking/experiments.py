"""Experiments: named groups of a project's runs, which any run can join and leave.

An archived experiment takes no new runs; those that it has can be read and compared as before. A
deleted one leaves its runs where they are, in no experiment, and takes its saved views with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from psycopg.errors import UniqueViolation
from psycopg.rows import dict_row

from mapi.access.audit import record
from mapi.access.identifiers import (
    EXPERIMENT,
    check_no_id,
    new_uuid,
    text_from_uuid,
    uuid_or_none,
)
from mapi.access.notices import tell_of_project
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NameTakenError, NotFoundError, StateError
from mapi.series.names import check_title
from mapi.wire.experiments import ExperimentFacts

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection
    from mapi.tracking.versions import Expected
    from mapi.wire.experiments import ExperimentCreate, ExperimentPatch

__all__ = [
    "ExperimentPosition",
    "archive_experiment",
    "check_experiment_name",
    "create_experiment",
    "delete_experiment",
    "experiment_project",
    "find_experiment",
    "get_experiment",
    "list_experiments",
    "patch_experiment",
]


@dataclass(frozen=True, slots=True)
class ExperimentPosition:
    """Where a page of experiments ended."""

    created: datetime
    id: UUID


async def find_experiment(
    connection: Connection,
    project_id: int,
    text: str,
    *,
    pointer: str,
    joined: UUID | None = None,
    takes_runs: bool = True,
) -> UUID:
    """Return the experiment that an id or a name means; until the transaction ends, it stays.

    Args:
        connection: a transaction whose reach has the project.
        project_id: the project.
        text: an id, or an exact name.
        pointer: where the text was sent.
        joined: the experiment that the run is in already; that one may be archived.
        takes_runs: whether a run is to join it.

    Raises:
        InvalidError: the project has none that is called so.
        StateError: it is archived, and a run is to join it.
    """
    cursor = await connection.execute(
        query("experiments.find"),
        {"project": project_id, "id": uuid_or_none(EXPERIMENT, text), "name": text},
    )
    row = await cursor.fetchone()
    if row is None:
        raise InvalidError(
            Fault(pointer, f"the project has no experiment {text[:80]!r}: give its id or name")
        )
    experiment_id: UUID = row[0]
    if takes_runs and row[1] and experiment_id != joined:
        raise StateError(f"The experiment {row[2]!r} is archived and takes no more runs.")
    return experiment_id


async def create_experiment(
    connection: Connection, project_id: int, sent: ExperimentCreate, *, is_got: bool
) -> tuple[UUID, bool]:
    """Make an experiment.

    Args:
        connection: a transaction whose reach has the project.
        project_id: the project.
        sent: its name and description.
        is_got: whether one of the same name is an answer as well, unchanged.

    Returns:
        Its number, and whether it is new.

    Raises:
        InvalidError: the name breaks its rule.
        NameTakenError: the project has one of this name.
    """
    _check_name(sent.name)
    experiment_id = new_uuid()
    cursor = await connection.execute(
        query("experiments.insert"),
        {
            "id": experiment_id,
            "project": project_id,
            "name": sent.name,
            "description": sent.description,
        },
    )
    if await cursor.fetchone() is not None:
        return experiment_id, True
    if not is_got:
        raise _taken(sent.name, way_out="send ?if_exists=get to have that one")
    cursor = await connection.execute(
        query("experiments.find_name"), {"project": project_id, "name": sent.name}
    )
    row = await cursor.fetchone()
    if row is None:
        raise StateError(f"The experiment {sent.name!r} was deleted meanwhile; send it again.")
    return row[0], False


async def get_experiment(connection: Connection, experiment_id: UUID) -> ExperimentFacts:
    """Return what is known of an experiment.

    Raises:
        NotFoundError: there is none for the transaction's reach.
    """
    found = await _facts(connection, [experiment_id])
    if not found:
        raise NotFoundError("There is no such experiment.")
    return found[0]


async def list_experiments(
    connection: Connection,
    project_id: int,
    *,
    is_archived: bool | None,
    after: ExperimentPosition | None,
    limit: int,
) -> tuple[list[ExperimentFacts], ExperimentPosition | None]:
    """Return a page of a project's experiments, the newest first.

    Args:
        connection: a transaction whose reach has the project.
        project_id: the project.
        is_archived: only those that are, or are not; ``None`` is all.
        after: where the page before ended.
        limit: of the page.

    Returns:
        The experiments, and the position at their end if there are more.
    """
    cursor = await connection.execute(
        query("experiments.page"),
        {
            "project": project_id,
            "is_archived": is_archived,
            "after_id": None if after is None else after.id,
            "after_created": None if after is None else after.created,
            "limit": limit + 1,
        },
    )
    rows = await cursor.fetchall()
    found = await _facts(connection, [row[0] for row in rows[:limit]])
    if len(rows) <= limit:
        return found, None
    last_id, created = rows[limit - 1]
    return found, ExperimentPosition(created, last_id)


async def experiment_project(connection: Connection, experiment_id: UUID) -> int:
    """Return the project of an experiment.

    Raises:
        NotFoundError: there is no such experiment for the transaction's reach.
    """
    cursor = await connection.execute(query("experiments.project_of"), {"id": experiment_id})
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such experiment.")
    return int(row[0])


async def patch_experiment(
    connection: Connection, experiment_id: UUID, sent: ExperimentPatch, *, expected: Expected
) -> None:
    """Change name and description; what the patch leaves out stays.

    Raises:
        NotFoundError: there is no such experiment.
        PreconditionError: its version is not expected.
        InvalidError: the name breaks its rule.
        NameTakenError: the project has another one of this name.
    """
    if sent.name is not UNSET:
        _check_name(sent.name)
    row = await _lock(connection, experiment_id, expected=expected)
    wanted = {
        "name": row["name"] if sent.name is UNSET else sent.name,
        "description": row["description"] if sent.description is UNSET else sent.description or "",
    }
    if all(row[name] == value for name, value in wanted.items()):
        return
    try:
        await connection.execute(query("experiments.change"), {"id": experiment_id, **wanted})
    except UniqueViolation:
        raise _taken(wanted["name"], way_out="rename that one first") from None
    await tell_of_project(connection, row["project_id"])


async def archive_experiment(
    connection: Connection, experiment_id: UUID, *, is_archived: bool, expected: Expected
) -> None:
    """Archive an experiment, or take it back from there; again changes nothing.

    Raises:
        NotFoundError: there is no such experiment.
        PreconditionError: its version is not expected.
    """
    row = await _lock(connection, experiment_id, expected=expected)
    if (row["archived"] is not None) != is_archived:
        await connection.execute(
            query("experiments.archive"), {"id": experiment_id, "is_archived": is_archived}
        )
        await tell_of_project(connection, row["project_id"])


async def delete_experiment(
    connection: Connection, principal: Principal, experiment_id: UUID, *, expected: Expected
) -> None:
    """Delete an experiment and its saved views; its runs stay, in no experiment.

    Raises:
        NotFoundError: there is no such experiment.
        PreconditionError: its version is not expected.
    """
    row = await _lock(connection, experiment_id, expected=expected)
    released = await connection.execute(query("experiments.release_runs"), {"id": experiment_id})
    await connection.execute(query("experiments.delete"), {"id": experiment_id})
    await record(
        connection,
        principal.name,
        "experiment.delete",
        text_from_uuid(EXPERIMENT, experiment_id),
        name=row["name"],
        runs=released.rowcount,
    )
    await tell_of_project(connection, row["project_id"])


async def _lock(
    connection: Connection, experiment_id: UUID, *, expected: Expected
) -> dict[str, Any]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("experiments.lock"), {"id": experiment_id})
        row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such experiment.")
    expected.check(row["version"], what="experiment")
    return row


async def _facts(connection: Connection, ids: list[UUID]) -> list[ExperimentFacts]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("experiments.facts"), {"ids": ids})
        rows = await cursor.fetchall()
    return [
        ExperimentFacts(
            id=text_from_uuid(EXPERIMENT, row["id"]),
            project=row["project"],
            name=row["name"],
            description=row["description"],
            archived=row["archived"],
            runs=row["runs"],
            runs_active=row["runs_active"],
            last_activity=row["last_activity"],
            created=row["created"],
            etag=f'"{row["version"]}"',
        )
        for row in rows
    ]


def check_experiment_name(name: str) -> str | None:
    """Return what is wrong with the name of an experiment, or ``None``."""
    wrong = check_title("the name of an experiment", name)
    return wrong or check_no_id(EXPERIMENT, name, what="an experiment")


def _check_name(name: str) -> None:
    wrong = check_experiment_name(name)
    if wrong is not None:
        raise InvalidError(Fault("/name", wrong))


def _taken(name: str, *, way_out: str) -> NameTakenError:
    return NameTakenError(
        f"The project has an experiment {name!r} already; take another name, or {way_out}.",
        [Fault("/name", "unique in the project")],
    )
