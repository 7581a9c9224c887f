"""Limits and usage: what a run of a project may keep, and what is kept."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from mapi.access.audit import record
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError
from mapi.series.budgets import UNLIMITED, merged_budgets, point_bytes
from mapi.wire.administration import ProjectBudget, UsageAnswer, UsageRow
from mapi.wire.enums import Budget, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mapi.access.rights import Principal
    from mapi.database.door import Connection

__all__ = ["changed_limits", "measure_usage", "merged_limits", "read_limits", "set_project_limits"]


async def read_limits(
    connection: Connection, project_id: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the tenant and the project say of their own, not merged."""
    cursor = await connection.execute(query("access.limits"), {"project": project_id})
    row = await cursor.fetchone()
    assert row is not None  # the tenant of the transaction
    return dict(row[0]), dict(row[1])


async def set_project_limits(
    connection: Connection,
    principal: Principal,
    *,
    project: tuple[int, str],
    changes: Mapping[Budget, int | str | None],
) -> None:
    """Change the limits of a project; an admin of it may, up to the tenant's own.

    Args:
        connection: of the tenant.
        principal: who asks.
        project: its number and name.
        changes: by budget; ``None`` goes back to the tenant's.

    Raises:
        ForbiddenError: the principal is no admin of the project.
        InvalidError: a limit is above the tenant's.
    """
    project_id, name = project
    principal.require(Scope.ADMIN, project_id)
    tenant, own = await read_limits(connection, project_id)
    most = merged_budgets(tenant).to_json()
    for budget, limit in changes.items():
        if limit is not None and _is_above(limit, most[budget.value]):
            raise InvalidError(
                Fault(
                    f"/tracking/{budget.value}",
                    f"{limit} is above the tenant's {most[budget.value]}; the operator raises that "
                    "with `mapi admin limits`",
                )
            )
    merged = changed_limits(own, changes)
    await connection.execute(
        query("access.set_project_limits"), {"project": project_id, "limits": Jsonb(merged)}
    )
    await record(connection, principal.name, "limits.set", name, limits=merged)


def changed_limits(
    own: Mapping[str, Any], changes: Mapping[Budget, int | str | None]
) -> dict[str, Any]:
    """Return limits with changes; ``None`` takes one away."""
    merged = {**own, **{budget.value: limit for budget, limit in changes.items()}}
    return {budget: limit for budget, limit in merged.items() if limit is not None}


def merged_limits(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return what holds when each layer says otherwise than the ones before."""
    return dict(merged_budgets(*layers).to_json())


def _is_above(limit: int | str, most: int | str) -> bool:
    if most == UNLIMITED:
        return False
    return limit == UNLIMITED or int(limit) > int(most)


async def measure_usage(connection: Connection) -> UsageAnswer:
    """Return what the visible projects keep, and how near their runs are to their budgets."""
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("access.usage"))
        rows = await cursor.fetchall()
        await cursor.execute(query("access.budget_use"))
        budgets = {row["project"]: _budgets(row) for row in await cursor.fetchall()}
    return UsageAnswer(
        projects=[
            UsageRow(
                project=row["project"],
                runs=row["runs"],
                rows={name: row[name] for name in ("points", "series", "log_lines", "spans")},
                size_bytes={
                    "points": point_bytes(row["points"], compacted=row["compacted_points"]),
                    "log_lines": row["log_bytes"],
                    "spans": row["span_bytes"],
                    "media": row["media_bytes"],
                },
                media_items=row["media_items"],
                media_bytes=row["media_bytes"],
                budgets=budgets[row["project"]],
            )
            for row in rows
        ],
        measured=datetime.now(UTC),
    )


def _budgets(row: Mapping[str, Any]) -> dict[Budget, ProjectBudget]:
    limits = merged_limits(row["tenant_limits"], row["project_limits"])
    dropped = row["dropped"]
    none = {"items": 0, "runs": 0}
    return {
        budget: ProjectBudget(
            # Of one series or one item nobody has counted the most.
            used=row.get(budget.value),
            limit=limits[budget.value],
            dropped=dropped.get(budget.value, none)["items"],
            full_runs=dropped.get(budget.value, none)["runs"],
        )
        for budget in Budget
    }
