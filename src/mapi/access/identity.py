"""From an identity at a provider to a user of ours, and to a session.

A user is known by issuer and subject, which never change hands; an e-mail address only finds, once,
the user whom an admin made a member under it, and only if the provider has verified it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mapi.access.audit import record
from mapi.access.rights import Principal
from mapi.access.sessions import PEOPLE_SCOPES, open_session
from mapi.database.door import Reach
from mapi.database.queries import query
from mapi.errors import ForbiddenError, SettingError

if TYPE_CHECKING:
    from mapi.config import OidcSettings
    from mapi.database.door import Connection, Database

__all__ = ["Identity", "open_session_by_identity"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a provider vouches for."""

    issuer: str
    subject: str
    email: str | None
    """Verified by the provider, or none."""


async def open_session_by_identity(
    database: Database, settings: OidcSettings, identity: Identity
) -> str:
    """Return a new session of the user whom an identity belongs to.

    Raises:
        ForbiddenError: the identity belongs to none, and new ones are not let in.
        SettingError: there is no such tenant.
    """
    tenant_id = await _tenant(database, settings.tenant)

    async def work(connection: Connection) -> str:
        user_id, name = await _user(connection, settings, identity)
        principal = Principal(tenant_id, name, "", PEOPLE_SCOPES, user_id=user_id)
        return await open_session(connection, principal)

    return await database.run(Reach(tenant_id), work)


async def _tenant(database: Database, name: str) -> int:
    async with database.outside() as connection:
        cursor = await connection.execute(query("access.list_tenants"))
        for tenant_id, found in await cursor.fetchall():
            if found == name:
                return int(tenant_id)
    raise SettingError(f"There is no tenant {name!r}; make it with `mapi admin tenant create`.")


async def _user(
    connection: Connection, settings: OidcSettings, identity: Identity
) -> tuple[int, str]:
    named = {"issuer": identity.issuer, "subject": identity.subject, "name": identity.email}
    cursor = await connection.execute(query("access.find_identity"), named)
    row = await cursor.fetchone()
    if row is not None:
        return int(row[0]), str(row[1])
    if identity.email is None:
        raise ForbiddenError(
            "The provider names no verified e-mail address, so it is not clear who you are here."
        )
    cursor = await connection.execute(query("access.link_identity"), named)
    row = await cursor.fetchone()
    if row is None and settings.role is not None:
        cursor = await connection.execute(query("access.insert_identity"), named)
        row = await cursor.fetchone()
        if row is not None:
            await connection.execute(
                query("access.set_member"),
                {"user": row[0], "project": None, "role": settings.role},
            )
    if row is None:
        raise ForbiddenError(
            f"Nobody here is called {identity.email}. Ask an admin to make you a member under this "
            "address."
        )
    await record(
        connection, identity.email, "identity.link", identity.email, issuer=identity.issuer
    )
    return int(row[0]), identity.email
