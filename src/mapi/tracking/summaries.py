"""The summary of each series: what search, sort and the heads of pages read instead of points.

It covers the default reading: one value a step, the newest attempt that wrote it and was not
superseded. Almost always a batch can be added to it; where a batch might stand beneath or on top of
other values, the summary is made again from the points.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from mapi.database.arrays import FloatArray, IntArray, TimeArray
from mapi.database.queries import query
from mapi.series.names import labels_hash
from mapi.tracking.batch import summary_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from mapi.series.names import Labels
    from mapi.tracking.batch import PointBatch, Series, SummaryParts
    from mapi.tracking.writing import Writing

__all__ = ["labels_json", "merge", "rebuild"]

#: Series of one statement: with 10 000 points each it takes a second or two, far below the limit.
_REBUILD_SERIES: Final = 200


async def merge(
    writing: Writing,
    batch: PointBatch,
    series_ids: npt.NDArray[np.int64],
    *,
    attempt: int,
    parts: SummaryParts | None = None,
) -> None:
    """Add new points to the summaries of their series.

    Args:
        writing: the open write.
        batch: the points, sorted by series and step, none of which another attempt wrote.
        series_ids: the database's number of each of ``batch.series``.
        attempt: which one wrote them.
        parts: the batch's, if they are known already.
    """
    parts = summary_parts(batch) if parts is None else parts
    series = [batch.series[at] for at in parts.index.tolist()]
    await writing.connection.execute(
        query("points.merge_summaries"),
        {
            **_about(writing, series),
            "attempt": attempt,
            "labels": [labels_json(one) for one in series],
            "series": IntArray(series_ids[parts.index]),
            "counts": IntArray(parts.counts),
            "nonfinites": IntArray(parts.nonfinite_counts),
            "first_times": TimeArray(parts.first_times_us),
            "last_times": TimeArray(parts.last_times_us),
            "last_steps": IntArray(parts.last_steps),
            "last_values": FloatArray(parts.last_values),
            "min_values": FloatArray(parts.min_values),
            "min_steps": IntArray(parts.min_steps),
            "max_values": FloatArray(parts.max_values),
            "max_steps": IntArray(parts.max_steps),
            "finite_sums": FloatArray(parts.finite_sums),
        },
        binary=True,
    )


async def rebuild(writing: Writing, series: Sequence[Series]) -> None:
    """Make the summaries of ``series`` again from their points; of none left, none."""
    for start in range(0, len(series), _REBUILD_SERIES):
        await writing.connection.execute(
            query("points.rebuild_summaries"),
            _about(writing, series[start : start + _REBUILD_SERIES]),
        )


def _about(writing: Writing, series: Sequence[Series]) -> dict[str, Any]:
    return {
        **writing.about,
        "keys": [one.key for one in series],
        "hashes": [labels_hash(one.labels) for one in series],
    }


def labels_json(series: Series) -> str:
    """Return the labels of a series as JSON."""
    return _labels_json(series.labels)


# Call after call has the same few sets of labels.
@lru_cache(maxsize=1_024)
def _labels_json(labels: Labels) -> str:
    return json.dumps(dict(labels), ensure_ascii=False)
