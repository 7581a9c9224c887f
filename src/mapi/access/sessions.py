"""Browser sessions: a short token in a cookie, made from a token, a link or an identity.

The token against forged requests is made from the session's secret, so nothing more is kept: a page
of another origin can send the cookie, but not read what belongs to it.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from mapi.access.audit import record
from mapi.access.tokens import TokenKind, authenticate, hold_user, insert_token, new_token
from mapi.database.door import Reach
from mapi.database.queries import query
from mapi.errors import AuthenticationError
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from mapi.access.rights import Principal
    from mapi.database.door import Connection, Database

__all__ = [
    "LINK_LIFE",
    "PEOPLE_SCOPES",
    "SESSION_LIFE",
    "csrf_token",
    "open_session",
    "open_session_by_link",
    "open_session_by_token",
    "write_sign_in_link",
]

#: A week of work; who is away for longer signs in again.
SESSION_LIFE: Final = timedelta(days=7)
#: From the terminal into the browser, with a coffee in between.
LINK_LIFE: Final = timedelta(minutes=15)
#: Of a session that no token began: all that a person's role may allow.
PEOPLE_SCOPES: Final = frozenset({Scope.READ, Scope.WRITE, Scope.ADMIN})


def csrf_token(session: str) -> str:
    """Return what a page must say besides its cookie when it writes."""
    return hmac.new(session.encode(), b"mapi csrf v1", hashlib.sha256).hexdigest()


async def open_session_by_token(database: Database, text: str) -> str:
    """Return a new session of whom a token belongs to; it ends with that token.

    Raises:
        AuthenticationError: the token does not count.
    """
    principal = await authenticate(database, text)

    async def work(connection: Connection) -> str:
        await hold_user(connection, principal)
        return await open_session(connection, principal, parent_id=principal.token_id)

    return await database.run(principal.reach, work)


async def open_session_by_link(database: Database, text: str) -> str:
    """Return a new session of whom a link was made for; the link works once.

    Raises:
        AuthenticationError: the link does not count, or no more.
    """
    principal = await authenticate(database, text, kind=TokenKind.SIGN_IN)

    async def work(connection: Connection) -> str:
        await hold_user(connection, principal)
        cursor = await connection.execute(
            query("access.revoke_token"),
            {"id": principal.token_id, "all": True, "own": None, "user": None},
        )
        if await cursor.fetchone() is None:  # another request was faster
            raise AuthenticationError("The link was used before. Sign in with a token.")
        return await open_session(connection, principal)

    return await database.run(Reach(principal.tenant_id), work)


async def open_session(
    connection: Connection, principal: Principal, *, parent_id: str | None = None
) -> str:
    """Make a session with the principal's rights, and return the text of its cookie."""
    await connection.execute(query("access.drop_ended_sessions"))
    token = new_token()
    await insert_token(
        connection,
        token,
        name=principal.name,
        kind=TokenKind.SESSION,
        parent_id=parent_id,
        scopes=principal.scopes,
        user_id=principal.user_id,
        project_id=principal.project_id,
        expires=datetime.now(UTC) + SESSION_LIFE,
    )
    await record(connection, principal.name, "session.open", token.id)
    return token.text


async def write_sign_in_link(
    connection: Connection, *, name: str, scopes: frozenset[Scope], user_id: int | None = None
) -> str:
    """Return the code of a link that signs a browser in once."""
    token = new_token()
    await insert_token(
        connection,
        token,
        name=name,
        kind=TokenKind.SIGN_IN,
        scopes=scopes,
        user_id=user_id,
        expires=datetime.now(UTC) + LINK_LIFE,
    )
    return token.text
