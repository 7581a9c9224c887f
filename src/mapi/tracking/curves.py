"""Curves: the points of one series exactly as logged.

A curve has one value a step, that of the newest attempt that wrote the step and was not superseded
there.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mapi.database.arrays import reading_arrays
from mapi.database.queries import query
from mapi.errors import NotFoundError
from mapi.series.names import canonical_labels, labels_hash, series_text
from mapi.tracking.batch import SCALAR_STEP

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.batch import Series

__all__ = [
    "LAST_STEP",
    "CurvePart",
    "Stored",
    "Stretch",
    "about_parts",
    "count_points",
    "find_parts",
    "is_one",
    "no_series",
    "parts_arrays",
    "read_points",
    "whole_count",
]

#: Of a run's series, what is looked through for the one that was meant, and how many are named.
_NAMES_MAX: Final = 2_000
_NAMED_MAX: Final = 5
_SHOWN_MAX: Final = 300
#: The highest step that can be stored.
LAST_STEP: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CurvePart:
    """What one attempt wrote of a series."""

    series_id: int
    attempt: int
    stop: int | None
    """The first step that a later attempt has superseded."""
    tenant_id: int = 0
    """The tenant's number, which lets the planner ask for it once a statement."""
    sealed: int | None = None
    """The highest step of a point that retention has deleted."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps from one to another, both included."""

    first: int = -1
    last: int = LAST_STEP

    def meets_steps_to(self, last: int) -> bool:
        """Say whether steps from the first one to `last` are in it; a scalar, at -1, is none."""
        return self.first <= last and self.last > SCALAR_STEP


class Stored(NamedTuple):
    """One point as it stands in the log."""

    step: int
    time_us: int
    value: float


async def find_parts(
    connection: Connection, run_id: UUID, series: Series, *, attempt: int | None = None
) -> list[CurvePart]:
    """Return the attempts that wrote a series, newest first.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        series: its key and labels.
        attempt: this one only, whole.

    Raises:
        NotFoundError: the run has no such series, or not of this attempt.
    """
    cursor = await connection.execute(
        query("curves.find_parts"),
        {"run": run_id, "key": series.key, "hash": labels_hash(series.labels)},
    )
    parts = [CurvePart(*row) for row in await cursor.fetchall()]
    if attempt is not None:
        parts = [replace(one, stop=None) for one in parts if one.attempt == attempt]
    if not parts:
        if attempt is not None and await find_parts(connection, run_id, series):
            raise NotFoundError(f"Attempt {attempt} has written nothing of this series.")
        raise await no_series(connection, run_id, series)
    return parts


async def no_series(connection: Connection, run_id: UUID, series: Series) -> NotFoundError:
    """Return the error for a series that a run has not: with what it has of that key, or the nearest."""
    cursor = await connection.execute(
        query("curves.list_names"), {"run": run_id, "limit": _NAMES_MAX}
    )
    known = [(str(key), canonical_labels(labels)) for key, labels in await cursor.fetchall()]
    key = series.key
    if not any(one == key for one, _ in known):
        near = difflib.get_close_matches(key, {one for one, _ in known}, n=1)
        key = near[0] if near else ""
    texts = [series_text(one, labels) for one, labels in known if one == key]
    wanted = series_text(series.key, series.labels)
    advice = f" It has {', '.join(texts[:_NAMED_MAX])}{', …' * (len(texts) > _NAMED_MAX)}."
    return NotFoundError(f"The run has no series {wanted[:_SHOWN_MAX]}.{advice if texts else ''}")


async def read_points(
    connection: Connection, parts: Sequence[CurvePart], stretch: Stretch, *, limit: int
) -> list[Stored]:
    """Return points by step, each from the newest attempt that wrote it and was not superseded.

    Args:
        connection: a transaction of the run's tenant.
        parts: of one series.
        stretch: which steps.
        limit: how many points at most.
    """
    async with reading_arrays(connection.cursor(binary=True)) as cursor:
        await cursor.execute(
            query("curves.read_one" if is_one(parts) else "curves.read_merged"),
            {**about_parts(parts, stretch), "limit": limit},
        )
        steps, times_us, values = await cursor.fetchone() or (None, None, None)
    if steps is None:
        return []
    columns = zip(steps.tolist(), times_us.tolist(), values.tolist(), strict=True)
    return list(map(Stored._make, columns))


async def count_points(
    connection: Connection, parts: Sequence[CurvePart], stretch: Stretch
) -> int:
    """Return how many points a curve has between two steps."""
    cursor = await connection.execute(
        query("curves.count_one" if is_one(parts) else "curves.count_merged"),
        about_parts(parts, stretch),
        binary=True,
    )
    (count,) = await cursor.fetchone() or (0,)
    return int(count)


async def whole_count(connection: Connection, run_id: UUID, series: Series) -> int | None:
    """Return how many points all of a curve has, as its summary says; ``None`` without one."""
    cursor = await connection.execute(
        query("curves.whole_count"),
        {"run": run_id, "key": series.key, "hash": labels_hash(series.labels)},
    )
    row = await cursor.fetchone()
    return None if row is None else int(row[0])


def is_one(parts: Sequence[CurvePart]) -> bool:
    """Whether one attempt wrote all of a curve."""
    return len(parts) == 1 and parts[0].stop is None


def parts_arrays(parts: Sequence[CurvePart], prefix: str = "") -> dict[str, list[Any]]:
    """Return the parts of a curve as statements take them."""
    return {
        f"{prefix}series": [one.series_id for one in parts],
        f"{prefix}attempts": [one.attempt for one in parts],
        f"{prefix}stops": [one.stop for one in parts],
    }


def about_parts(parts: Sequence[CurvePart], stretch: Stretch) -> dict[str, Any]:
    """Return the parts of a curve, and the steps of it, as statements take them."""
    about: dict[str, Any] = {**parts_arrays(parts), "first": stretch.first, "last": stretch.last}
    if is_one(parts):
        about["series_id"], about["tenant"] = parts[0].series_id, parts[0].tenant_id
    return about
