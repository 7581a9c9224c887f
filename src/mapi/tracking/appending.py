"""The short way of points into the log: one statement, for a batch that only adds.

Such a batch lies behind everything that is known of its series, and no budget can touch it: nearly
every batch of a run that logs as it goes. The database tells by the summaries, under the lock of
the run's row, and does all of it or nothing; then the batch goes the long way (`mapi.tracking.ingest`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mapi.database.arrays import FloatArray, IntArray, TextArray, TimeArray
from mapi.database.queries import query
from mapi.series.budgets import Budgets
from mapi.series.names import labels_hash
from mapi.tracking.batch import summary_parts
from mapi.tracking.summaries import labels_json
from mapi.tracking.writing import WRITERS_MAX, Counts

if TYPE_CHECKING:
    from uuid import UUID

    from psycopg.rows import TupleRow

    from mapi.database.door import Connection, Database, Reach
    from mapi.tracking.batch import PointBatch
    from mapi.tracking.writing import Sender

__all__ = ["Append"]

_STANDARD: Final = Budgets()


@dataclass(frozen=True, slots=True)
class Append:
    """One batch and where it goes."""

    run_id: UUID
    batch: PointBatch
    """Sorted, each step of a series once, at least one point."""
    sender: Sender

    async def alone(self, database: Database, reach: Reach) -> Counts | None:
        """Append in a transaction of its own; ``None`` if the batch has to go the long way."""
        row = await database.call(query("points.append"), self._parameters() | reach.for_call())
        return self._counts(row)

    async def within(self, connection: Connection) -> Counts | None:
        """Append in an open transaction; ``None`` if the batch has to go the long way."""
        cursor = await connection.execute(query("points.append"), self._parameters(), binary=True)
        return self._counts(await cursor.fetchone())

    def _counts(self, row: TupleRow | None) -> Counts | None:
        is_done, accepted_seq = row or (False, None)
        return Counts(accepted=len(self.batch), accepted_seq=accepted_seq) if is_done else None

    def _parameters(self) -> dict[str, Any]:
        batch, sender = self.batch, self.sender
        parts = summary_parts(batch)
        series = [batch.series[at] for at in parts.index.tolist()]
        principal = sender.principal
        # Where in `parts` the series of a point stands, from 1: the points are sorted by it.
        places = (batch.index[1:] != batch.index[:-1]).cumsum()
        return {
            "tenant": None,
            "projects": None,
            "user": None,
            "writable": None if principal is None else principal.projects_with(sender.scope),
            "run": self.run_id,
            "source": sender.source.value,
            "stream": sender.stream,
            "rank": sender.rank,
            "attempt": sender.attempt,
            "writer": None if sender.seq is None else sender.writer,
            "seq": sender.seq,
            "writers_max": WRITERS_MAX,
            "standard_points": _STANDARD.points,
            "standard_per_series": _STANDARD.points_per_series,
            "standard_series": _STANDARD.series,
            "keys": TextArray([one.key for one in series]),
            "hashes": IntArray(
                np.array([labels_hash(one.labels) for one in series], dtype=np.int64)
            ),
            "labels": TextArray([labels_json(one) for one in series]),
            "counts": IntArray(parts.counts),
            "nonfinites": IntArray(parts.nonfinite_counts),
            "first_times": TimeArray(parts.first_times_us),
            "last_times": TimeArray(parts.last_times_us),
            "first_steps": IntArray(parts.first_steps),
            "last_steps": IntArray(parts.last_steps),
            "last_values": FloatArray(parts.last_values),
            "min_values": FloatArray(parts.min_values),
            "min_steps": IntArray(parts.min_steps),
            "max_values": FloatArray(parts.max_values),
            "max_steps": IntArray(parts.max_steps),
            "finite_sums": FloatArray(parts.finite_sums),
            "places": IntArray(np.concatenate(([1], places + 1))),
            "steps": IntArray(batch.steps),
            "times": TimeArray(batch.times_us),
            "values": FloatArray(batch.values),
        }
