"""The notice that rights have changed: whoever streams to a reader asks at once whether it may read.

A notice makes commits wait for each other, which runs could not afford; rights change seldom, so it
is part of the transaction that changes them, and goes out if and only if that commits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mapi.database.queries import query

if TYPE_CHECKING:
    from mapi.database.door import Connection

__all__ = ["CHANGES_CHANNEL", "tell_of_rights"]

#: What replicas listen on, for this notice and for those of runs.
CHANGES_CHANNEL: Final = "mapi_changes"


async def tell_of_rights(connection: Connection) -> None:
    """Wake the streams of the transaction's tenant when it commits."""
    await connection.execute(query("access.notify_rights"), {"channel": CHANGES_CHANNEL})
