"""What retention has deleted of a run: entered into its life, and told wherever it is missing.

A summary outlives its points, and a curve that is empty or begins late looks like one that was
never logged. So every answer that could be taken for the whole says what is gone of it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from mapi.database.queries import query
from mapi.series.names import labels_hash
from mapi.series.prunings import PRUNED
from mapi.wire.metrics import PrunedPoints
from mapi.wire.runs import Pruned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.batch import Series
    from mapi.tracking.curves import CurvePart, Stretch
    from mapi.tracking.freed import Freed

__all__ = [
    "MEDIA_RULE",
    "TRACKING_RULE",
    "enter_pruning",
    "pruned_from_json",
    "pruned_from_row",
    "pruned_points",
    "read_pruned",
]

#: The settings that say after how many days points, spans and lines go, and media.
TRACKING_RULE: Final = "MAPI_TRACKING_RETENTION_DAYS"
MEDIA_RULE: Final = "MAPI_MEDIA_RETENTION_DAYS"


async def enter_pruning(  # noqa: PLR0913 - what an entry says
    connection: Connection,
    run_id: UUID,
    taken: Freed,
    *,
    rule: str,
    days: int,
    change_seq: int,
    pass_id: str | None = None,
) -> None:
    """Write into the life of a run what was deleted of it.

    Args:
        connection: the transaction that deletes it and has locked the run.
        run_id: the run.
        taken: what was deleted.
        rule: the setting that asks for it.
        days: how long ago the run had ended at least.
        change_seq: the change of the run that this is.
        pass_id: of work in portions, all of which make one entry.
    """
    await connection.execute(
        query("retention.enter_pruning"),
        {
            "run": run_id,
            "rule": rule,
            "days": days,
            "change_seq": change_seq,
            "pass": pass_id,
            **{name: getattr(taken, name) for name in PRUNED},
        },
    )


async def read_pruned(connection: Connection, run_id: UUID) -> Pruned | None:
    """Return what retention has deleted of a run in all; ``None`` where that is nothing."""
    cursor = await connection.execute(query("retention.read_pruned"), {"run": run_id})
    row = await cursor.fetchone()
    return None if row is None else pruned_from_json(row[0])


def pruned_from_json(stored: Mapping[str, Any] | None) -> Pruned | None:
    """Return what the head of a run says of what was deleted."""
    if stored is None:
        return None
    time = datetime.fromisoformat(stored["time"]).astimezone(UTC)
    return Pruned(**{**stored, "time": time})


def pruned_from_row(row: Mapping[str, Any]) -> PrunedPoints | None:
    """Return what a row with the summary of a series says of points that are gone."""
    if row["pruned_count"] is None:
        return None
    return PrunedPoints(count=row["pruned_count"], last_step=row["pruned_last_step"])


async def pruned_points(
    connection: Connection,
    run_id: UUID,
    series: Series,
    *,
    parts: Sequence[CurvePart],
    attempt: int | None,
    stretch: Stretch,
) -> PrunedPoints | None:
    """Return what retention has deleted of a curve; ``None`` where no step of it was in the range.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        series: its key and labels.
        parts: the attempts that wrote it.
        attempt: the one that is asked for; ``None`` is the default reading.
        stretch: the steps that are asked for.
    """
    sealed = [one.sealed for one in parts if one.sealed is not None]
    if not sealed:
        return None
    if attempt is not None:
        found = PrunedPoints(count=None, last_step=max(sealed))
    else:
        cursor = await connection.execute(
            query("retention.read_pruned_points"),
            {"run": run_id, "key": series.key, "hash": labels_hash(series.labels)},
        )
        row = await cursor.fetchone()
        if row is None:
            # What an attempt that began anew has taken the place of.
            return None
        found = PrunedPoints(count=row[0], last_step=row[1])
    return found if stretch.meets_steps_to(found.last_step) else None
