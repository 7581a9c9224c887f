"""Who asks: a program by its token, a browser by its cookie; and not too often.

A request with a header ``Authorization`` is judged by that alone. A cookie comes with every request
that a browser sends here, whoever's page made it send one: a write needs the session's second
secret too, which only our own pages can read.
"""

from __future__ import annotations

import hmac
import time
from typing import TYPE_CHECKING, Any, Final

from litestar.middleware import AbstractAuthenticationMiddleware, AuthenticationResult

from mapi.access.rate import RateLimit
from mapi.access.sessions import csrf_token
from mapi.access.tokens import TokenKind, authenticate
from mapi.api.front import address_of
from mapi.errors import AuthenticationError, ForbiddenError, RateLimitError

if TYPE_CHECKING:
    from litestar.connection import ASGIConnection
    from litestar.types import ASGIApp

    from mapi.access.last_use import LastUses
    from mapi.access.rights import Principal
    from mapi.database.door import Database

__all__ = [
    "CSRF_HEADER",
    "PUBLIC",
    "SESSION_COOKIES",
    "RequestLimits",
    "TokenAuthentication",
    "principal_of",
    "session_of",
]

#: The option of a route that anybody may call.
PUBLIC: Final = "public"
CSRF_HEADER: Final = "X-CSRF-Token"
#: With the prefix no other host and no unencrypted page can set it (RFC 6265bis); on this machine,
#: where there is no encryption, browsers refuse the prefix.
SESSION_COOKIES: Final = ("__Host-mapi", "mapi_session")
#: Guesses of one address in a second; a secret has 256 bits, so this only saves the look-ups.
_FAILURES_PER_SECOND: Final = 20.0
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_ASK: Final = (
    "This needs a token: send the header 'Authorization: Bearer mapi_...'. Make one "
    "with `mapi admin token create NAME`."
)


class TokenAuthentication(AbstractAuthenticationMiddleware):
    """Puts the principal into ``request.user``, and the secret that it came with into the state."""

    def __init__(
        self, app: ASGIApp, *, database: Database, uses: LastUses, limits: RequestLimits
    ) -> None:
        super().__init__(app, exclude_from_auth_key=PUBLIC)
        self._database = database
        self._uses = uses
        self._limits = limits

    async def authenticate_request(
        self, connection: ASGIConnection[Any, Any, Any, Any]
    ) -> AuthenticationResult:
        """Return who asks.

        Raises:
            AuthenticationError: there is no token, or none that counts.
            ForbiddenError: a browser writes without its second secret.
            RateLimitError: the token, or an address that guesses, asks too often.
        """
        address = address_of(connection.scope)
        self._limits.check_guesses(address)
        try:
            principal, secret = await principal_of(self._database, connection)
        except AuthenticationError:
            self._limits.note_guess(address)
            raise
        self._limits.take(principal)
        self._uses.note(principal)
        connection.scope["state"]["secret"] = secret
        return AuthenticationResult(user=principal, auth=principal.token_id)


async def principal_of(
    database: Database, connection: ASGIConnection[Any, Any, Any, Any]
) -> tuple[Principal, str]:
    """Return who asks, and the secret that says so.

    Raises:
        AuthenticationError: there is no token, or none that counts.
        ForbiddenError: a browser writes without its second secret.
    """
    header = connection.headers.get("authorization")
    if header is None:
        session = session_of(connection)
        if session is None:
            raise AuthenticationError(_ASK)
        principal = await authenticate(database, session, kind=TokenKind.SESSION)
        if str(connection.scope.get("method")) not in _SAFE_METHODS:
            _check_csrf(connection, session)
        return principal, session
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise AuthenticationError(_ASK)
    return await authenticate(database, token.strip()), token.strip()


class RequestLimits:
    """The buckets of one replica.

    Args:
        per_second: requests of one token; 0 is no limit.
    """

    def __init__(self, per_second: float) -> None:
        self._tokens = RateLimit(per_second)
        self._guesses = RateLimit(_FAILURES_PER_SECOND if per_second > 0 else 0)
        self._blocked: dict[str, float] = {}

    def take(self, principal: Principal) -> None:
        """Count a request.

        Raises:
            RateLimitError: it is one too many.
        """
        wait = self._tokens.take(principal.token_id, time.monotonic())
        if wait:
            raise RateLimitError(
                f"The token {principal.token_id} sends more requests than the server takes from "
                "one; send larger batches, or less often.",
                wait,
            )

    def note_guess(self, address: str) -> None:
        """Count a request whose token did not count."""
        now = time.monotonic()
        wait = self._guesses.take(address, now)
        if wait:
            self._blocked = {key: end for key, end in self._blocked.items() if end > now}
            self._blocked[address] = now + 1.0

    def check_guesses(self, address: str) -> None:
        """Refuse an address that has guessed too often.

        Raises:
            RateLimitError: it has.
        """
        left = self._blocked.get(address, 0.0) - time.monotonic()
        if left > 0:
            raise RateLimitError("Too many requests without a valid token.", left)


def session_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """Return the text of the session's cookie."""
    for name in SESSION_COOKIES:
        found = connection.cookies.get(name)
        if found:
            return found
    return None


def _check_csrf(connection: ASGIConnection[Any, Any, Any, Any], session: str) -> None:
    sent = connection.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(sent.encode(), csrf_token(session).encode()):
        raise ForbiddenError(
            f"A write with a cookie needs the header {CSRF_HEADER}, whose value GET /v1/session "
            "answers; programs send a token instead."
        )
