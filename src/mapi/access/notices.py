"""Notices that belong to a change: rights, a project as a whole, a run that is gone.

A notice makes commits wait for each other, which the writes of runs could not afford
(`mapi.tracking.changes` sends theirs apart). What is here changes seldom, so the notice is part of
the transaction that makes the change, and goes out if and only if that commits, whoever made it: a
request, a command, a job. The end of a run is told so too, by the database (`mapi.tell_of_end`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from psycopg.types.json import Jsonb

from mapi.database.queries import query

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection

__all__ = ["CHANGES_CHANNEL", "tell_of_deletion", "tell_of_project", "tell_of_rights"]

#: What replicas listen on, for these notices and for those of runs.
CHANGES_CHANNEL: Final = "mapi_changes"


async def tell_of_rights(connection: Connection) -> None:
    """Let every stream of the transaction's tenant ask again whether its reader may read."""
    await _tell(connection, rights=True)


async def tell_of_project(connection: Connection, project_id: int) -> None:
    """Let whoever follows a project, or a run of it, look what has changed."""
    await _tell(connection, project=project_id)


async def tell_of_deletion(connection: Connection, project_id: int, run_id: UUID) -> None:
    """Let whoever follows a run, or its project, know that it is gone for good."""
    await _tell(connection, project=project_id, run=str(run_id), is_deleted=True)


async def _tell(connection: Connection, **content: object) -> None:
    await connection.execute(
        query("access.notify"), {"channel": CHANGES_CHANNEL, "content": Jsonb(content)}
    )
