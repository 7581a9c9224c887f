"""``/v1/audit``: who changed what."""

from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from mapi.access.audit import list_audit
from mapi.access.rights import Principal
from mapi.api.rights import RIGHT
from mapi.database.door import Database
from mapi.errors import Fault, InvalidError
from mapi.wire.administration import AuditPage
from mapi.wire.enums import Scope

__all__ = ["read"]

_LIMIT_MAX = 500
_INT64_DIGITS = 18


@get("/v1/audit", opt={RIGHT: Scope.ADMIN}, summary="Read the audit")
async def read(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    limit: Annotated[int, QueryParameter(ge=1, le=_LIMIT_MAX)] = 50,
    cursor: FromQuery[str | None] = None,
) -> Response[AuditPage]:
    """Return who changed rights, tokens, members and limits, the newest first."""
    request.user.require(Scope.ADMIN)
    if cursor is not None and not (
        cursor.isascii() and cursor.isdigit() and len(cursor) <= _INT64_DIGITS
    ):
        raise InvalidError(Fault("/query/cursor", "this is no cursor of this list"))
    async with database.transaction(request.user.reach) as connection:
        page = await list_audit(
            connection, before=None if cursor is None else int(cursor), limit=limit
        )
    headers = {}
    if page.next_cursor is not None:
        following = f"/v1/audit?limit={limit}&cursor={page.next_cursor}"
        headers["Link"] = f'<{following}>; rel="next"'
    return Response(page, headers=headers)
