"""The audit: who changed rights, tokens, members, limits; rows are added and never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from mapi.database.queries import query
from mapi.wire.administration import AuditEntry, AuditPage

if TYPE_CHECKING:
    from mapi.database.door import Connection

__all__ = ["OPERATOR", "list_audit", "record"]

#: Who changed something from a shell on the server's machine.
OPERATOR: Final = "operator"


async def record(  # noqa: PLR0917 - who did what to what, as a sentence
    connection: Connection, principal: str, action: str, about: str, **fields: Any
) -> None:
    """Write an entry in the transaction that makes the change, so that neither is without the other.

    Args:
        connection: of that transaction.
        principal: who did it.
        action: a noun and a verb, such as ``token.create``.
        about: what it was done to.
        fields: with which values; never a secret.
    """
    await connection.execute(
        query("access.insert_audit"),
        {"principal": principal, "action": action, "object": about, "fields": Jsonb(fields)},
    )


async def list_audit(connection: Connection, *, before: int | None, limit: int) -> AuditPage:
    """Return a page of the tenant's audit, the newest first.

    Args:
        connection: of the tenant.
        before: only entries with a lower number.
        limit: of the page.
    """
    async with connection.cursor(row_factory=dict_row) as cursor:
        # One more says whether there is a next page.
        await cursor.execute(query("access.list_audit"), {"before": before, "limit": limit + 1})
        rows = await cursor.fetchall()
    entries = [AuditEntry(**row) for row in rows[:limit]]
    return AuditPage(
        entries=entries, next_cursor=str(entries[-1].id) if len(rows) > limit else None
    )
