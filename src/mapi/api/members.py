"""``/v1/members``: who has which role."""

from typing import Any

from litestar import Request, delete, get, put
from litestar.di import NamedDependency
from litestar.params import FromQuery

from mapi.access.members import list_members, remove_member, set_member
from mapi.access.rights import Principal
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.wire.administration import MemberBody, MemberFacts, MemberPage
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import Scope

__all__ = ["list_all", "remove", "set_role"]


@get("/v1/members", opt={RIGHT: Scope.READ}, summary="List members")
async def list_all(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> MemberPage:
    """Return who has which role in the projects that you see."""
    async with database.transaction(request.user.reach) as connection:
        return await list_members(connection)


@put("/v1/members", opt={RIGHT: Scope.ADMIN, BODY: MemberBody}, summary="Give a role")
async def set_role(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> MemberFacts:
    """Give a user a role in a project, or in all of the tenant; a new user is made."""
    body = await read_body(request, bytes_max=BODY_BYTES_MAX)
    sent = decode(body, MemberBody, bytes_max=BODY_BYTES_MAX)

    async def work(connection: Connection) -> MemberFacts:
        return await set_member(connection, request.user, sent)

    return await database.run(request.user.reach, work)


@delete("/v1/members", opt={RIGHT: Scope.ADMIN}, summary="Take a role away")
async def remove(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    user: FromQuery[str],
    project: FromQuery[str | None] = None,
) -> None:
    """Take a user's role away; the user's tokens can do nothing there from now on."""

    async def work(connection: Connection) -> None:
        await remove_member(connection, request.user, user=user, project=project)

    await database.run(request.user.reach, work)
