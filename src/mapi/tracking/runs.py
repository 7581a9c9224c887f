"""Runs: made or found, and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.rows import dict_row

from mapi.access.identifiers import EXPERIMENT, RUN, new_uuid, text_from_uuid, uuid_from_text
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError
from mapi.tracking.experiments import find_experiment
from mapi.tracking.notes import write_params, write_tags
from mapi.wire.enums import RunKind, RunStatus, Scope
from mapi.wire.runs import RunFacts

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection
    from mapi.wire.runs import RunCreate

__all__ = ["create_run", "get_run", "project_of", "resolve_project"]


async def resolve_project(
    connection: Connection, principal: Principal, name: str | None, *, pointer: str
) -> int:
    """Return the number of a project, by default the one of the token, or ``default``.

    Raises:
        InvalidError: the principal sees no project of this name.
    """
    if name is None and principal.project_id is not None:
        return principal.project_id
    wanted = "default" if name is None else name
    cursor = await connection.execute(query("runs.find_project"), {"name": wanted})
    row = await cursor.fetchone()
    if row is None:
        raise InvalidError(
            Fault(pointer, f"there is no project {wanted!r} that you can see; make it first")
        )
    return int(row[0])


async def project_of(connection: Connection, run_id: UUID) -> int:
    """Return the project of a run.

    Raises:
        NotFoundError: there is no such run for the transaction's reach.
    """
    cursor = await connection.execute(query("runs.project_of"), {"id": run_id})
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such run.")
    return int(row[0])


async def create_run(
    connection: Connection, principal: Principal, sent: RunCreate
) -> tuple[UUID, bool]:
    """Make a run that is logged from outside, or find the one that has its external id.

    Of one that was found nothing changes but its params, which follow their own rule.

    Returns:
        The run's number, and whether it is new.

    Raises:
        InvalidError: the project does not exist, or a param or a tag breaks its rule.
        ForbiddenError: the principal may not write there.
        StateError: the experiment is archived.
        ParamConflictError: a param of the found run has another value.
    """
    project_id = await resolve_project(connection, principal, sent.project, pointer="/project")
    principal.require(Scope.WRITE, project_id)
    experiment_id = None
    if sent.experiment is not None:
        experiment_id = await _experiment_of_new(connection, project_id, sent)
    run_id = new_uuid()
    cursor = await connection.execute(
        query("runs.insert"),
        {
            "id": run_id,
            "project": project_id,
            "kind": RunKind.EXTERNAL.value,
            "status": RunStatus.RUNNING.value,
            "name": sent.name,
            "note": sent.note,
            "parent": None if sent.parent is None else uuid_from_text(RUN, sent.parent),
            "experiment": experiment_id,
            "user": principal.name,
            "external_id": sent.external_id,
            "started": sent.started,
        },
    )
    is_new = await cursor.fetchone() is not None
    if not is_new:
        cursor = await connection.execute(
            query("runs.find_external"), {"project": project_id, "external_id": sent.external_id}
        )
        row = await cursor.fetchone()
        assert row is not None  # in our snapshot: the insert waited for the other's commit
        run_id = row[0]
    if sent.params:
        await write_params(connection, run_id, sent.params)
    if is_new and sent.tags:
        await write_tags(connection, run_id, sent.tags)
    return run_id, is_new


async def _experiment_of_new(
    connection: Connection, project_id: int, sent: RunCreate
) -> UUID | None:
    """Return the experiment that a run is made in; none where the run is there already."""
    assert sent.experiment is not None
    if sent.external_id is not None:
        # What is sent with a run that exists is not looked at: its experiment may have been
        # archived or deleted since.
        cursor = await connection.execute(
            query("runs.find_external"), {"project": project_id, "external_id": sent.external_id}
        )
        if await cursor.fetchone() is not None:
            return None
    return await find_experiment(connection, project_id, sent.experiment, pointer="/experiment")


async def get_run(connection: Connection, run_id: UUID) -> RunFacts:
    """Return what is known of a run.

    Raises:
        NotFoundError: there is no such run for the transaction's reach.
    """
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("runs.get"), {"id": run_id})
        row: dict[str, Any] | None = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such run.")
    return RunFacts(
        id=text_from_uuid(RUN, row["id"]),
        project=row["project"],
        kind=RunKind(row["kind"]),
        status=RunStatus(row["status"]),
        name=row["name"],
        note=row["note"],
        reason=row["reason"],
        experiment=_text_or_none(EXPERIMENT, row["experiment_id"]),
        parent=_text_or_none(RUN, row["parent_id"]),
        user=row["user_name"],
        external_id=row["external_id"],
        created=row["created"],
        started=row["started"],
        finished=row["finished"],
        duration_seconds=row["duration_seconds"],
        attempts=row["attempts"],
        trashed=row["trashed"],
        spec=row["spec"],
        dropped=row["dropped"].get("counts", {}),
        etag=f'"{row["version"]}"',
    )


def _text_or_none(prefix: str, found: UUID | None) -> str | None:
    return None if found is None else text_from_uuid(prefix, found)
