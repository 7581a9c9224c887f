"""Who asks: every request but those of public routes names a token, or is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from litestar.middleware import AbstractAuthenticationMiddleware, AuthenticationResult

from mapi.access.tokens import authenticate
from mapi.errors import AuthenticationError

if TYPE_CHECKING:
    from litestar.connection import ASGIConnection
    from litestar.types import ASGIApp

    from mapi.access.rights import Principal
    from mapi.database.door import Database

__all__ = ["PUBLIC", "TokenAuthentication"]

#: The option of a route that anybody may call.
PUBLIC: Final = "public"
_ASK: Final = (
    "This needs a token: send the header 'Authorization: Bearer mapi_...'. Make one in Settings, "
    "or with `mapi admin token`."
)


class TokenAuthentication(AbstractAuthenticationMiddleware):
    """Puts the principal into ``request.user``."""

    def __init__(self, app: ASGIApp, database: Database) -> None:
        super().__init__(app, exclude_from_auth_key=PUBLIC)
        self._database = database

    async def authenticate_request(
        self, connection: ASGIConnection[Any, Any, Any, Any]
    ) -> AuthenticationResult:
        """Return who asks.

        Raises:
            AuthenticationError: there is no token, or none that counts.
        """
        scheme, _, token = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise AuthenticationError(_ASK)
        principal: Principal = await authenticate(self._database, token.strip())
        return AuthenticationResult(user=principal, auth=principal.token_id)
