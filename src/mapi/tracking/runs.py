"""Runs: made or found, and read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from psycopg.rows import dict_row

from mapi.access.identifiers import EXPERIMENT, RUN, new_uuid, text_from_uuid, uuid_from_text
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError, StateError
from mapi.tracking.experiments import find_experiment
from mapi.tracking.notes import write_params, write_tags
from mapi.tracking.pruned import pruned_from_json
from mapi.tracking.texts import json_text
from mapi.wire.decoding import BODY_BYTES_MAX
from mapi.wire.enums import RunKind, RunStatus, Scope
from mapi.wire.runs import RunFacts
from mapi.wire.times import check_time

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection
    from mapi.wire.runs import RunCreate

__all__ = [
    "check_start",
    "create_run",
    "get_run",
    "project_of",
    "require_open",
    "resolve_project",
]


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
            Fault(
                pointer,
                f"there is no project {wanted!r} that you can see; make it with `mapi projects create`, or see `mapi projects ls`",
            )
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
    """Make a run, or find the one that has its external id.

    One that is logged from outside runs at once; one with a spec waits for a runner. Of one that was
    found nothing changes but its params, which follow their own rule.

    Returns:
        The run's number, and whether it is new.

    Raises:
        InvalidError: the project has no such experiment or parent, the project does not exist, or
            a param or a tag breaks its rule.
        ForbiddenError: the principal may not write there.
        StateError: the experiment is archived, the run that was found is in the trash, or the project
            is being deleted.
        ParamConflictError: a param of the found run has another value.
    """
    project_id = await resolve_project(connection, principal, sent.project, pointer="/project")
    principal.require(Scope.WRITE, project_id)
    # What is sent with a run that exists is not looked at: its experiment may have been archived or
    # deleted since.
    found = await _find_external(connection, project_id, sent.external_id)
    if found is None:
        made = await _insert(connection, principal, sent, project_id=project_id)
        # Not inserted: another one was faster, and has committed.
        found = made or await _find_external(connection, project_id, sent.external_id)
        assert found is not None
        is_new = made is not None
    else:
        is_new = False
    if sent.params:
        await write_params(connection, found, sent.params)
    if is_new and sent.tags:
        await write_tags(connection, found, sent.tags)
    return found, is_new


async def _insert(
    connection: Connection, principal: Principal, sent: RunCreate, *, project_id: int
) -> UUID | None:
    """Return the number of a new run; none where its external id was taken meanwhile.

    Raises:
        StateError: the project is being deleted.
    """
    experiment_id = parent_id = None
    if sent.experiment is not None:
        experiment_id = await find_experiment(
            connection, project_id, sent.experiment, pointer="/experiment"
        )
    if sent.parent is not None:
        parent_id = await _find_parent(connection, project_id, sent.parent)
    is_external = sent.spec is None
    check_start(sent.started)
    cursor = await connection.execute(
        query("runs.insert"),
        {
            "id": new_uuid(),
            "project": project_id,
            "kind": (sent.kind or RunKind.EXTERNAL).value,
            "status": (RunStatus.RUNNING if is_external else RunStatus.QUEUED).value,
            "name": sent.name,
            "note": sent.note,
            "parent": parent_id,
            "experiment": experiment_id,
            "user": principal.name,
            "external_id": sent.external_id,
            "started": sent.started,
            "is_alive": is_external,
            "spec": (
                None
                if sent.spec is None
                else json_text(sent.spec, "/spec", bytes_max=BODY_BYTES_MAX)
            ),
        },
    )
    row = await cursor.fetchone()
    if row is None:
        await require_open(connection, project_id)
        return None
    made: UUID = row[0]
    return made


async def require_open(connection: Connection, project_id: int) -> None:
    """Refuse a new run in a project that is being deleted.

    Raises:
        StateError: it is.
    """
    cursor = await connection.execute(query("runs.is_closed"), {"project": project_id})
    if await cursor.fetchone() != (False,):
        raise StateError(
            "The project is being deleted and takes no new runs; name another one.",
            [Fault("/project", "it is being deleted")],
        )


async def _find_external(
    connection: Connection, project_id: int, external_id: str | None
) -> UUID | None:
    """Return the run that has an external id.

    Raises:
        StateError: it is in the trash.
    """
    if external_id is None:
        return None
    cursor = await connection.execute(
        query("runs.find_external"), {"project": project_id, "external_id": external_id}
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    run_id, is_trashed = row
    if is_trashed:
        name = text_from_uuid(RUN, run_id)
        raise StateError(
            f"The run {name}, which has this external id, is in the trash: "
            f"POST /v1/runs/{name}/restore brings it back, or send another external id.",
            [Fault("/external_id", f"it is that of {name}, which is in the trash")],
        )
    found: UUID = run_id
    return found


async def _find_parent(connection: Connection, project_id: int, text: str) -> UUID:
    """Return the run that a new one goes below; until the transaction ends, it stays.

    What is not there, of another project or tenant, or in the trash, is told in the same words.
    """
    fault = Fault(
        "/parent",
        f"the project has no run {text[:80]!r}: give the id of one that is not in the trash",
    )
    try:
        about = {"project": project_id, "id": uuid_from_text(RUN, text)}
    except NotFoundError:
        raise InvalidError(fault) from None
    cursor = await connection.execute(query("runs.find_parent"), about)
    row = await cursor.fetchone()
    if row is None:
        raise InvalidError(fault)
    found: UUID = row[0]
    return found


def check_start(started: datetime | None) -> None:
    """Refuse a start that no clock can have told.

    Raises:
        InvalidError: it is in 1970 or before, or more than a day ahead.
    """
    if started is None:
        return
    wrong = check_time(started, now_us=time.time_ns() // 1_000)
    if wrong is not None:
        raise InvalidError(Fault("/started", wrong))


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
        retry_of=_text_or_none(RUN, row["retry_of_id"]),
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
        pruned=pruned_from_json(row["pruned"]),
        etag=f'"{row["version"]}"',
    )


def _text_or_none(prefix: str, found: UUID | None) -> str | None:
    return None if found is None else text_from_uuid(prefix, found)
