"""The lines of an imported file that tell of points which retention deleted where the run was before.

There are no points to count, so what such a line says is taken as it stands. It must be what a
summary can be, since summaries are added to, sorted by and divided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import structs

from mapi.database.queries import query
from mapi.series.budgets import Drops
from mapi.series.names import canonical_labels, labels_hash
from mapi.tracking.batch import HUGE, Series
from mapi.tracking.full_names import keep_names
from mapi.tracking.ingest import open_batch
from mapi.tracking.summaries import labels_json, rebuild
from mapi.tracking.writing import Added, close_writing
from mapi.wire.enums import Budget

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.writing import Sender
    from mapi.wire.exchange import PrunedLine, PrunedSummary

__all__ = ["check_pruned", "write_pruned"]

#: What sums of floats may differ by, in parts of the sum, and the smallest that is lost by rounding.
_ROUNDING: Final = 1e-9
_SMALLEST: Final = 5e-324


def check_pruned(summary: PrunedSummary) -> tuple[str, str] | None:
    """Return which member of a summary cannot be, and why; ``None`` where all can."""
    finite = summary.count - summary.nonfinite_count
    low, high = summary.min_value or 0.0, summary.max_value or 0.0
    extremes = (summary.min_value, summary.min_step, summary.max_value, summary.max_step)
    total, huge = summary.finite_sum, summary.huge_sum
    room = finite * _SMALLEST
    least = min(low, 0.0) * finite * (1 + _ROUNDING) - room
    greatest = max(high, 0.0) * finite * (1 + _ROUNDING) + room
    rules = (
        (finite >= 0, "nonfinite_count", "more than there are points"),
        (summary.first_time <= summary.last_time, "first_time", "behind the last time"),
        (
            all((one is None) == (finite == 0) for one in extremes),
            "min_value",
            "the extremes and their steps are there with finite values, and only then",
        ),
        (low <= high, "min_value", "more than the maximum"),
        (
            least <= total <= greatest and abs(total) <= HUGE * finite,
            "finite_sum",
            f"{total} is no sum of {finite} values between the extremes",
        ),
        (
            (huge <= 0 or high >= HUGE) and (huge >= 0 or low <= -HUGE),
            "huge_sum",
            f"{huge} is the sum of values beyond {HUGE}, and there is none",
        ),
        (abs(huge) <= HUGE * finite, "huge_sum", f"{huge} is no sum of {finite} values"),
    )
    return next(((member, wrong) for is_kept, member, wrong in rules if not is_kept), None)


async def write_pruned(
    connection: Connection, run_id: UUID, line: PrunedLine, *, sender: Sender, is_imported: bool
) -> str | None:
    """Write what is known of points that are gone; of a series that is here nothing changes.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        line: what the file says.
        sender: who wrote the points, with the attempt.
        is_imported: the run was made by an import, this one or one that was cut.

    Returns:
        What is told if the run's budget had no room for the series.
    """
    series = Series(line.key, canonical_labels(line.labels), line.name)
    opened = await open_batch(connection, run_id, [series], sender=sender)
    resolved, writing = opened.resolved, opened.writing
    if resolved.ids[0] > 0 or (resolved.counts[0] > 0 and not is_imported):
        return None
    is_known = bool(resolved.is_known[0])
    limit = writing.budgets.series
    if not is_known and limit is not None and writing.usage.series >= limit:
        return await close_writing(writing, Added(), drops=Drops.of({Budget.SERIES: 1}))
    about = {**writing.about, "key": series.key, "hash": labels_hash(series.labels)}
    attempt = opened.attempt.number
    cursor = await connection.execute(
        query("points.make_series"),
        {
            **about,
            "attempt": attempt,
            "keys": [series.key],
            "hashes": [about["hash"]],
            "labels": [labels_json(series)],
        },
    )
    (series_id,) = await cursor.fetchone() or (0,)
    await keep_names(connection, run_id, [series])
    await connection.execute(
        query("importing.seal_series"), {"series": series_id, "last_step": line.last_step}
    )
    if line.summary is not None:
        known = structs.asdict(line.summary)
        await connection.execute(
            query("importing.insert_pruned"),
            {
                **about,
                **known,
                "last_value": float(line.summary.last_value),
                "attempt": attempt,
                "series": series_id,
            },
        )
        await rebuild(writing, [series])
    return await close_writing(writing, Added(series=int(not is_known)))
