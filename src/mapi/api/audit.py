"""``/v1/audit``: who changed what."""

from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from mapi.access.audit import list_audit
from mapi.access.cursors import Cursors
from mapi.access.rights import Principal
from mapi.api.links import next_link
from mapi.api.rights import RIGHT
from mapi.database.door import Database
from mapi.wire.administration import AuditPage
from mapi.wire.enums import Scope

__all__ = ["read"]

_LIMIT_MAX = 500


@get("/v1/audit", opt={RIGHT: Scope.ADMIN}, summary="Read the audit")
async def read(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    cursors: NamedDependency[Cursors],
    limit: Annotated[int, QueryParameter(ge=1, le=_LIMIT_MAX)] = 50,
    cursor: FromQuery[str | None] = None,
) -> Response[AuditPage]:
    """Return who changed rights, tokens, members and limits, the newest first."""
    request.user.require(Scope.ADMIN)
    question = {"route": "audit", "tenant": request.user.tenant_id}
    before = None if cursor is None else cursors.read(cursor, question)["before"]
    async with database.transaction(request.user.reach) as connection:
        entries, end = await list_audit(connection, before=before, limit=limit)
    if end is None:
        return Response(AuditPage(entries=entries))
    following = cursors.write(question, {"before": end})
    return Response(
        AuditPage(entries=entries, next_cursor=following),
        headers={"Link": next_link(request, following)},
    )
