"""``/v1/session``: who asks, sign in with a token, sign out."""

from typing import Any

from litestar import Request, Response, delete, get, post
from litestar.di import NamedDependency

from mapi.access.projects import project_names
from mapi.access.rights import ALL_PROJECTS, Principal
from mapi.access.sessions import csrf_token, open_session_by_token
from mapi.access.tokens import TokenKind, authenticate, revoke_token
from mapi.api.authentication import PUBLIC
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.entrance import Entrance
from mapi.api.rights import RIGHT
from mapi.api.session_cookie import session_cookie, without_session
from mapi.database.door import Connection, Database
from mapi.errors import Fault, InvalidError
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import Scope
from mapi.wire.sessions import SessionCreate, SessionFacts

__all__ = ["close", "open_by_token", "read"]


@get("/v1/session", opt={RIGHT: Scope.READ}, summary="Who am I?")
async def read(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> SessionFacts:
    """Return who asks and what they may do; to a browser also what its writes have to send."""
    secret = request.scope["state"]["secret"] if request.user.is_session else None
    return await _facts(database, request.user, secret)


@post("/v1/session", opt={PUBLIC: True, BODY: SessionCreate}, status_code=200, summary="Sign in")
async def open_by_token(
    request: Request[Any, Any, Any],
    database: NamedDependency[Database],
    entrance: NamedDependency[Entrance],
) -> Response[SessionFacts]:
    """Sign a browser in with a token; the session ends with the token."""
    body = await read_body(request, bytes_max=BODY_BYTES_MAX)
    sent = decode(body, SessionCreate, bytes_max=BODY_BYTES_MAX)
    session = await open_session_by_token(database, sent.token.strip())
    principal = await authenticate(database, session, kind=TokenKind.SESSION)
    return Response(
        await _facts(database, principal, session),
        cookies=[session_cookie(request, entrance, session)],
    )


@delete("/v1/session", opt={RIGHT: Scope.READ}, summary="Sign out")
async def close(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> Response[None]:
    """End the browser's session."""
    if not request.user.is_session:
        raise InvalidError(
            Fault("", "this request has no session; a token is revoked at /v1/tokens")
        )

    async def work(connection: Connection) -> None:
        await revoke_token(connection, request.user, request.user.token_id)

    await database.run(request.user.reach, work)
    return Response(None, status_code=204, cookies=without_session())


async def _facts(database: Database, principal: Principal, secret: str | None) -> SessionFacts:
    async with database.transaction(principal.reach) as connection:
        names = await project_names(connection)
    return SessionFacts(
        name=principal.name,
        is_service=principal.user_id is None,
        scopes=sorted(principal.scopes),
        roles={
            "*" if place == ALL_PROJECTS else names[place]: role
            for place, role in principal.roles.items()
            if place == ALL_PROJECTS or place in names
        },
        project=None if principal.project_id is None else names.get(principal.project_id),
        is_tenant_admin=principal.is_tenant_admin,
        expires=principal.expires,
        csrf_token=None if secret is None else csrf_token(secret),
    )
