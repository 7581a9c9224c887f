"""Tokens: made once, shown once, kept as a hash; and who one belongs to.

``mapi_<12 hex>_<43 characters>``: the first part finds the row, the second is 256 random bits. A
token is looked up by a function of the database that needs both, before there is a tenant to act
for, so nobody can list the tokens of others.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mapi.access.rights import ALL_PROJECTS, Principal
from mapi.database.queries import query
from mapi.errors import AuthenticationError
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mapi.database.door import Connection, Database

__all__ = ["NewToken", "authenticate", "insert_token", "new_token"]

_FORM: Final = re.compile(r"mapi_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_REFUSED: Final = "The token is not known, has expired or was revoked. Make one in Settings."


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made: the only time its text exists."""

    id: str
    text: str
    secret_hash: bytes

    def __repr__(self) -> str:
        return f"<NewToken {self.id}>"


def new_token() -> NewToken:
    """Return a new random token."""
    token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return NewToken(token_id, f"mapi_{token_id}_{secret}", _hash(secret))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


async def insert_token(  # noqa: PLR0913 - the columns of a row
    connection: Connection,
    token: NewToken,
    *,
    name: str,
    scopes: Iterable[Scope],
    user_id: int | None = None,
    project_id: int | None = None,
    expires: datetime | None = None,
) -> None:
    """Keep a token in the transaction's tenant."""
    await connection.execute(
        query("access.insert_token"),
        {
            "id": token.id,
            "hash": token.secret_hash,
            "name": name,
            "scopes": [scope.value for scope in scopes],
            "user": user_id,
            "project": project_id,
            "expires": expires,
        },
    )


async def authenticate(database: Database, text: str) -> Principal:
    """Return who a token belongs to.

    Raises:
        AuthenticationError: it is not known, has expired or was revoked; which, is not said.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise AuthenticationError(_REFUSED)
    async with database.outside() as connection:
        cursor = await connection.execute(
            query("access.find_token"), {"id": found[1], "hash": _hash(found[2])}
        )
        row = await cursor.fetchone()
    if row is None:
        raise AuthenticationError(_REFUSED)
    tenant_id, user_id, user_name, project_id, scopes, expires, revoked, roles = row
    if revoked is not None or (expires is not None and expires <= datetime.now(UTC)):
        raise AuthenticationError(_REFUSED)
    return Principal(
        tenant_id=tenant_id,
        name=user_name,
        token_id=found[1],
        scopes=frozenset(Scope(one) for one in scopes),
        user_id=user_id,
        project_id=project_id,
        roles={
            ALL_PROJECTS if project == "*" else int(project): Role(role)
            for project, role in roles.items()
        },
    )
