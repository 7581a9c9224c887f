"""The points of many series in one reading: exactly as logged, one series after the other.

A curve is asked for by its name (`curves`); who wants all that a run has would ask once a series. Here
a reading has as many points as are wanted, whichever series they are of, and says where the next one
goes on: behind a series or in the midst of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mapi.database.arrays import reading_arrays
from mapi.database.queries import query
from mapi.wire.metrics import PrunedPoints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    import numpy as np
    import numpy.typing as npt

    from mapi.database.door import Connection
    from mapi.tracking.curves import Stretch

__all__ = ["ColumnsPosition", "SeriesChoice", "StoredColumns", "read_columns"]

#: Series that one reading goes through, points or none: their labels come to 4 MB at most.
_SERIES_MAX: Final = 2_000


@dataclass(frozen=True, slots=True)
class SeriesChoice:
    """Which series of a run."""

    keys: Sequence[str] | None = None
    """Only these; ``None`` is all."""
    labels: Mapping[str, str] | None = None
    """Only series that have all of these, among others."""
    stream: str | None = None
    """Only of this one; empty is the default stream."""
    rank: int | None = None
    """Only of this one."""
    attempt: int | None = None
    """What this attempt wrote, whole; ``None``: each step from the newest that wrote it."""


@dataclass(frozen=True, slots=True)
class ColumnsPosition:
    """Where a reading ended."""

    key: str
    labels_hash: int
    step: int | None
    """The first step of this series that is to come; ``None``: it was read to its end."""


@dataclass(frozen=True, slots=True)
class StoredColumns:
    """Points of one series, by step."""

    key: str
    labels: dict[str, str]
    steps: list[int]
    times_us: list[int]
    values: list[float]
    pruned: PrunedPoints | None
    """What retention has deleted of it; ``None``: nothing of the steps that were asked for."""


class _Listed(NamedTuple):
    """A series and the attempts that wrote it, newest first."""

    key: str
    labels_hash: int
    labels: dict[str, str]
    tenant_id: int
    series: list[int]
    attempts: list[int]
    superseded: list[int | None]
    sealed: int | None
    pruned_count: int | None
    pruned_last_step: int | None


class _Arrays(NamedTuple):
    """Points of one series: steps, times in microseconds since 1970 UTC, values."""

    steps: npt.NDArray[np.int64]
    times_us: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


async def read_columns(
    connection: Connection,
    run_id: UUID,
    choice: SeriesChoice,
    *,
    stretch: Stretch,
    after: ColumnsPosition | None = None,
    limit: int,
) -> tuple[list[StoredColumns], ColumnsPosition | None]:
    """Return points of series by their keys, those of each by step.

    A series comes if it has points in the stretch, or had some that retention has deleted.

    Args:
        connection: a snapshot of the run's tenant.
        run_id: the run.
        choice: which series.
        stretch: which steps of each.
        after: where the reading before ended.
        limit: how many points at most.

    Returns:
        The columns, and where they end if more may follow: also without a point, behind very many
        series that have none.
    """
    listed = await _list(connection, run_id, choice, after=after)
    resumed = stretch.first
    if after is not None and listed and _place(listed[0]) == (after.key, after.labels_hash):
        if after.step is None:
            del listed[0]
        else:
            resumed = after.step
    has_more = len(listed) > _SERIES_MAX
    listed = listed[:_SERIES_MAX]
    found = await _read(connection, listed, stretch=stretch, resumed=resumed, limit=limit + 1)
    count = sum(len(one.steps) for one in found.values())
    end: ColumnsPosition | None = None
    if count > limit:
        at = max(found)
        last = found[at]
        end = ColumnsPosition(*_place(listed[at]), int(last.steps[-1]))
        found[at] = _Arrays(last.steps[:-1], last.times_us[:-1], last.values[:-1])
        # Those behind come another time, also where nothing but what is gone is to be told of them.
        listed = listed[: at + 1] if len(last.steps) > 1 else listed[:at]
    elif has_more:
        end = ColumnsPosition(*_place(listed[-1]), None)
    columns = []
    for at, one in enumerate(listed):
        pruned = _pruned(one, choice, stretch)
        if at in found or pruned is not None:
            columns.append(_stored(one, found.get(at), pruned))
    return columns, end


async def _list(
    connection: Connection, run_id: UUID, choice: SeriesChoice, *, after: ColumnsPosition | None
) -> list[_Listed]:
    """Return series from a position on, that of the position too; one more than are read."""
    cursor = await connection.execute(
        query("columns.list_series"),
        {
            "run": run_id,
            "keys": None if choice.keys is None else list(choice.keys),
            "labels": json.dumps(dict(choice.labels or {})),
            "stream": choice.stream,
            "rank": choice.rank,
            "attempt": choice.attempt,
            "from_key": None if after is None else after.key,
            "from_hash": None if after is None else after.labels_hash,
            "limit": _SERIES_MAX + (1 if after is None else 2),
        },
        binary=True,
    )
    return [_Listed._make(row) for row in await cursor.fetchall()]


async def _read(
    connection: Connection,
    listed: Sequence[_Listed],
    *,
    stretch: Stretch,
    resumed: int,
    limit: int,
) -> dict[int, _Arrays]:
    """Return the first points of series one after the other, by their places in the list.

    Args:
        connection: a snapshot of the run's tenant.
        listed: the series.
        stretch: which steps of each.
        resumed: the first step of the first series.
        limit: how many points at most.
    """
    if not listed:
        return {}
    starts, stops = [], []
    parts = 0
    for one in listed:
        starts.append(parts + 1)
        parts += len(one.series)
        stops.append(parts)
    about: dict[str, Any] = {
        "tenant": listed[0].tenant_id,
        "series": [each for one in listed for each in one.series],
        "attempts": [each for one in listed for each in one.attempts],
        "superseded": [each for one in listed for each in one.superseded],
        "starts": starts,
        "stops": stops,
        "first": stretch.first,
        "resumed": resumed,
        "last": stretch.last,
        "limit": limit,
    }
    async with reading_arrays(connection.cursor(binary=True)) as cursor:
        await cursor.execute(query("columns.read_points"), about)
        return {at: _Arrays(*arrays) for at, *arrays in await cursor.fetchall()}


def _place(one: _Listed) -> tuple[str, int]:
    return one.key, one.labels_hash


def _pruned(one: _Listed, choice: SeriesChoice, stretch: Stretch) -> PrunedPoints | None:
    """Return what retention has deleted of a series in a stretch; see `pruned.pruned_points`."""
    if one.sealed is None:
        return None
    if choice.attempt is not None:
        found = PrunedPoints(count=None, last_step=one.sealed)
    elif one.pruned_count is None or one.pruned_last_step is None:
        return None
    else:
        found = PrunedPoints(count=one.pruned_count, last_step=one.pruned_last_step)
    return found if stretch.meets_steps_to(found.last_step) else None


def _stored(one: _Listed, arrays: _Arrays | None, pruned: PrunedPoints | None) -> StoredColumns:
    if arrays is None:
        return StoredColumns(one.key, one.labels, [], [], [], pruned)
    return StoredColumns(
        one.key,
        one.labels,
        arrays.steps.tolist(),
        arrays.times_us.tolist(),
        arrays.values.tolist(),
        pruned,
    )
