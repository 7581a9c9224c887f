"""Groups of runs: what their members come to at each step, from the points and never from samples."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from mapi.access.identifiers import RUN, text_from_uuid
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError
from mapi.search import Column, Search, column_statement, column_text, page_statements
from mapi.search.nodes import Metric
from mapi.series.names import labels_hash
from mapi.series.numbers import number_from_text
from mapi.tracking.batch import SCALAR_STEP
from mapi.wire.comparison import GroupPoint, RunGroup, RunGroups
from mapi.wire.values import WireValue, value_to_wire

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.search import Statement
    from mapi.tracking.batch import Series
    from mapi.tracking.curves import Stretch
    from mapi.wire.enums import SeriesStat

__all__ = ["find_members", "group_runs", "summarize_groups"]

#: Runs of all groups together; a group that nobody could list is no statement.
_MEMBERS_MAX: Final = 1_000
#: Points that are read for one answer.
_POINTS_MAX: Final = 5_000_000
#: Steps of all groups together: about ten megabytes of JSON.
_STEPS_MAX: Final = 100_000
#: Beyond this the square of a value, times the members, could pass the greatest number.
_LARGE: Final = 1e150
#: A power of two: nothing is rounded when values are made smaller by it.
_SCALE: Final = 2.0**-600

_Value = WireValue | str | None


async def find_members(connection: Connection, search: Search) -> list[UUID]:
    """Return the runs of a search.

    Raises:
        InvalidError: they are too many to be grouped.
    """
    found: list[UUID] = []
    for statement in page_statements(search, _MEMBERS_MAX):
        found += [row[-1] for row in await _run(connection, statement)]
    if len(found) > _MEMBERS_MAX:
        raise InvalidError(
            Fault(
                "/query/filter",
                f"more than {_MEMBERS_MAX} runs match: narrow the filter, so that the answer can "
                "name its members",
            )
        )
    return found


async def _run(connection: Connection, statement: Statement) -> list[tuple[Any, ...]]:
    # The text is made of the search room's own words; what users say travels beside it.
    cursor = await connection.execute(statement.text.encode(), statement.parameters)
    return await cursor.fetchall()


async def group_runs(
    connection: Connection,
    search: Search,
    *,
    by: Sequence[Column],
    series: Series,
    stretch: Stretch,
) -> RunGroups:
    """Return what the runs of a search come to, in groups of equal values.

    Args:
        connection: a transaction of the tenant.
        search: which runs.
        by: what the members of a group have in common; without any, all are one group.
        series: whose values are summed up.
        stretch: over which steps.

    Raises:
        InvalidError: there are too many runs, points or steps.
    """
    members = await find_members(connection, search)
    values = await _values(connection, search, columns=by, members=members)
    groups, places = _grouped(by, members, values)
    cursor = await connection.execute(
        query("groups.find_parts"),
        {"runs": members, "key": series.key, "hash": labels_hash(series.labels)},
    )
    parts = await cursor.fetchall()
    about = {
        "members": [part[0] for part in parts],
        "groups": [places[values[part[0]]] for part in parts],
        "series": [part[1] for part in parts],
        "attempts": [part[2] for part in parts],
        "stops": [part[3] for part in parts],
        "first": stretch.first,
        "last": stretch.last,
    }
    for at, point in await _points(connection, about):
        groups[at].points.append(point)
    _count_pruned(groups, [(places[values[part[0]]], part[0], part[4]) for part in parts], stretch)
    return RunGroups(
        groups=groups,
        runs_total=len(members),
        runs_without=len(members) - len({part[0] for part in parts}),
    )


async def summarize_groups(
    connection: Connection,
    search: Search,
    *,
    by: Sequence[Column],
    series: Series,
    stat: SeriesStat,
) -> RunGroups:
    """Return what the summaries of a series come to, in groups of equal values; no point is read.

    Args:
        connection: a transaction of the tenant.
        search: which runs.
        by: what the members of a group have in common; without any, all are one group.
        series: whose summaries are summed up.
        stat: what is taken of each member's summary.

    Raises:
        InvalidError: there are too many runs.
    """
    members = await find_members(connection, search)
    columns = [*by, Metric(series.key, series.labels, stat.value)]
    rows = await _values(connection, search, columns=columns, members=members)
    groups, places = _grouped(by, members, [row[:-1] for row in rows])
    found: list[list[float]] = [[] for _ in groups]
    for *key, value in rows:
        if value is not None:
            found[places[tuple(key)]].append(float(value))
    for group, numbers in zip(groups, found, strict=True):
        group.summary = _summary(numbers)
    return RunGroups(
        groups=groups,
        runs_total=len(members),
        runs_without=len(members) - sum(map(len, found)),
    )


def _summary(values: Sequence[float]) -> GroupPoint:
    finite = [one for one in values if math.isfinite(one)]
    nonfinite_count = len(values) - len(finite)
    if not finite:
        return GroupPoint(
            step=None,
            count=0,
            nonfinite_count=nonfinite_count,
            mean=None,
            std=None,
            min=None,
            max=None,
        )
    low, high = min(finite), max(finite)
    scale = _SCALE if max(-low, high) > _LARGE else 1.0
    small = [one * scale for one in finite]
    mean = math.fsum(small) / len(small)
    deviation = None
    if len(small) > 1:
        # A square of its own would be zero of small numbers, and none of large ones.
        deviation = math.hypot(*(one - mean for one in small)) / math.sqrt(len(small) - 1)
    return GroupPoint(
        step=None,
        count=len(finite),
        nonfinite_count=nonfinite_count,
        mean=min(max(mean / scale, low), high),
        std=None if deviation is None else _finite(deviation / scale),
        min=low,
        max=high,
    )


def _grouped(
    by: Sequence[Column], members: Sequence[UUID], values: Sequence[tuple[_Value, ...]]
) -> tuple[list[RunGroup], dict[tuple[_Value, ...], int]]:
    """Return a group for each different values, with its members, and the place of each."""
    places: dict[tuple[_Value, ...], int] = {}
    for key in sorted(set(values), key=_order):
        places[key] = len(places)
    groups = [
        RunGroup(
            by={column_text(column): value for column, value in zip(by, key, strict=True)},
            runs=[],
            points=[],
        )
        for key in places
    ]
    for run_id, key in zip(members, values, strict=True):
        groups[places[key]].runs.append(text_from_uuid(RUN, run_id))
    return groups, places


def _count_pruned(
    groups: Sequence[RunGroup], gone: Sequence[tuple[int, int, int | None]], stretch: Stretch
) -> None:
    """Count the members that had points in the range which are deleted: group, member, last step."""
    found = {
        (at, member)
        for at, member, last in gone
        if last is not None and stretch.meets_steps_to(last)
    }
    for at, _ in found:
        groups[at].runs_pruned += 1


async def _values(
    connection: Connection, search: Search, *, columns: Sequence[Column], members: Sequence[UUID]
) -> list[tuple[_Value, ...]]:
    if not columns or not members:
        return [() for _ in members]
    statement = column_statement(search.project_id, columns, members, now=search.now)
    rows = await _run(connection, statement)
    found = {row[0]: tuple(_wire(one) for one in row[1:]) for row in rows}
    return [found[run_id] for run_id in members]


def _wire(value: object) -> _Value:
    if isinstance(value, bool) or value is None:
        return None if value is None else str(value).lower()
    if isinstance(value, int | float):
        return value_to_wire(float(value))
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def _order(key: tuple[_Value, ...]) -> list[tuple[int, float, str]]:
    """Sort numbers by size, then texts, then what is missing."""
    found = []
    for value in key:
        number = number_from_text(value) if isinstance(value, str) else value
        if number is None:
            found.append((2 if value is None else 1, 0.0, str(value)))
        else:
            found.append((0, float(number), str(value)))
    return found


async def _points(connection: Connection, about: dict[str, Any]) -> list[tuple[int, GroupPoint]]:
    cursor = await connection.execute(query("groups.measure"), about, binary=True)
    count, greatest = await cursor.fetchone() or (0, None)
    if count > _POINTS_MAX:
        raise _too_many(f"{count} points are too many to be summed up: at most {_POINTS_MAX}")
    is_large = greatest is not None and greatest > _LARGE
    cursor = await connection.execute(
        query("groups.aggregate_large" if is_large else "groups.aggregate"),
        {**about, "large": _LARGE, "scale": _SCALE, "limit": _STEPS_MAX + 1},
        binary=True,
    )
    rows = await cursor.fetchall()
    if len(rows) > _STEPS_MAX:
        raise _too_many(f"there are more than {_STEPS_MAX} steps in all groups together")
    return [(row[0], _point(row)) for row in rows]


def _point(row: tuple[Any, ...]) -> GroupPoint:
    _, step, count, mean, deviation, low, high, scale, nonfinite_count = row
    return GroupPoint(
        step=None if step == SCALAR_STEP else step,
        count=count,
        nonfinite_count=nonfinite_count,
        # However it is rounded, it lies between the extremes.
        mean=min(max(mean / scale, low), high) if count else None,
        std=None if deviation is None else _finite(deviation / scale),
        min=low,
        max=high,
    )


def _finite(value: float) -> float | None:
    # The deviation of the greatest numbers is greater than any.
    return value if math.isfinite(value) else None


def _too_many(message: str) -> InvalidError:
    return InvalidError(Fault("/query/from", f"{message}; narrow the steps with from and to"))
