"""The end of a project: it is closed, so that it takes no new runs, emptied, and deleted.

Nothing is left behind: points have no foreign key, so a run goes by `purge_run` and never with its
project.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mapi.database.queries import query
from mapi.errors import NotFoundError
from mapi.tracking.freed import Freed
from mapi.tracking.retention import purge_run

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection, Database, Reach
    from mapi.objects.store import ObjectStore

__all__ = ["delete_project"]

#: Runs of one look: a look is short, and there is another one behind it.
_LOOK_MAX: Final = 200


async def delete_project(
    database: Database,
    store: ObjectStore,
    reach: Reach,
    *,
    project_id: int,
    principal: Principal,
) -> Freed:
    """Delete a project for good: it takes no new runs, its runs go one by one, then what is left of it.

    Whoever stops it in between finds the project closed, with fewer runs, and can go on.
    """
    about = {"project": project_id, "limit": _LOOK_MAX}

    async def close(connection: Connection) -> None:
        await connection.execute(query("retention.close_project"), about)

    async def look(connection: Connection) -> list[UUID]:
        """Return some of its runs; without any the project is gone."""
        await connection.execute(query("retention.take_time"))
        # A run of a request that had found the project before it was closed may come until then.
        # Behind the lock there is none, and the points of a run that goes with its project stay.
        await connection.execute(query("retention.lock_project"), about)
        cursor = await connection.execute(query("retention.runs_of_project"), about)
        found = [run_id for (run_id,) in await cursor.fetchall()]
        if not found:
            await connection.execute(query("retention.delete_project"), about)
        return found

    await database.run(reach, close)
    total = Freed()
    while found := await database.run(reach, look):
        for run_id in found:
            # Others delete runs too.
            with suppress(NotFoundError):
                total += await purge_run(
                    database, store, reach, run_id=run_id, principal=principal, trash_days=None
                )
    return total
