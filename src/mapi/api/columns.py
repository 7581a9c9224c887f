"""``GET /v1/runs/{id}/metrics/columns``: the points of many series, one after the other."""

from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from mapi.access.cursors import Cursors
from mapi.access.rights import Principal
from mapi.api.links import next_link
from mapi.api.queries import QUERY_PREFIXES
from mapi.api.query_readers import KEYS_MAX, LABEL, check_keys, read_labels, read_stretch
from mapi.api.rights import RIGHT
from mapi.api.run_rights import find_run
from mapi.database.door import Database
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.columns import ColumnsPosition, SeriesChoice, StoredColumns, read_columns
from mapi.tracking.curves import LAST_STEP
from mapi.wire.enums import Scope
from mapi.wire.metrics import (
    ATTEMPT_MAX,
    RANK_MAX,
    STREAM_LENGTH_MAX,
    ColumnsPage,
    PointColumns,
)
from mapi.wire.values import values_to_wire

__all__ = ["columns"]

#: One page: a megabyte of JSON, and the labels of the series.
_POINTS_MAX = 20_000


@get(
    "/v1/runs/{run:str}/metrics/columns",
    opt={RIGHT: Scope.READ, QUERY_PREFIXES: (LABEL,)},
    summary="Read many curves",
)
async def columns(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    cursors: NamedDependency[Cursors],
    run: FromPath[str],
    keys: Annotated[list[str] | None, QueryParameter(name="key", max_items=KEYS_MAX)] = None,
    stream: Annotated[str | None, QueryParameter(max_length=STREAM_LENGTH_MAX)] = None,
    rank: Annotated[int | None, QueryParameter(ge=0, le=RANK_MAX)] = None,
    start: Annotated[int, QueryParameter(name="from", ge=SCALAR_STEP, le=LAST_STEP)] = SCALAR_STEP,
    last: Annotated[int, QueryParameter(name="to", ge=SCALAR_STEP, le=LAST_STEP)] = LAST_STEP,
    attempt: Annotated[int | None, QueryParameter(ge=1, le=ATTEMPT_MAX)] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=_POINTS_MAX)] = _POINTS_MAX,
    cursor: FromQuery[str | None] = None,
) -> Response[ColumnsPage]:
    """Return the points of all series that are meant, exactly as logged: one series after the other, by step.

    The series are chosen by `key` and `label.*`, which both can be asked for, and by `stream` (empty is the
    default one) and `rank`. `from` is the first step and `to` the last. `limit` counts points.
    """
    check_keys(keys)
    labels = read_labels(request.query_params)
    stretch = read_stretch(start, last)
    question = {
        "route": "columns",
        "run": run,
        "keys": keys,
        "labels": labels,
        "stream": stream,
        "rank": rank,
        "from": start,
        "to": last,
        "attempt": attempt,
    }
    after = None
    if cursor is not None:
        position = cursors.read(cursor, question)
        after = ColumnsPosition(position["key"], position["hash"], position["step"])
    async with database.snapshot(request.user.reach) as connection:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.READ)
        found, end = await read_columns(
            connection,
            run_id,
            SeriesChoice(keys, labels, stream, rank, attempt),
            stretch=stretch,
            after=after,
            limit=limit,
        )
    page = ColumnsPage(series=[_on_the_wire(one) for one in found])
    if end is None:
        return Response(page)
    position = {"key": end.key, "hash": end.labels_hash, "step": end.step}
    page.next_cursor = cursors.write(question, position)
    return Response(page, headers={"Link": next_link(request, page.next_cursor)})


def _on_the_wire(one: StoredColumns) -> PointColumns:
    return PointColumns(
        key=one.key,
        labels=one.labels,
        steps=[None if step == SCALAR_STEP else step for step in one.steps],
        times=one.times_us,
        values=values_to_wire(one.values),
        pruned=one.pruned,
    )
