"""What came with a restore: whose it is, and what of it must not go on elsewhere."""

from __future__ import annotations

import psycopg

from mapi.access.audit import OPERATOR
from mapi.access.rights import Principal
from mapi.access.tokens import list_tokens, revoke_token
from mapi.database.door import Database, Reach
from mapi.database.queries import query
from mapi.serve.platform import LOCAL_TENANT, MACHINE_TOKEN
from mapi.wire.enums import Scope

__all__ = ["end_machine_tokens", "tenants_of"]


async def end_machine_tokens(url: str) -> None:
    """End the tokens with which programs of a laptop found its server, and what was made with them.

    Args:
        url: connects as the role without power, past a transaction pooler.

    Raises:
        DatabaseError: it cannot be reached.
    """
    database = Database(url, connections=2)
    await database.open()
    try:
        async with database.outside() as connection:
            cursor = await connection.execute(query("access.list_tenants"))
            tenants = [number for number, name in await cursor.fetchall() if name == LOCAL_TENANT]
        for tenant_id in tenants:
            who = Principal(tenant_id, OPERATOR, "", frozenset({Scope.ADMIN}))
            async with database.transaction(Reach(tenant_id)) as connection:
                for token in (await list_tokens(connection, who)).tokens:
                    is_machine = token.name == MACHINE_TOKEN and token.user is None
                    if is_machine and token.revoked is None:
                        await revoke_token(connection, who, token.id)
    finally:
        await database.close()


def tenants_of(admin_url: str) -> list[str]:
    """Return the names of all tenants, in the order in which they were made.

    Args:
        admin_url: connects as a role that may act for ``mapi_owner``.
    """
    with psycopg.connect(admin_url) as connection:
        # Its own policy lets the owner read them, whoever may act for it.
        connection.execute("set local role mapi_owner")
        found = connection.execute("select name from mapi.tenants order by id").fetchall()
    return [str(name) for (name,) in found]
