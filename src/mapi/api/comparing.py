"""``/v1/run-compare`` and ``/v1/run-groups``: runs side by side, and summed up."""

from datetime import UTC, datetime
from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.description import ANSWERS
from mapi.api.preconditions import is_known
from mapi.api.query_readers import read_columns, read_filters, read_series_text, read_stretch
from mapi.api.rights import RIGHT
from mapi.database.door import Database
from mapi.errors import Fault, InvalidError
from mapi.search import Search
from mapi.series.names import check_key
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.compare import compare, find_compared, version_of
from mapi.tracking.curves import LAST_STEP
from mapi.tracking.groups import group_runs, summarize_groups
from mapi.tracking.runs import resolve_project
from mapi.wire.comparison import COMPARED_RUNS_MAX, COMPARED_RUNS_MIN, Comparison, RunGroups
from mapi.wire.enums import Scope, SeriesStat

__all__ = ["compare_runs", "read_groups"]

_KEYS_MAX = 100
_BUCKETS_MAX = 1_000
#: More than this no table of groups has columns for.
_GROUPED_BY_MAX = 3


@get("/v1/run-compare", opt={RIGHT: Scope.READ, ANSWERS: (200, 304)}, summary="Compare runs")
async def compare_runs(  # noqa: PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    ids: FromQuery[str],
    keys: FromQuery[str | None] = None,
    buckets: Annotated[int, QueryParameter(ge=1, le=_BUCKETS_MAX)] = 200,
    curves: FromQuery[bool] = True,  # noqa: FBT002 - of the query
) -> Response[Comparison | None]:
    """Return 2 to 10 runs side by side; a param that a run lacks counts as different.

    With `curves=false` no points are read: the summaries of the series come without their curves.
    """
    run_ids = [uuid_from_text(RUN, one) for one in _listed(ids, "ids", COMPARED_RUNS_MAX)]
    if len(set(run_ids)) != len(run_ids) or len(run_ids) < COMPARED_RUNS_MIN:
        raise InvalidError(
            Fault(
                "/query/ids",
                f"{len(set(run_ids))} different runs are given: a comparison has "
                f"{COMPARED_RUNS_MIN} to {COMPARED_RUNS_MAX}, each once, with commas between",
            )
        )
    wanted = None if keys is None else _listed(keys, "keys", _KEYS_MAX)
    for key in wanted or []:
        if (wrong := check_key(key)) is not None:
            raise InvalidError(Fault("/query/keys", wrong))
    async with database.snapshot(request.user.reach) as connection:
        runs = await find_compared(connection, run_ids)
        for row in runs:
            request.user.require(Scope.READ, row["project_id"])
        drawn = buckets if curves else None
        etag = version_of(runs, (wanted, drawn))
        headers = {"ETag": etag}
        if is_known(request, etag):
            return Response(None, status_code=304, headers=headers)
        found = await compare(connection, runs, keys=wanted, buckets=drawn)
    return Response(found, headers=headers)


def _listed(text: str, name: str, count_max: int) -> list[str]:
    """Return the items of a list with commas; the whole is not split where it is too long."""
    if text.count(",") >= count_max:
        raise InvalidError(
            Fault(f"/query/{name}", f"{text.count(',') + 1} items are given: at most {count_max}")
        )
    return [one.strip() for one in text.split(",") if one.strip()]


@get("/v1/run-groups", opt={RIGHT: Scope.READ}, summary="Sum runs up in groups")
async def read_groups(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    y: FromQuery[str],
    by: FromQuery[str] = "",
    filters: Annotated[list[str] | None, QueryParameter(name="filter")] = None,
    project: FromQuery[str | None] = None,
    start: Annotated[int, QueryParameter(name="from", ge=SCALAR_STEP, le=LAST_STEP)] = SCALAR_STEP,
    last: Annotated[int, QueryParameter(name="to", ge=SCALAR_STEP, le=LAST_STEP)] = LAST_STEP,
    stat: FromQuery[SeriesStat | None] = None,
) -> RunGroups:
    """Return count, mean, deviation and extremes of a series at each step, over stated members.

    `from` is the first step and `to` the last. With `stat` they are those of what the summary of
    each member says, in `summary`, and no step is told.
    """
    stretch = read_stretch(start, last)
    series = read_series_text(y, at="/query/y")
    columns = () if not by.strip() else read_columns(by, at="/query/by", count_max=_GROUPED_BY_MAX)
    wanted = read_filters(filters)
    async with database.snapshot(request.user.reach) as connection:
        project_id = await resolve_project(
            connection, request.user, project, pointer="/query/project"
        )
        request.user.require(Scope.READ, project_id)
        search = Search(project_id, datetime.now(UTC), wanted)
        if stat is not None:
            return await summarize_groups(connection, search, by=columns, series=series, stat=stat)
        return await group_runs(
            connection,
            search,
            by=columns,
            series=series,
            stretch=stretch,
        )
