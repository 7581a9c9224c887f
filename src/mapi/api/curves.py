"""``GET /v1/runs/{id}/metrics``: which series a run has, and the curve of one."""

from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from mapi.access.cursors import Cursors
from mapi.access.rights import Principal
from mapi.api.links import next_link
from mapi.api.queries import QUERY_PREFIXES
from mapi.api.query_readers import (
    KEYS_MAX,
    LABEL,
    check_keys,
    read_labels,
    read_series,
    read_series_text,
    read_stretch,
)
from mapi.api.rights import RIGHT
from mapi.api.run_rights import find_run
from mapi.database.door import Connection, Database
from mapi.errors import Fault, InvalidError
from mapi.series.names import series_text
from mapi.tracking.axes import (
    RUN_TIME,
    TIME,
    Axis,
    AxisCurve,
    find_axis,
    read_axis_buckets,
    read_axis_points,
)
from mapi.tracking.batch import SCALAR_STEP, Series
from mapi.tracking.buckets import read_buckets
from mapi.tracking.curves import (
    LAST_STEP,
    CurvePart,
    Stored,
    Stretch,
    count_points,
    find_parts,
    read_points,
    whole_count,
)
from mapi.tracking.pruned import pruned_points
from mapi.tracking.series import SeriesPosition, list_series
from mapi.wire.enums import Scope
from mapi.wire.metrics import Curve, CurvePoint, SeriesPage
from mapi.wire.values import value_to_wire, values_to_wire

__all__ = ["points", "series"]

#: One page of exact points: half a megabyte of JSON.
POINTS_MAX = 10_000
#: More buckets than any screen has pixels in a row are points.
BUCKETS_MAX = 4_000
_SERIES_MAX = 2_000


@get(
    "/v1/runs/{run:str}/metrics",
    opt={RIGHT: Scope.READ, QUERY_PREFIXES: (LABEL,)},
    summary="List the series of a run",
)
async def series(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    cursors: NamedDependency[Cursors],
    run: FromPath[str],
    keys: Annotated[list[str] | None, QueryParameter(name="key", max_items=KEYS_MAX)] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=_SERIES_MAX)] = 50,
    cursor: FromQuery[str | None] = None,
) -> Response[SeriesPage]:
    """Return series with their summaries, by key and labels; both can be asked for."""
    check_keys(keys)
    labels = read_labels(request.query_params)
    question = {"route": "series", "run": run, "keys": keys, "labels": labels}
    after = None
    if cursor is not None:
        position = cursors.read(cursor, question)
        after = SeriesPosition(position["key"], position["labels"], position["hash"])
    async with database.transaction(request.user.reach) as connection:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.READ)
        found, end = await list_series(
            connection, run_id, keys=keys, labels=labels, after=after, limit=limit
        )
    if end is None:
        return Response(SeriesPage(series=found))
    following = cursors.write(
        question, {"key": end.key, "labels": end.labels_text, "hash": end.labels_hash}
    )
    return Response(
        SeriesPage(series=found, next_cursor=following),
        headers={"Link": next_link(request, following)},
    )


@get(
    "/v1/runs/{run:str}/metrics/points",
    opt={RIGHT: Scope.READ, QUERY_PREFIXES: (LABEL,)},
    summary="Read a curve",
)
async def points(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    cursors: NamedDependency[Cursors],
    run: FromPath[str],
    key: FromQuery[str],
    start: Annotated[int, QueryParameter(name="from", ge=SCALAR_STEP, le=LAST_STEP)] = SCALAR_STEP,
    last: Annotated[int, QueryParameter(name="to", ge=SCALAR_STEP, le=LAST_STEP)] = LAST_STEP,
    attempt: Annotated[int | None, QueryParameter(ge=1, le=2**31 - 1)] = None,
    buckets: Annotated[int | None, QueryParameter(ge=1, le=BUCKETS_MAX)] = None,
    x: FromQuery[str | None] = None,
    limit: Annotated[int | None, QueryParameter(ge=1, le=POINTS_MAX)] = None,
    cursor: FromQuery[str | None] = None,
) -> Response[Curve]:
    """Return one series: its points exactly as logged, by step, or buckets that keep extremes.

    The series is `key` with `label.*`, or `key` alone as the search writes it: `loss{split=val}`.
    `from` is the first step and `to` the last. Without `buckets`, points come in pages; with it, points come if there are no more of them than buckets.
    """
    wanted = read_series(key, request.query_params)
    stretch = read_stretch(start, last)
    if buckets is not None and (cursor is not None or limit is not None):
        name = "limit" if cursor is None else "cursor"
        raise InvalidError(
            Fault(f"/query/{name}", "buckets hold all of a curve: ask for pages or for buckets")
        )
    axis_wanted: str | Series | None = x
    if x is not None and x not in {TIME, RUN_TIME}:
        axis_wanted = read_series_text(x, at="/query/x")
    question = {
        "route": "points",
        "run": run,
        "series": series_text(wanted.key, wanted.labels),
        "from": start,
        "to": last,
        "attempt": attempt,
        "x": x,
    }
    position = None if cursor is None else cursors.read(cursor, question)
    if position is not None:
        stretch = Stretch(position["first"], last)
    async with database.snapshot(request.user.reach) as connection:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.READ)
        parts = await find_parts(connection, run_id, wanted, attempt=attempt)
        axis = None
        if axis_wanted is not None:
            axis = await find_axis(connection, run_id, axis_wanted, attempt=attempt)
        reading = _Reading(connection, run_id, wanted, parts, axis, stretch)
        curve = Curve(
            key=wanted.key, labels=dict(wanted.labels), attempt=attempt, points_total=0, x=x
        )
        curve.pruned = await pruned_points(
            connection,
            run_id,
            wanted,
            parts=parts,
            attempt=attempt,
            stretch=read_stretch(start, last),
        )
        if buckets is not None:
            await reading.bucket(curve, buckets)
            end = None
        else:
            total = None if position is None else position["total"]
            end = await reading.page(curve, POINTS_MAX if limit is None else limit, total)
    headers = {}
    if end is not None:
        curve.next_cursor = cursors.write(question, {"first": end, "total": curve.points_total})
        headers["Link"] = next_link(request, curve.next_cursor)
    return Response(curve, headers=headers)


class _Reading:
    """One curve on its way out of the log."""

    def __init__(  # noqa: PLR0917 - the parts of a question
        self,
        connection: Connection,
        run_id: UUID,
        series: Series,
        parts: list[CurvePart],
        axis: Axis | None,
        stretch: Stretch,
    ) -> None:
        self._connection = connection
        self._run_id = run_id
        self._series = series
        self._parts = parts
        self._axis = axis
        self._stretch = stretch

    async def bucket(self, curve: Curve, buckets: int) -> None:
        """Put all of the curve into the answer: as points where they fit, else as buckets."""
        found, places = await self._points(buckets + 1)
        if len(found) <= buckets:
            _put(curve, found, places)
            curve.points_total = len(found)
        elif self._axis is None:
            curve.buckets = await read_buckets(
                self._connection, self._parts, self._stretch, buckets=buckets
            )
            curve.points_total = sum(one.count for one in curve.buckets)
        else:
            drawn = AxisCurve(tuple(self._parts), self._axis, self._stretch)
            found_buckets = await read_axis_buckets(self._connection, drawn, buckets=buckets)
            curve.buckets = found_buckets.buckets
            curve.points_total = found_buckets.points_total
            curve.points_without_x = found_buckets.points_total - found_buckets.placed

    async def page(self, curve: Curve, limit: int, total: int | None) -> int | None:
        """Put one page of points into the answer; return the step where the next one begins."""
        found, places = await self._points(limit + 1)
        end = found[limit].step if len(found) > limit else None
        _put(curve, found[:limit], None if places is None else places[:limit])
        if total is None:
            total = len(found) if end is None else await self._count(curve)
        curve.points_total = total
        return end

    async def _points(self, limit: int) -> tuple[list[Stored], list[float | None] | None]:
        if self._axis is None:
            found = await read_points(self._connection, self._parts, self._stretch, limit=limit)
            return found, None
        drawn = AxisCurve(tuple(self._parts), self._axis, self._stretch)
        placed = await read_axis_points(self._connection, drawn, limit=limit)
        return [one for one, _ in placed], [place for _, place in placed]

    async def _count(self, curve: Curve) -> int:
        if curve.attempt is None and self._stretch == Stretch():
            known = await whole_count(self._connection, self._run_id, self._series)
            if known is not None:
                # The summary counts on what was deleted for its age.
                gone = curve.pruned
                return known - (0 if gone is None or gone.count is None else gone.count)
        return await count_points(self._connection, self._parts, self._stretch)


def _put(curve: Curve, found: list[Stored], places: list[float | None] | None) -> None:
    values = values_to_wire([one.value for one in found])
    curve.points = [
        CurvePoint(None if one.step == SCALAR_STEP else one.step, one.time_us, value)
        for one, value in zip(found, values, strict=True)
    ]
    if places is not None:
        curve.xs = [None if one is None else value_to_wire(one) for one in places]
