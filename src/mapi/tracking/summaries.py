"""The summary of each series: what search, sort and the heads of pages read instead of points.

It covers the default reading: one value a step, the newest attempt that wrote it and was not
superseded. Almost always a batch can be added to it; where a batch might stand beneath or on top of
other values, the summary is made again from the points.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from mapi.database.queries import query
from mapi.series.names import labels_hash
from mapi.tracking.batch import PointBatch, Series, summary_parts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from mapi.database.door import Connection

__all__ = ["Writing", "labels_json", "merge", "rebuild", "times"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Writing:
    """One batch on its way into the log of one run, whose row is locked."""

    connection: Connection
    run_id: UUID
    project_id: int
    attempt: int
    source: str
    change_seq: int
    """The change that this batch is."""
    newest_attempt: int
    """The highest attempt of the run; 0 where none was registered."""


async def merge(writing: Writing, batch: PointBatch, series_ids: npt.NDArray[np.int64]) -> None:
    """Add new points, sorted by series and step, to the summaries of their series."""
    parts = summary_parts(batch)
    places = parts.index.tolist()
    if writing.attempt > 1 or writing.newest_attempt > 1:
        first_steps = batch.steps[np.searchsorted(batch.index, parts.index)].tolist()
        unsafe = await _unsafe(writing, [batch.series[at] for at in places], first_steps)
        if unsafe:
            await rebuild(writing, [batch.series[places[at]] for at in unsafe])
            safe = np.isin(batch.index, [places[at] for at in unsafe], invert=True)
            batch = batch.where(safe)
            if not len(batch):
                return
            parts = summary_parts(batch)
            places = parts.index.tolist()
    series = [batch.series[at] for at in places]
    await writing.connection.execute(
        query("points.merge_summaries"),
        {
            **_about(writing, series),
            "attempt": writing.attempt,
            "source": writing.source,
            "labels": [labels_json(one) for one in series],
            "series": series_ids[parts.index].tolist(),
            "counts": parts.counts.tolist(),
            "nonfinites": parts.nonfinite_counts.tolist(),
            "first_times": times(parts.first_times_us),
            "last_times": times(parts.last_times_us),
            "last_steps": parts.last_steps.tolist(),
            "last_values": parts.last_values.tolist(),
            "min_values": parts.min_values,
            "min_steps": parts.min_steps,
            "max_values": parts.max_values,
            "max_steps": parts.max_steps,
            "finite_sums": parts.finite_sums.tolist(),
        },
        binary=True,
    )


async def _unsafe(writing: Writing, series: list[Series], first_steps: list[int]) -> list[int]:
    """Return the places of the series whose new points do not simply lie behind what is known."""
    if writing.newest_attempt > writing.attempt:
        return list(range(len(series)))
    cursor = await writing.connection.execute(
        query("points.known_summaries"), _about(writing, series), binary=True
    )
    # A runner's attempt begins anew with each series; a continuation adds to what is there, and may
    # write a step that an older attempt wrote.
    begins_anew = writing.source == "runner"
    unsafe = []
    for ordinal, attempt, last_step, _ in await cursor.fetchall():
        if begins_anew:
            is_safe = attempt == writing.attempt
        else:
            is_safe = attempt <= writing.attempt and first_steps[ordinal - 1] > last_step
        if not is_safe:
            unsafe.append(ordinal - 1)
    return unsafe


async def rebuild(writing: Writing, series: Iterable[Series]) -> None:
    """Make the summaries of ``series`` again from their points; of none left, none."""
    await writing.connection.execute(
        query("points.rebuild_summaries"), _about(writing, list(series)), binary=True
    )


def _about(writing: Writing, series: list[Series]) -> dict[str, Any]:
    return {
        "run": writing.run_id,
        "project": writing.project_id,
        "change_seq": writing.change_seq,
        "keys": [one.key for one in series],
        "hashes": [labels_hash(one.labels) for one in series],
    }


def labels_json(series: Series) -> str:
    """Return the labels of a series as JSON."""
    return json.dumps(dict(series.labels), ensure_ascii=False)


def times(times_us: npt.NDArray[np.int64]) -> list[datetime]:
    """Return microseconds since 1970 as times."""
    # Whole microseconds added to a date: a float of seconds would lose some.
    return [_EPOCH + timedelta(microseconds=one) for one in times_us.tolist()]
