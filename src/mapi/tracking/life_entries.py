"""What happened in the life of a run: changes of its head, which the database writes down, warnings, and prunings.

An answer tells it to people; a line of an export has what is known of it, for an import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from psycopg.rows import dict_row

from mapi.access.identifiers import EXPERIMENT, text_from_uuid
from mapi.database.queries import query
from mapi.series.prunings import pruned_text
from mapi.wire.enums import LifeKind, WarningCode
from mapi.wire.exchange import LifeLine
from mapi.wire.runs import LifeEntry, RunLife

if TYPE_CHECKING:
    from mapi.database.door import Connection

__all__ = ["life_line", "read_life"]


async def read_life(connection: Connection, run_id: UUID, *, after: int, limit: int) -> RunLife:
    """Return a page of what happened, oldest first.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        after: only entries with a higher number.
        limit: of the page.
    """
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            query("life.list"),
            {
                "run": run_id,
                "after": after,
                # What a newer version writes down is passed over.
                "kinds": [kind.value for kind in LifeKind],
                "codes": [code.value for code in WarningCode],
                "limit": limit + 1,
            },
        )
        rows = await cursor.fetchall()
    return RunLife(entries=[_entry(row) for row in rows[:limit]], is_complete=len(rows) <= limit)


def _entry(row: dict[str, Any]) -> LifeEntry:
    kind, fields = LifeKind(row["type"]), row["fields"]
    found = LifeEntry(id=row["id"], time=row["time"], kind=kind, user=row["user"])
    match kind:
        case LifeKind.WARNING:
            found.code = WarningCode(row["code"])
            found.message = row["message"]
            found.counts = fields.get("counts", {})
        case LifeKind.MOVED:
            found.before, found.after = map(_experiment, (fields.get("from"), fields.get("to")))
        case LifeKind.STATUS | LifeKind.RENAMED:
            found.before, found.after = fields.get("from"), fields.get("to")
            found.reason = fields.get("reason")
        case LifeKind.PRUNED:
            found.counts, found.days = fields["counts"], fields["days"]
            found.message = pruned_text(found.counts)
            days = "1 day" if found.days == 1 else f"{found.days} days"
            found.reason = f"ended more than {days} ago ({fields['rule']})"
        case LifeKind.TRASHED | LifeKind.RESTORED:
            pass
    return found


def life_line(run: str, row: dict[str, Any]) -> LifeLine:
    """Return an entry as an export has it.

    Args:
        run: the run's id.
        row: of `run_events`.
    """
    kind, fields = LifeKind(row["kind"]), row["fields"]
    before, after = fields.get("from"), fields.get("to")
    if kind is LifeKind.MOVED:
        before, after = _experiment(before), _experiment(after)
    return LifeLine(
        run=run,
        id=row["id"],
        time=row["time"],
        kind=kind,
        user=row["user"],
        before=before,
        after=after,
        reason=fields.get("reason") if kind is LifeKind.STATUS else None,
        code=None if row["code"] is None else WarningCode(row["code"]),
        message=row["message"],
        counts=fields.get("counts", {}),
        days=fields.get("days"),
        rule=fields.get("rule"),
    )


def _experiment(number: str | None) -> str | None:
    return None if number is None else text_from_uuid(EXPERIMENT, UUID(number))
