"""Which rows of the database the series of a batch are, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mapi.database.arrays import IntArray
from mapi.database.queries import query
from mapi.series.names import labels_hash
from mapi.tracking.summaries import labels_json

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.attempts import Newest
    from mapi.tracking.batch import PointBatch, Series
    from mapi.tracking.writing import Sender, Writing

__all__ = ["Resolved", "ask_for_series", "count_points", "make_series", "resolve"]

_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is known of the series of a batch; the arrays have one item a series."""

    ids: _Ints
    """The database's number of the series in the batch's attempt; 0 where there is none yet."""
    sealed_steps: _Ints
    """Steps up to here were deleted by age, and count as known; -1 where none were."""
    other_attempts: _Ints
    """How many other attempts wrote the series."""
    summary_attempts: _Ints
    """The newest attempt in the summary; 0 where there is none."""
    last_steps: _Ints
    """The highest step of the summary."""
    counts: _Ints
    """Points in the summary."""

    def of(self, index: _Ints) -> Resolved:
        """Return what is known of some of the series."""
        return Resolved(
            self.ids[index],
            self.sealed_steps[index],
            self.other_attempts[index],
            self.summary_attempts[index],
            self.last_steps[index],
            self.counts[index],
        )

    @property
    def is_known(self) -> _Bools:
        """Whether any attempt has written the series."""
        return (self.ids > 0) | (self.other_attempts > 0)

    def is_mergeable(self, first_steps: _Ints, newest: Newest) -> _Bools:
        """Say of which series new points can be added to the summary as they are.

        Args:
            first_steps: the lowest new step in each series.
            newest: the attempt that writes; an older one never merges.
        """
        is_alone = self.other_attempts == 0
        # A runner's attempt begins anew with each series; a continuation adds to what is there, and
        # may write a step that an older attempt wrote.
        if newest.begins_anew:
            is_beside = self.summary_attempts == newest.number
        else:
            is_beside = first_steps > self.last_steps
        found: _Bools = is_alone | (self.summary_attempts == 0) | is_beside
        return found


async def ask_for_series(
    connection: Connection, run_id: UUID, series: list[Series], *, sender: Sender
) -> Any:
    """Ask what is known of series; the answer is for `resolve`."""
    return await connection.execute(
        query("points.find_series"),
        {
            "run": run_id,
            "attempt": sender.attempt,
            "stream": sender.stream,
            "rank": sender.rank,
            "keys": [one.key for one in series],
            "hashes": [labels_hash(one.labels) for one in series],
        },
        binary=True,
    )


async def resolve(asked: Any) -> Resolved:
    """Return what `ask_for_series` asked for."""
    rows = await asked.fetchall()
    found = np.array(
        [
            (row[1] or 0, -1 if row[2] is None else row[2], row[3], row[4], row[5], row[6])
            for row in rows
        ],
        dtype=np.int64,
    ).reshape(len(rows), 6)
    return Resolved(*found.T)


async def make_series(
    writing: Writing, batch: PointBatch, resolved: Resolved, *, attempt: int
) -> int:
    """Make the series that have points and no number yet; they have one then.

    Returns:
        How many of them no attempt has written before.
    """
    index = np.unique(batch.index)
    missing = index[resolved.ids[index] == 0]
    if not len(missing):
        return 0
    made = int((~resolved.is_known[missing]).sum())
    series = [batch.series[at] for at in missing.tolist()]
    cursor = await writing.connection.execute(
        query("points.make_series"),
        {
            **writing.about,
            "attempt": attempt,
            "keys": [one.key for one in series],
            "hashes": [labels_hash(one.labels) for one in series],
            "labels": [labels_json(one) for one in series],
        },
    )
    resolved.ids[missing] = [row[0] for row in await cursor.fetchall()]
    return made


async def count_points(connection: Connection, series_ids: _Ints) -> _Ints:
    """Return how many points each series has."""
    sizes = np.zeros(len(series_ids), dtype=np.int64)
    cursor = await connection.execute(
        query("points.count_sizes"), {"series": IntArray(series_ids)}, binary=True
    )
    for at, count in await cursor.fetchall():
        sizes[at] = count
    return sizes
