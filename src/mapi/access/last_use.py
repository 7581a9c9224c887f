"""When a token was last used, without a write for each request.

The times are kept in memory and written once in a while: after a crash the last minute of them is
missing, which nobody decides anything by.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mapi.database.door import Reach
from mapi.database.queries import query

if TYPE_CHECKING:
    from mapi.access.rights import Principal
    from mapi.database.door import Database

__all__ = ["WRITE_SECONDS", "LastUses"]

#: How old the time in the database may be.
WRITE_SECONDS: Final = 60.0


class LastUses:
    """The uses since the last write."""

    def __init__(self) -> None:
        self._used: dict[int, dict[str, datetime]] = defaultdict(dict)

    def note(self, principal: Principal) -> None:
        """Remember that the principal's token was used now."""
        self._used[principal.tenant_id][principal.token_id] = datetime.now(UTC)

    async def write(self, database: Database) -> None:
        """Write what was noted, tenant by tenant."""
        used, self._used = self._used, defaultdict(dict)
        for tenant_id, times in used.items():
            ids = sorted(times)
            async with database.transaction(Reach(tenant_id)) as connection:
                # In one order: two replicas stamp the same tokens.
                await connection.execute(
                    query("access.stamp_use"), {"ids": ids, "times": [times[one] for one in ids]}
                )
