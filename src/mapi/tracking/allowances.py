"""How much of its budgets a run has used, for whoever looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mapi.database.queries import query
from mapi.errors import NotFoundError
from mapi.series.budgets import UNLIMITED, Drops, merged_budgets
from mapi.wire.administration import BudgetUse, RunBudgets
from mapi.wire.enums import Budget, Scope

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection

__all__ = ["read_run_budgets"]

#: Of the run, in the order of the query; what is counted of one series or one item is no sum.
_COUNTED: Final = (
    Budget.SERIES,
    Budget.POINTS,
    Budget.LOG_LINES,
    Budget.LOG_BYTES,
    Budget.SPANS,
    Budget.SPAN_BYTES,
    Budget.MEDIA_ITEMS,
    Budget.MEDIA_BYTES,
    Budget.PARAMS,
    Budget.TAGS,
)


async def read_run_budgets(
    connection: Connection, run_id: UUID, *, principal: Principal
) -> RunBudgets:
    """Return what a run has used of each budget, and what budgets dropped.

    Raises:
        NotFoundError: there is no such run, or the principal may not see it.
    """
    cursor = await connection.execute(query("runs.read_budgets"), {"run": run_id})
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such run.")
    project_id, tenant, project, run, dropped, *counts = row
    principal.require(Scope.READ, project_id, what="run")
    limits = merged_budgets(tenant, project, run)
    counts_dropped = Drops.from_json(dropped).counts
    used = dict(zip(_COUNTED, counts, strict=True))
    return RunBudgets(
        budgets={
            budget: BudgetUse(
                used=used.get(budget),
                limit=UNLIMITED if (limit := limits.limit(budget)) is None else limit,
                dropped=counts_dropped.get(budget, 0),
            )
            for budget in Budget
        }
    )
