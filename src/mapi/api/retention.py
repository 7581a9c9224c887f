"""``/v1/retention``: how long what is kept, and what goes for its age now."""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency

from mapi.access.rights import Principal
from mapi.api.entrance import Entrance
from mapi.api.rights import RIGHT
from mapi.database.door import Database, Reach
from mapi.tracking.foreseeing import read_retention
from mapi.wire.administration import RetentionAnswer
from mapi.wire.enums import Scope

__all__ = ["read"]


@get("/v1/retention", opt={RIGHT: Scope.ADMIN}, summary="Read what retention keeps and deletes")
async def read(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    entrance: NamedDependency[Entrance],
) -> RetentionAnswer:
    """Return how long what is kept, what each rule keeps, and what a pass would delete now.

    It deletes nothing. It tells of the projects that you are an admin of.
    """
    principal = request.user
    projects = principal.projects_with(Scope.ADMIN)
    # What is seen besides is seen by its viewer, and retention is told to admins.
    reach = Reach(
        principal.tenant_id, None if projects is None else tuple(projects), user=principal.name
    )
    return await read_retention(database, reach, retention=entrance.retention)
