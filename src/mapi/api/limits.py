"""``/v1/limits``, ``/v1/usage``: what may be kept, and what is."""

from typing import Any

from litestar import Request, get, put
from litestar.di import NamedDependency
from litestar.params import FromQuery

from mapi.access.limits import measure_usage, merged_limits, read_limits, set_project_limits
from mapi.access.projects import find_project
from mapi.access.rights import Principal
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.errors import ForbiddenError
from mapi.wire.administration import LimitsAnswer, LimitsBody, UsageAnswer
from mapi.wire.decoding import BATCH_BYTES_MAX, BODY_BYTES_MAX, DEPTH_MAX, decode
from mapi.wire.enums import Scope
from mapi.wire.metrics import POINTS_MAX
from mapi.wire.notes import LOG_LINES_MAX, SPANS_MAX

__all__ = ["read", "usage", "write"]

_REQUESTS = {
    "body_bytes": BODY_BYTES_MAX,
    "batch_bytes": BATCH_BYTES_MAX,
    "json_depth": DEPTH_MAX,
    "points": POINTS_MAX,
    "log_lines": LOG_LINES_MAX,
    "spans": SPANS_MAX,
}


@get("/v1/limits", opt={RIGHT: Scope.READ}, summary="Read limits")
async def read(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    project: FromQuery[str | None] = None,
) -> LimitsAnswer:
    """Return what a run of the project may keep; without one, of a project without its own limits."""
    async with database.transaction(request.user.reach) as connection:
        return await _answer(connection, await _project(connection, request.user, project))


@put("/v1/limits", opt={RIGHT: Scope.ADMIN, BODY: LimitsBody}, summary="Set limits of a project")
async def write(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> LimitsAnswer:
    """Change a project's limits, up to the tenant's, which the operator sets."""
    body = await read_body(request, bytes_max=BODY_BYTES_MAX)
    sent = decode(body, LimitsBody, bytes_max=BODY_BYTES_MAX)
    name = sent.project
    if name is None:
        raise ForbiddenError(
            "The tenant's own limits are set by the operator, with `mapi admin limits`; name a "
            "project."
        )

    async def work(connection: Connection) -> LimitsAnswer:
        project_id = await find_project(connection, name, pointer="/project")
        await set_project_limits(
            connection, request.user, project=(project_id, name), changes=sent.tracking
        )
        return await _answer(connection, project_id)

    return await database.run(request.user.reach, work)


@get("/v1/usage", opt={RIGHT: Scope.READ}, summary="Read usage")
async def usage(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> UsageAnswer:
    """Return rows and bytes by kind of the projects that you see, and how each stands with its budgets."""
    async with database.transaction(request.user.reach) as connection:
        return await measure_usage(connection)


async def _project(connection: Connection, principal: Principal, name: str | None) -> int | None:
    if name is None:
        return principal.project_id
    return await find_project(connection, name, pointer="/query/project")


async def _answer(connection: Connection, project_id: int | None) -> LimitsAnswer:
    tenant, project = await read_limits(connection, project_id)
    return LimitsAnswer(tracking=merged_limits(tenant, project), requests=_REQUESTS)
