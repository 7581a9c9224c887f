"""Objects that rows have let go of: deleted behind the transaction, but not under a backup.

A backup copies the objects that the rows of its snapshot name, and that takes a while. So it holds a
turn meanwhile, and what is let go of under it stays until `mapi.tracking.leftovers` collects it. The
order keeps it sound: whoever sees no backup behind the end of the transaction that let go may
delete, for a backup that begins after that does not see the rows either.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import psycopg

from mapi.database.queries import query
from mapi.errors import MapiError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mapi.database.door import Database
    from mapi.objects.store import ObjectStore

__all__ = ["BACKUP_TURN", "delete_object", "is_backed_up", "let_go"]

_logger: Final = logging.getLogger("mapi.tracking")
#: Held by whoever writes a backup.
BACKUP_TURN: Final = "backup"


async def let_go(database: Database, store: ObjectStore, keys: Iterable[str]) -> None:
    """Delete objects whose rows are gone; what stays is collected later.

    Args:
        database: says whether a backup is being written.
        store: has the objects.
        keys: of the objects; the transaction that let go of them has ended.
    """
    wanted = list(keys)
    if not wanted or await is_backed_up(database):
        return
    for key in wanted:
        await delete_object(store, key)


async def delete_object(store: ObjectStore, key: str) -> bool:
    """Delete an object that no row has; say whether that was done. One that stays is collected later."""
    try:
        await store.delete(key)
    except MapiError as error:
        _logger.warning("the object %r was not deleted, and is collected later: %s", key, error)
        return False
    return True


async def is_backed_up(database: Database) -> bool:
    """Say whether a backup is being written; where nobody can say, one may be."""
    try:
        async with database.outside() as connection:
            cursor = await connection.execute(query("turns.is_taken"), {"name": BACKUP_TURN})
            (is_taken,) = await cursor.fetchone() or (True,)
    except (MapiError, psycopg.Error):
        return True
    return bool(is_taken)
