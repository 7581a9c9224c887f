"""``/v1/projects``: make and list."""

from typing import Any, Literal

from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery

from mapi.access.projects import create_project, list_projects
from mapi.access.rights import Principal
from mapi.api.bodies import read_body
from mapi.api.description import ANSWERS, BODY
from mapi.api.idempotency import MAKES, Made, answer_once, key_of
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.wire.administration import ProjectCreate, ProjectFacts, ProjectPage
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import Scope

__all__ = ["create", "list_all"]


@get("/v1/projects", opt={RIGHT: Scope.READ}, summary="List projects")
async def list_all(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> ProjectPage:
    """Return the projects that you see, and what you are in each."""
    async with database.transaction(request.user.reach) as connection:
        return await list_projects(connection, request.user)


@post(
    "/v1/projects",
    opt={RIGHT: Scope.ADMIN, BODY: ProjectCreate, MAKES: True, ANSWERS: (200, 201)},
    summary="Make a project",
)
async def create(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    if_exists: FromQuery[Literal["fail", "get"]] = "fail",
) -> Response[ProjectFacts]:
    """Make a project; with `if_exists=get`, one of the same name is answered as it is.

    An admin of the tenant may.
    """
    body = await read_body(request, bytes_max=BODY_BYTES_MAX)
    sent = decode(body, ProjectCreate, bytes_max=BODY_BYTES_MAX)

    async def work(connection: Connection) -> Made[ProjectFacts]:
        found, is_new = await create_project(
            connection, request.user, sent.name, is_got=if_exists == "get"
        )
        return Made.of(found, is_new=is_new)

    return await answer_once(database, request, key=key_of(request, body), work=work)
