"""``/v1/runs``: make, read, change, cancel, retry; to the trash and back; signs of life."""

from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter

from mapi.access.rights import Principal
from mapi.api.bodies import MERGE_PATCH, read_body
from mapi.api.description import ANSWERS, BODY, BODY_TYPES, VERSION_PROBLEMS
from mapi.api.entrance import Entrance
from mapi.api.events import IS_QUIET
from mapi.api.idempotency import MAKES, Made, answer_once, key_of
from mapi.api.preconditions import etag_of, expected_versions, is_known
from mapi.api.rights import RIGHT
from mapi.api.run_rights import find_run
from mapi.database.door import Connection, Database
from mapi.objects.store import ObjectStore
from mapi.tracking.following import Following
from mapi.tracking.heartbeat import beat
from mapi.tracking.life import cancel_run, patch_run, restore_run, retry_run, trash_run
from mapi.tracking.life_entries import read_life
from mapi.tracking.making import make_run
from mapi.tracking.retention import purge_run
from mapi.tracking.runs import create_run, get_run
from mapi.wire.administration import Deleted
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import RunStatus, Scope
from mapi.wire.runs import (
    Heartbeat,
    RunCreate,
    RunFacts,
    RunLife,
    RunPatch,
    decode_run_create,
)

__all__ = [
    "cancel",
    "change",
    "create",
    "heartbeat",
    "life",
    "purge",
    "read",
    "restore",
    "retry",
    "trash",
]

_PATCH_TYPES = (MERGE_PATCH, "application/json")


@post(
    "/v1/runs",
    opt={RIGHT: Scope.WRITE, BODY: RunCreate, MAKES: True, ANSWERS: (200, 201)},
    summary="Make a run",
)
async def create(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> Response[RunFacts]:
    """Make a run that is logged from outside; one with the same `external_id` is answered as it is."""
    body = await read_body(request, bytes_max=BODY_BYTES_MAX)
    key = key_of(request, body)
    sent = decode_run_create(body, bytes_max=BODY_BYTES_MAX)
    made = await make_run(database, request.user, sent, key=key)
    if made is not None:
        return _made(made.run, is_new=True, is_replayed=made.is_replayed).response()

    async def work(connection: Connection) -> Made[RunFacts]:
        run_id, is_new = await create_run(connection, request.user, sent)
        return _made(await get_run(connection, run_id), is_new=is_new)

    return await answer_once(database, request, key=key, work=work)


def _made(run: RunFacts, *, is_new: bool, is_replayed: bool = False) -> Made[RunFacts]:
    headers = {"etag": etag_of(run), "location": f"/v1/runs/{run.id}"}
    return Made.of(run, is_new=is_new, headers=headers, is_replayed=is_replayed)


@get("/v1/runs/{run:str}", opt={RIGHT: Scope.READ, ANSWERS: (200, 304)}, summary="Read a run")
async def read(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
) -> Response[RunFacts | None]:
    """Return one run."""
    async with database.transaction(request.user.reach) as connection:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.READ)
        found = await get_run(connection, run_id)
    headers = {"ETag": etag_of(found)}
    if is_known(request, headers["ETag"]):
        return Response(None, status_code=304, headers=headers)
    return Response(found, headers=headers)


@get("/v1/runs/{run:str}/life", opt={RIGHT: Scope.READ}, summary="What happened to a run")
async def life(  # noqa: PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
    after: Annotated[int, QueryParameter(ge=0, le=2**63 - 1)] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 100,
) -> RunLife:
    """Return changes of status, name, experiment and trash, warnings and prunings, oldest first."""
    async with database.transaction(request.user.reach) as connection:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.READ)
        return await read_life(connection, run_id, after=after, limit=limit)


@patch(
    "/v1/runs/{run:str}",
    opt={RIGHT: Scope.WRITE, BODY: RunPatch, BODY_TYPES: _PATCH_TYPES},
    summary="Change a run",
)
async def change(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
) -> Response[RunFacts]:
    """Change name, note, experiment, and of an external run its status; null empties."""
    body = await read_body(request, bytes_max=BODY_BYTES_MAX, kinds=_PATCH_TYPES)
    sent = decode(body, RunPatch, bytes_max=BODY_BYTES_MAX)
    expected = expected_versions(request)

    async def work(connection: Connection) -> RunFacts:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.WRITE)
        await patch_run(connection, run_id, sent, expected=expected)
        return await get_run(connection, run_id)

    found = await database.run(request.user.reach, work)
    return Response(found, headers={"ETag": etag_of(found)})


@post(
    "/v1/runs/{run:str}/cancel",
    opt={RIGHT: Scope.WRITE, VERSION_PROBLEMS: (409, 412)},
    status_code=200,
    summary="Cancel a run",
)
async def cancel(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
) -> Response[RunFacts]:
    """Stop a run that goes on or waits; one that was cancelled before stays as it is."""
    expected = expected_versions(request)

    async def work(connection: Connection) -> RunFacts:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.WRITE)
        await cancel_run(connection, run_id, by=request.user.name, expected=expected)
        return await get_run(connection, run_id)

    found = await database.run(request.user.reach, work)
    return Response(found, headers={"ETag": etag_of(found)})


@post(
    "/v1/runs/{run:str}/retry",
    opt={RIGHT: Scope.WRITE, MAKES: True, VERSION_PROBLEMS: (409,)},
    status_code=201,
    summary="Try a run again",
)
async def retry(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
) -> Response[RunFacts]:
    """Make a run that tries again what this one was to do, in its experiment and linked to it."""

    async def work(connection: Connection) -> Made[RunFacts]:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.WRITE)
        made_id = await retry_run(connection, run_id, by=request.user.name)
        return _made(await get_run(connection, made_id), is_new=True)

    return await answer_once(database, request, key=key_of(request), work=work)


@delete(
    "/v1/runs/{run:str}",
    opt={RIGHT: Scope.WRITE, VERSION_PROBLEMS: (412,)},
    status_code=204,
    summary="Put a run into the trash",
)
async def trash(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
) -> None:
    """Put a run into the trash, from where it can be restored for a while."""
    expected = expected_versions(request)

    async def work(connection: Connection) -> None:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.WRITE)
        await trash_run(connection, run_id, by=request.user.name, expected=expected)

    await database.run(request.user.reach, work)


@post(
    "/v1/runs/{run:str}/restore",
    opt={RIGHT: Scope.WRITE},
    status_code=200,
    summary="Take a run out of the trash",
)
async def restore(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
) -> Response[RunFacts]:
    """Take a run out of the trash; one that is not there stays as it is."""

    async def work(connection: Connection) -> RunFacts:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.WRITE)
        await restore_run(connection, run_id, by=request.user.name)
        return await get_run(connection, run_id)

    found = await database.run(request.user.reach, work)
    return Response(found, headers={"ETag": etag_of(found)})


@post(
    "/v1/runs/{run:str}/purge",
    opt={RIGHT: Scope.ADMIN, VERSION_PROBLEMS: (409,)},
    status_code=200,
    summary="Delete a run for good",
)
async def purge(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    objects: NamedDependency[ObjectStore],
    run: FromPath[str],
) -> Deleted:
    """Delete a run of the trash for good, with all that it has; nothing brings it back."""
    async with database.transaction(request.user.reach) as connection:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.ADMIN)
    freed = await purge_run(
        database, objects, request.user.reach, run_id=run_id, principal=request.user
    )
    return Deleted(rows=freed.rows, freed_bytes=freed.size_bytes)


@post(
    "/v1/runs/{run:str}/heartbeat",
    opt={RIGHT: Scope.WRITE, IS_QUIET: True},
    status_code=200,
    summary="Say that a run lives",
)
async def heartbeat(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    following: NamedDependency[Following],
    entrance: NamedDependency[Entrance],
    run: FromPath[str],
) -> Heartbeat:
    """Take a sign of life; a lost run runs again. The answer says when the next one is due."""

    async def work(connection: Connection) -> tuple[UUID, RunStatus, bool]:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.WRITE)
        return run_id, *await beat(connection, run_id)

    run_id, status, was_lost = await database.run(request.user.reach, work)
    if was_lost:
        following.changes.touch(request.user.tenant_id, run_id)
    return Heartbeat(status=status, due_seconds=entrance.heartbeat_seconds)
