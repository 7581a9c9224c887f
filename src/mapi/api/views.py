"""``/v1/saved-views``: searches of the runs table under names, shared by all of the project."""

from typing import Any, Literal
from uuid import UUID

from litestar import Request, Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from mapi.access.identifiers import VIEW, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.bodies import MERGE_PATCH, read_body
from mapi.api.description import ANSWERS, BODY, BODY_TYPES, VERSION_PROBLEMS
from mapi.api.idempotency import MAKES, Made, answer_once, key_of
from mapi.api.preconditions import expected_versions, is_known
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.tracking.runs import resolve_project
from mapi.tracking.views import (
    create_view,
    delete_view,
    get_view,
    list_views,
    patch_view,
    view_project,
)
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import Scope
from mapi.wire.experiments import ViewCreate, ViewFacts, ViewPage, ViewPatch

__all__ = ["change", "create", "list_all", "read", "remove"]

_PATCH_TYPES = (MERGE_PATCH, "application/json")


@get("/v1/saved-views", opt={RIGHT: Scope.READ}, summary="List saved views")
async def list_all(  # noqa: PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    project: FromQuery[str | None] = None,
    experiment: FromQuery[str | None] = None,
) -> ViewPage:
    """Return the saved views of a project, or those of one of its experiments, by name."""
    async with database.transaction(request.user.reach) as connection:
        project_id = await resolve_project(
            connection, request.user, project, pointer="/query/project"
        )
        request.user.require(Scope.READ, project_id)
        return ViewPage(views=await list_views(connection, project_id, experiment=experiment))


@post(
    "/v1/saved-views",
    opt={RIGHT: Scope.WRITE, BODY: ViewCreate, MAKES: True, ANSWERS: (200, 201)},
    summary="Save a view",
)
async def create(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    if_exists: FromQuery[Literal["fail", "get"]] = "fail",
) -> Response[ViewFacts]:
    """Save a search under a name; a project has at most 200.

    With `if_exists=get`, one of the same name is answered as it is.
    """
    body = await read_body(request, bytes_max=BODY_BYTES_MAX)
    sent = decode(body, ViewCreate)

    async def work(connection: Connection) -> Made[ViewFacts]:
        project_id = await resolve_project(
            connection, request.user, sent.project, pointer="/project"
        )
        request.user.require(Scope.WRITE, project_id)
        view_id, is_new = await create_view(
            connection, project_id, sent, is_got=if_exists == "get"
        )
        found = await get_view(connection, view_id)
        headers = {"etag": found.etag, "location": f"/v1/saved-views/{found.id}"}
        return Made.of(found, is_new=is_new, headers=headers)

    return await answer_once(database, request, key=key_of(request, body), work=work)


@get(
    "/v1/saved-views/{view:str}",
    opt={RIGHT: Scope.READ, ANSWERS: (200, 304)},
    summary="Read a saved view",
)
async def read(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    view: FromPath[str],
) -> Response[ViewFacts | None]:
    """Return one saved view."""
    async with database.transaction(request.user.reach) as connection:
        view_id = await _find(connection, request.user, view, scope=Scope.READ)
        found = await get_view(connection, view_id)
    headers = {"ETag": found.etag}
    if is_known(request, found.etag):
        return Response(None, status_code=304, headers=headers)
    return Response(found, headers=headers)


@patch(
    "/v1/saved-views/{view:str}",
    opt={RIGHT: Scope.WRITE, BODY: ViewPatch, BODY_TYPES: _PATCH_TYPES},
    summary="Change a saved view",
)
async def change(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    view: FromPath[str],
) -> Response[ViewFacts]:
    """Change a view; `If-Match` has to say which version was read."""
    body = await read_body(request, bytes_max=BODY_BYTES_MAX, kinds=_PATCH_TYPES)
    sent = decode(body, ViewPatch, bytes_max=BODY_BYTES_MAX)

    async def work(connection: Connection) -> ViewFacts:
        view_id = await _find(connection, request.user, view, scope=Scope.WRITE)
        expected = expected_versions(request, is_required=True)
        await patch_view(connection, view_id, sent, expected=expected)
        return await get_view(connection, view_id)

    found = await database.run(request.user.reach, work)
    return Response(found, headers={"ETag": found.etag})


@delete(
    "/v1/saved-views/{view:str}",
    opt={RIGHT: Scope.WRITE, VERSION_PROBLEMS: (412, 428)},
    status_code=204,
    summary="Delete a saved view",
)
async def remove(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    view: FromPath[str],
) -> None:
    """Delete a view; `If-Match` has to say which version was read."""

    async def work(connection: Connection) -> None:
        view_id = await _find(connection, request.user, view, scope=Scope.WRITE)
        expected = expected_versions(request, is_required=True)
        await delete_view(connection, request.user, view_id, expected=expected)

    await database.run(request.user.reach, work)


async def _find(connection: Connection, principal: Principal, text: str, *, scope: Scope) -> UUID:
    view_id = uuid_from_text(VIEW, text)
    principal.require(scope, await view_project(connection, view_id), what="saved view")
    return view_id
