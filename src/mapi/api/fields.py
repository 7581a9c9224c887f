"""``GET /v1/runs/fields``: what a filter can name, for completion."""

from typing import Annotated, Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from mapi.access.rights import Principal
from mapi.api.rights import RIGHT
from mapi.database.door import Database
from mapi.tracking.fields import list_fields
from mapi.tracking.runs import resolve_project
from mapi.wire.enums import Scope
from mapi.wire.runs import RunFields

__all__ = ["read"]


@get("/v1/runs/fields", opt={RIGHT: Scope.READ}, summary="What a filter can name")
async def read(  # noqa: PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    project: FromQuery[str | None] = None,
    prefix: Annotated[str, QueryParameter(max_length=250)] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
) -> RunFields:
    """Return the keys, labels, params, tags, attributes and experiments that begin with a prefix."""
    async with database.transaction(request.user.reach) as connection:
        project_id = await resolve_project(
            connection, request.user, project, pointer="/query/project"
        )
        request.user.require(Scope.READ, project_id)
        return await list_fields(connection, project_id, prefix=prefix, limit=limit)
