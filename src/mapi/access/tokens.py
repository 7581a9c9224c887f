"""Tokens: made once, shown once, kept as a hash; and who one belongs to.

``mapi_<12 hex>_<43 characters>``: the first part finds the row, the second is 256 random bits. A
token is looked up by a function of the database that needs both, before there is a tenant to act
for, so nobody can list the tokens of others.

A browser's session and a link that signs in once are tokens of other kinds; one kind never stands
for another.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from psycopg.rows import dict_row

from mapi.access.audit import record
from mapi.access.notices import tell_of_rights
from mapi.access.projects import find_project
from mapi.access.rights import ALL_PROJECTS, Principal
from mapi.database.queries import query
from mapi.errors import AuthenticationError, Fault, ForbiddenError, InvalidError, NotFoundError
from mapi.series.names import check_title
from mapi.wire.administration import TokenFacts, TokenMade, TokenPage
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mapi.database.door import Connection, Database
    from mapi.wire.administration import TokenCreate

__all__ = [
    "NewToken",
    "TokenKind",
    "authenticate",
    "create_token",
    "end_tokens_of",
    "hold_user",
    "insert_token",
    "list_tokens",
    "new_token",
    "revoke_token",
    "token_from_text",
]

_FORM: Final = re.compile(r"mapi_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_REFUSED: Final = "The token is not known, has expired or was revoked. Make one with `mapi admin token create NAME`."
#: A list is read by people; who has more tokens than this looks for the newest.
_LISTED_MAX: Final = 500


class TokenKind(StrEnum):
    """What a token is good for."""

    BEARER = "bearer"  # a program's, in the header
    SESSION = "session"  # a browser's, in the cookie
    SIGN_IN = "sign_in"  # a link's, once


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


def token_from_text(text: str) -> NewToken:
    """Return a token of ours that was written down before it was put into the database."""
    _, token_id, secret = text.split("_", 2)
    return NewToken(token_id, text, _hash(secret))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


async def insert_token(  # noqa: PLR0913 - the columns of a row
    connection: Connection,
    token: NewToken,
    *,
    name: str,
    scopes: Iterable[Scope],
    kind: TokenKind = TokenKind.BEARER,
    parent_id: str | None = None,
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
            "kind": kind.value,
            "parent": parent_id,
            "scopes": [scope.value for scope in scopes],
            "user": user_id,
            "project": project_id,
            "expires": expires,
        },
    )


async def authenticate(
    database: Database, text: str, *, kind: TokenKind = TokenKind.BEARER
) -> Principal:
    """Return who a token belongs to.

    Raises:
        AuthenticationError: it is not known, is of another kind, has expired or was revoked;
            which, is not said.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise AuthenticationError(_REFUSED)
    row = await database.call(
        query("access.find_token"), {"id": found[1], "hash": _hash(found[2])}
    )
    if row is None:
        raise AuthenticationError(_REFUSED)
    tenant_id, user_id, user_name, project_id, scopes, its_kind, expires, revoked, roles = row
    is_over = revoked is not None or (expires is not None and expires <= datetime.now(UTC))
    if is_over or its_kind != kind.value:
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
        expires=expires,
        is_session=its_kind == TokenKind.SESSION.value,
    )


async def create_token(
    connection: Connection, principal: Principal, sent: TokenCreate
) -> TokenMade:
    """Make a token; it may do no more than its maker, nor longer where that is a token.

    Raises:
        ForbiddenError: it would do more.
        InvalidError: the name breaks its rule, there is no such project, or it would have ended
            already.
    """
    wrong = check_title("the name of a token", sent.name)
    if wrong is not None:
        raise InvalidError(Fault("/name", wrong))
    project_id = principal.project_id
    if sent.project is not None:
        project_id = await find_project(connection, sent.project, pointer="/project")
    _check_scopes(principal, sent, project_id)
    await hold_user(connection, principal)
    maker_id, expires = await _maker(connection, principal, sent.expires)
    token = new_token()
    is_service = sent.is_service or principal.user_id is None
    await insert_token(
        connection,
        token,
        name=sent.name,
        scopes=sent.scopes,
        parent_id=maker_id,
        user_id=None if is_service else principal.user_id,
        project_id=project_id,
        expires=expires,
    )
    await record(
        connection,
        principal.name,
        "token.create",
        token.id,
        name=sent.name,
        scopes=[scope.value for scope in sent.scopes],
        project=sent.project,
        is_service=is_service,
    )
    (facts,) = await _facts(connection, principal, everyone=True, token_id=token.id)
    return TokenMade(token=token.text, **{name: getattr(facts, name) for name in _FIELDS})


_FIELDS: Final = TokenFacts.__struct_fields__


def _check_scopes(principal: Principal, sent: TokenCreate, project_id: int | None) -> None:
    """Refuse what the maker may not do: a token must be no way to more rights."""
    for at, scope in enumerate(sent.scopes):
        if scope is Scope.EXECUTE:
            # It opens the runner's routes only, and no role has it.
            if not (sent.is_service and principal.is_tenant_admin):
                raise InvalidError(
                    Fault(
                        f"/scopes/{at}",
                        f"{scope.value!r} is for a runner host: an admin of the tenant makes it a "
                        "service token (is_service: true)",
                    )
                )
        elif not _may_somewhere(principal, scope, project_id):
            raise ForbiddenError(
                f"A token cannot do more than its maker: {principal.name!r} has no {scope.value!r} "
                "there."
            )
    if sent.is_service:
        # It stays when its maker goes, so it is the project's or the tenant's to give.
        principal.require(Scope.ADMIN, project_id)


def _may_somewhere(principal: Principal, scope: Scope, project_id: int | None) -> bool:
    if project_id is not None or principal.user_id is None:
        return principal.may(scope, project_id)
    # A personal token follows its owner's roles project by project, now and later.
    return any(principal.may(scope, place) for place in (None, *principal.roles))


async def hold_user(connection: Connection, principal: Principal) -> None:
    """Let nobody take the principal's last role until the transaction ends, which makes a token.

    Raises:
        AuthenticationError: somebody just did.
    """
    if principal.user_id is None or not principal.roles:
        return
    about = {"user": principal.user_id}
    await connection.execute(query("access.hold_user"), about)
    cursor = await connection.execute(query("access.has_role"), about)
    (has_role,) = await cursor.fetchone() or (False,)
    if not has_role:
        raise AuthenticationError(_REFUSED)


async def _maker(
    connection: Connection, principal: Principal, wanted: datetime | None
) -> tuple[str | None, datetime | None]:
    """Return the token whose end is the end of what is made with it, and when that is.

    Of a browser's session it is the token that it was opened with; a person who came by a link or by
    an identity provider has none, and their roles are what counts.

    Raises:
        AuthenticationError: that token was revoked meanwhile.
        InvalidError: the wanted end is past.
    """
    if wanted is not None and wanted <= datetime.now(UTC):
        raise InvalidError(Fault("/expires", f"{wanted.isoformat()} is in the past"))
    cursor = await connection.execute(query("access.lock_maker"), {"own": principal.token_id})
    row = await cursor.fetchone()
    if row is None:
        return None, wanted
    maker_id, expires, is_revoked = row
    if is_revoked:
        raise AuthenticationError(_REFUSED)
    ends = [one for one in (wanted, expires) if one is not None]
    return maker_id, min(ends, default=None)


async def list_tokens(connection: Connection, principal: Principal) -> TokenPage:
    """Return one's own tokens and those made with this one, or all of the tenant's to its admin."""
    found = await _facts(connection, principal, everyone=principal.is_tenant_admin)
    return TokenPage(tokens=found)


async def _facts(
    connection: Connection,
    principal: Principal,
    *,
    everyone: bool,
    token_id: str | None = None,
) -> list[TokenFacts]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            query("access.list_tokens"),
            {
                "all": everyone,
                "own": principal.token_id,
                "user": principal.user_id,
                "id": token_id,
                "limit": _LISTED_MAX,
            },
        )
        rows: list[dict[str, Any]] = await cursor.fetchall()
    return [
        TokenFacts(**{**row, "scopes": [Scope(scope) for scope in row["scopes"]]}) for row in rows
    ]


async def revoke_token(connection: Connection, principal: Principal, token_id: str) -> None:
    """End a token of one's own, or any of the tenant as its admin, and all that was made with it.

    Raises:
        NotFoundError: there is no such token for the principal, or it has ended before.
    """
    cursor = await connection.execute(
        query("access.revoke_token"),
        {
            "id": token_id,
            "all": principal.is_tenant_admin,
            "own": principal.token_id,
            "user": principal.user_id,
        },
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(
            f"There is no token with the id {token_id[:80]!r}, or it was revoked before: the list of "
            "tokens has the ids."
        )
    kind, name = row
    ended = 0
    while True:
        # Again, until there is none: one that was just made with one of these was not seen before
        # its maker had committed.
        made = await connection.execute(query("access.revoke_made"), {"id": token_id})
        if not made.rowcount:
            break
        ended += made.rowcount
    action = "token.revoke" if kind == TokenKind.BEARER.value else "session.end"
    await record(connection, principal.name, action, token_id, name=name, made_with_it=ended)
    await tell_of_rights(connection)


async def end_tokens_of(connection: Connection, user_id: int) -> int:
    """End the tokens and sessions of a user who has no role any more, and return how many.

    A service's tokens stay, whoever made them: they are the project's.

    Args:
        connection: a transaction that locked the user before it took the role: so it sees all that
            was made, and what is made next sees that there is no role; see `hold_user`.
        user_id: the user.
    """
    cursor = await connection.execute(query("access.revoke_tokens_of_user"), {"user": user_id})
    return cursor.rowcount
