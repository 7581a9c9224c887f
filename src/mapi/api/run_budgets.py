"""``/v1/runs/{id}/budgets``: how much of each budget a run has used."""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.rights import RIGHT
from mapi.database.door import Database
from mapi.tracking.allowances import read_run_budgets
from mapi.wire.administration import RunBudgets
from mapi.wire.enums import Scope

__all__ = ["read"]


@get("/v1/runs/{run:str}/budgets", opt={RIGHT: Scope.READ}, summary="Read the budgets of a run")
async def read(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> RunBudgets:
    """Return what the run has used of each budget, how much it may, and what was dropped."""
    run_id = uuid_from_text(RUN, run)
    async with database.transaction(request.user.reach) as connection:
        return await read_run_budgets(connection, run_id, principal=request.user)
