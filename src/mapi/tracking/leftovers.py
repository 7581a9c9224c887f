"""Objects that no row has: uploads that were never recorded, and what a killed process left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from mapi.database.door import Reach
from mapi.database.queries import query
from mapi.tracking.letting_go import delete_object, is_backed_up

if TYPE_CHECKING:
    from mapi.database.door import Database
    from mapi.objects.store import ObjectHead, ObjectStore

__all__ = ["collect_leftovers"]

#: Nothing is on its way for as long: an upload's permit lasts a quarter of an hour.
_AGE: Final = timedelta(days=1)
#: Keys that one question asks for.
_ASKED_MAX: Final = 500


async def collect_leftovers(
    database: Database, store: ObjectStore, *, age: timedelta = _AGE
) -> tuple[int, int]:
    """Delete the objects of media and uploads that are older than ``age`` and that no row has.

    Returns:
        How many, and their bytes.
    """
    before = datetime.now(UTC) - age
    count = size_bytes = 0
    async for head in store.heads("uploads"):
        if head.modified < before and await delete_object(store, head.key):
            count, size_bytes = count + 1, size_bytes + head.size_bytes
    old: dict[int, list[ObjectHead]] = {}
    async for head in store.heads("media"):
        tenant = head.key.split("/")[1]
        if head.modified >= before or not tenant.isdigit():
            continue
        asked = old.setdefault(int(tenant), [])
        asked.append(head)
        if len(asked) >= _ASKED_MAX:
            found = await _delete_unknown(
                database, store, tenant_id=int(tenant), heads=old.pop(int(tenant))
            )
            count, size_bytes = count + found[0], size_bytes + found[1]
    for tenant_id, heads in old.items():
        found = await _delete_unknown(database, store, tenant_id=tenant_id, heads=heads)
        count, size_bytes = count + found[0], size_bytes + found[1]
    return count, size_bytes


async def _delete_unknown(
    database: Database, store: ObjectStore, *, tenant_id: int, heads: list[ObjectHead]
) -> tuple[int, int]:
    async with database.transaction(Reach(tenant_id)) as connection:
        cursor = await connection.execute(
            query("retention.known_objects"), {"keys": [head.key for head in heads]}
        )
        known = {key for (key,) in await cursor.fetchall()}
    gone = [head for head in heads if head.key not in known]
    # What was let go of under a backup is there for it; see `mapi.tracking.letting_go`.
    if await is_backed_up(database):
        return 0, 0
    sizes = [head.size_bytes for head in gone if await delete_object(store, head.key)]
    return len(sizes), sum(sizes)
