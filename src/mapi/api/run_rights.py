"""From the id in an address to a run that the caller may do something with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.tracking.runs import project_of

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection
    from mapi.wire.enums import Scope

__all__ = ["find_run"]


async def find_run(
    connection: Connection, principal: Principal, text: str, *, scope: Scope
) -> tuple[UUID, int]:
    """Return the number of a run and its project's.

    Args:
        connection: a transaction of the principal's reach.
        principal: who asks.
        text: the run's id.
        scope: what is to be done with it.

    Raises:
        NotFoundError: there is no such run for the principal.
        ForbiddenError: it is known to the principal, who may not do this.
    """
    run_id = uuid_from_text(RUN, text)
    project_id = await project_of(connection, run_id)
    principal.require(scope, project_id, what="run")
    return run_id, project_id
