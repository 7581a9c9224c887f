"""``/v1/experiments``: make, read, change, archive and delete groups of runs."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from litestar import Request, Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from mapi.access.cursors import Cursors
from mapi.access.identifiers import EXPERIMENT, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.bodies import MERGE_PATCH, read_body
from mapi.api.description import ANSWERS, BODY, BODY_TYPES, VERSION_PROBLEMS
from mapi.api.idempotency import MAKES, Made, answer_once, key_of
from mapi.api.links import next_link
from mapi.api.preconditions import etag_of, expected_versions, is_known
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.tracking.experiments import (
    ExperimentPosition,
    archive_experiment,
    create_experiment,
    delete_experiment,
    experiment_project,
    get_experiment,
    list_experiments,
    patch_experiment,
)
from mapi.tracking.runs import resolve_project
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import Scope
from mapi.wire.experiments import (
    ExperimentCreate,
    ExperimentFacts,
    ExperimentPage,
    ExperimentPatch,
)

__all__ = ["archive", "change", "create", "list_all", "read", "remove", "unarchive"]

_PATCH_TYPES = (MERGE_PATCH, "application/json")


@get("/v1/experiments", opt={RIGHT: Scope.READ}, summary="List experiments")
async def list_all(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    cursors: NamedDependency[Cursors],
    project: FromQuery[str | None] = None,
    archived: FromQuery[bool | None] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 50,
    cursor: FromQuery[str | None] = None,
) -> Response[ExperimentPage]:
    """Return the experiments of a project, the newest first."""
    async with database.transaction(request.user.reach) as connection:
        project_id = await resolve_project(
            connection, request.user, project, pointer="/query/project"
        )
        request.user.require(Scope.READ, project_id)
        question = {"route": "experiments", "project": project_id, "archived": archived}
        after = None
        if cursor is not None:
            position = cursors.read(cursor, question)
            after = ExperimentPosition(
                datetime.fromisoformat(position["created"]), UUID(position["id"])
            )
        found, end = await list_experiments(
            connection, project_id, is_archived=archived, after=after, limit=limit
        )
    if end is None:
        return Response(ExperimentPage(experiments=found))
    following = cursors.write(question, {"created": end.created.isoformat(), "id": str(end.id)})
    return Response(
        ExperimentPage(experiments=found, next_cursor=following),
        headers={"Link": next_link(request, following)},
    )


@post(
    "/v1/experiments",
    opt={RIGHT: Scope.WRITE, BODY: ExperimentCreate, MAKES: True, ANSWERS: (200, 201)},
    summary="Make an experiment",
)
async def create(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    if_exists: FromQuery[Literal["fail", "get"]] = "fail",
) -> Response[ExperimentFacts]:
    """Make an experiment; with `if_exists=get`, one of the same name is answered as it is."""
    body = await read_body(request, bytes_max=BODY_BYTES_MAX)
    sent = decode(body, ExperimentCreate)

    async def work(connection: Connection) -> Made[ExperimentFacts]:
        project_id = await resolve_project(
            connection, request.user, sent.project, pointer="/project"
        )
        request.user.require(Scope.WRITE, project_id)
        experiment_id, is_new = await create_experiment(
            connection, project_id, sent, is_got=if_exists == "get"
        )
        found = await get_experiment(connection, experiment_id)
        headers = {"etag": etag_of(found), "location": f"/v1/experiments/{found.id}"}
        return Made.of(found, is_new=is_new, headers=headers)

    return await answer_once(database, request, key=key_of(request, body), work=work)


@get(
    "/v1/experiments/{experiment:str}",
    opt={RIGHT: Scope.READ, ANSWERS: (200, 304)},
    summary="Read an experiment",
)
async def read(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    experiment: FromPath[str],
) -> Response[ExperimentFacts | None]:
    """Return one experiment."""
    async with database.transaction(request.user.reach) as connection:
        experiment_id = await _find(connection, request.user, experiment, scope=Scope.READ)
        found = await get_experiment(connection, experiment_id)
    headers = {"ETag": etag_of(found)}
    if is_known(request, headers["ETag"]):
        return Response(None, status_code=304, headers=headers)
    return Response(found, headers=headers)


@patch(
    "/v1/experiments/{experiment:str}",
    opt={RIGHT: Scope.WRITE, BODY: ExperimentPatch, BODY_TYPES: _PATCH_TYPES},
    summary="Change an experiment",
)
async def change(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    experiment: FromPath[str],
) -> Response[ExperimentFacts]:
    """Change the name or the description; null empties the description."""
    body = await read_body(request, bytes_max=BODY_BYTES_MAX, kinds=_PATCH_TYPES)
    sent = decode(body, ExperimentPatch, bytes_max=BODY_BYTES_MAX)
    expected = expected_versions(request)

    async def work(connection: Connection) -> ExperimentFacts:
        experiment_id = await _find(connection, request.user, experiment, scope=Scope.WRITE)
        await patch_experiment(connection, experiment_id, sent, expected=expected)
        return await get_experiment(connection, experiment_id)

    found = await database.run(request.user.reach, work)
    return Response(found, headers={"ETag": etag_of(found)})


@delete(
    "/v1/experiments/{experiment:str}",
    opt={RIGHT: Scope.WRITE, VERSION_PROBLEMS: (412,)},
    status_code=204,
    summary="Delete an experiment",
)
async def remove(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    experiment: FromPath[str],
) -> None:
    """Delete an experiment and its saved views; its runs stay, in no experiment."""
    expected = expected_versions(request)

    async def work(connection: Connection) -> None:
        experiment_id = await _find(connection, request.user, experiment, scope=Scope.WRITE)
        await delete_experiment(connection, request.user, experiment_id, expected=expected)

    await database.run(request.user.reach, work)


@post(
    "/v1/experiments/{experiment:str}/archive",
    opt={RIGHT: Scope.WRITE, VERSION_PROBLEMS: (409, 412)},
    status_code=200,
    summary="Archive an experiment",
)
async def archive(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    experiment: FromPath[str],
) -> Response[ExperimentFacts]:
    """Let an experiment take no new runs; what it has can be read and compared as before."""
    return await _archived(request, database, experiment, is_archived=True)


@post(
    "/v1/experiments/{experiment:str}/unarchive",
    opt={RIGHT: Scope.WRITE, VERSION_PROBLEMS: (409, 412)},
    status_code=200,
    summary="Take an experiment out of the archive",
)
async def unarchive(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    experiment: FromPath[str],
) -> Response[ExperimentFacts]:
    """Let an experiment take new runs again."""
    return await _archived(request, database, experiment, is_archived=False)


async def _archived(
    request: Request[Principal, Any, Any], database: Database, text: str, *, is_archived: bool
) -> Response[ExperimentFacts]:
    expected = expected_versions(request)

    async def work(connection: Connection) -> ExperimentFacts:
        experiment_id = await _find(connection, request.user, text, scope=Scope.WRITE)
        await archive_experiment(
            connection, experiment_id, is_archived=is_archived, expected=expected
        )
        return await get_experiment(connection, experiment_id)

    found = await database.run(request.user.reach, work)
    return Response(found, headers={"ETag": etag_of(found)})


async def _find(connection: Connection, principal: Principal, text: str, *, scope: Scope) -> UUID:
    experiment_id = uuid_from_text(EXPERIMENT, text)
    project_id = await experiment_project(connection, experiment_id)
    principal.require(scope, project_id, what="experiment")
    return experiment_id
