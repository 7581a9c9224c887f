"""``/v1/tokens``: make, list, revoke."""

from typing import Any

from litestar import Request, Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from mapi.access.rights import Principal
from mapi.access.tokens import create_token, list_tokens, revoke_token
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.idempotency import MAKES, Made, answer_once, key_of
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.wire.administration import TokenCreate, TokenMade, TokenPage
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import Scope

__all__ = ["create", "list_all", "revoke"]


@get("/v1/tokens", opt={RIGHT: Scope.READ}, summary="List tokens")
async def list_all(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> TokenPage:
    """Return your own tokens, or all of the tenant's to its admin; never a secret."""
    async with database.transaction(request.user.reach) as connection:
        return await list_tokens(connection, request.user)


@post(
    "/v1/tokens", opt={RIGHT: Scope.READ, BODY: TokenCreate, MAKES: True}, summary="Make a token"
)
async def create(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> Response[TokenMade]:
    """Make a token that does no more than its maker; the answer is the only one with its secret."""
    body = await read_body(request, bytes_max=BODY_BYTES_MAX)
    sent = decode(body, TokenCreate, bytes_max=BODY_BYTES_MAX)

    async def work(connection: Connection) -> Made[TokenMade]:
        return Made.of(await create_token(connection, request.user, sent))

    return await answer_once(database, request, key=key_of(request, body), work=work)


@delete("/v1/tokens/{token:str}", opt={RIGHT: Scope.READ}, summary="Revoke a token")
async def revoke(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    token: FromPath[str],
) -> None:
    """End a token, and the sessions that were opened with it, from now on."""

    async def work(connection: Connection) -> None:
        await revoke_token(connection, request.user, token)

    await database.run(request.user.reach, work)
