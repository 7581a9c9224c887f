"""``GET /v1/runs``, ``POST /v1/runs/search`` and ``POST /v1/search/parse``."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, TypeVar

from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from mapi.access.cursors import Cursors
from mapi.access.rights import Principal
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.links import next_link
from mapi.api.problems import problem_fault
from mapi.api.rights import RIGHT
from mapi.database.door import Database
from mapi.errors import Fault, InvalidError
from mapi.search import (
    Column,
    Node,
    SortKey,
    column_text,
    filter_parts,
    filter_text,
    parse_columns,
    parse_filter,
    parse_sort,
    sort_text,
)
from mapi.search.nodes import EVERYTHING
from mapi.series.name_map import series_from_name
from mapi.tracking.completing import complete_at
from mapi.tracking.finding import Query, find_runs
from mapi.tracking.runs import resolve_project
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import Scope
from mapi.wire.parsing import FilterCompletion, ParseBody, ParsedFilter
from mapi.wire.runs import RunPage, RunSearch

__all__ = ["find", "parse", "search"]

_Read = TypeVar("_Read")


@get("/v1/runs", opt={RIGHT: Scope.READ}, summary="Search runs")
async def find(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    cursors: NamedDependency[Cursors],
    project: FromQuery[str | None] = None,
    filters: Annotated[list[str] | None, QueryParameter(name="filter")] = None,
    sort: FromQuery[str | None] = None,
    columns: FromQuery[str | None] = None,
    limit: FromQuery[int | None] = None,
    cursor: FromQuery[str | None] = None,
    view: FromQuery[str | None] = None,
    total: FromQuery[bool] = False,  # noqa: FBT002 - of the query
    trashed: FromQuery[bool] = False,  # noqa: FBT002 - of the query
) -> Response[RunPage]:
    """Return the runs of a project that a filter matches, in an order, with columns."""
    sent = Query(
        filters=filters or (),
        sort=sort,
        columns=columns,
        limit=limit,
        cursor=cursor,
        view=view,
        with_total=total,
        in_trash=trashed,
    )
    page = await _answer(request, database, project, sent=sent, cursors=cursors)
    if page.next_cursor is None:
        return Response(page)
    return Response(page, headers={"Link": next_link(request, page.next_cursor)})


@post(
    "/v1/runs/search",
    opt={RIGHT: Scope.READ, BODY: RunSearch},
    status_code=200,
    summary="Search runs by a body",
)
async def search(
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    cursors: NamedDependency[Cursors],
) -> RunPage:
    """Answer what `GET /v1/runs` does, for a query that no address has room for."""
    body = decode(await read_body(request, bytes_max=BODY_BYTES_MAX), RunSearch)
    sent = Query(
        filters=_texts(body.filter),
        sort=body.sort,
        columns=body.columns,
        limit=body.limit,
        cursor=body.cursor,
        view=body.view,
        with_total=body.total,
        in_trash=body.trashed,
        at="",
    )
    return await _answer(request, database, body.project, sent=sent, cursors=cursors)


async def _answer(
    request: Request[Principal, Any, Any],
    database: Database,
    project: str | None,
    *,
    sent: Query,
    cursors: Cursors,
) -> RunPage:
    async with database.transaction(request.user.reach) as connection:
        project_id = await resolve_project(
            connection, request.user, project, pointer=sent.pointer("project")
        )
        request.user.require(Scope.READ, project_id)
        return await find_runs(connection, project_id, sent, cursors=cursors)


def _texts(sent: str | list[str] | None) -> Sequence[str]:
    if sent is None:
        return ()
    return (sent,) if isinstance(sent, str) else sent


@post(
    "/v1/search/parse",
    opt={RIGHT: Scope.READ, BODY: ParseBody},
    status_code=200,
    summary="How a search is read",
)
async def parse(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> ParsedFilter:
    """Return how a filter, an order and columns are read, or where they are wrong.

    With a caret also what could stand there; a text that is wrong is then an answer like another,
    for a half-typed one is.
    """
    body = decode(await read_body(request, bytes_max=BODY_BYTES_MAX), ParseBody)
    faults: list[Fault] = []
    everything: Node = EVERYTHING
    tree = _read(lambda: _filter_of(body), everything, faults)
    sort: tuple[SortKey, ...] = _read(lambda: _sort_of(body), (), faults)
    columns: tuple[Column, ...] = _read(lambda: _columns_of(body), (), faults)
    if faults and body.caret is None:
        raise InvalidError(faults)
    completion = None
    if body.caret is not None:
        completion = await _complete(request, database, body, caret=body.caret)
    return ParsedFilter(
        tree=None if tree == EVERYTHING else _plain(tree),
        canonical=filter_text(tree),
        parts=filter_parts(tree),
        sort=[sort_text([one]) for one in sort],
        columns=[column_text(one) for one in columns],
        faults=[problem_fault(one) for one in faults],
        completion=completion,
    )


async def _complete(
    request: Request[Principal, Any, Any], database: Database, body: ParseBody, *, caret: int
) -> FilterCompletion:
    text = {"filter": body.filter, "sort": body.sort, "columns": body.columns}[body.completing]
    async with database.transaction(request.user.reach) as connection:
        project_id = await resolve_project(
            connection, request.user, body.project, pointer="/project"
        )
        request.user.require(Scope.READ, project_id)
        return await complete_at(
            connection,
            project_id,
            text or "",
            caret=caret,
            completing=body.completing,
            limit=body.limit,
        )


def _read(read: Callable[[], _Read], otherwise: _Read, faults: list[Fault]) -> _Read:
    """Return what a text says, or what stands for it where it is wrong, and note its fault."""
    try:
        return read()
    except InvalidError as error:
        faults += error.faults
        return otherwise


def _filter_of(body: ParseBody) -> Node:
    return parse_filter(body.filter, series_from_name=series_from_name, pointer="/filter")


def _sort_of(body: ParseBody) -> tuple[SortKey, ...]:
    return parse_sort(body.sort or "", series_from_name=series_from_name, pointer="/sort")


def _columns_of(body: ParseBody) -> tuple[Column, ...]:
    return parse_columns(body.columns or "", series_from_name=series_from_name, pointer="/columns")


def _plain(node: Any) -> Any:
    """Return a tree as JSON: each node an object that names its kind."""
    if is_dataclass(node) and not isinstance(node, type):
        parts = {one.name: _plain(getattr(node, one.name)) for one in fields(node)}
        return {"node": type(node).__name__, **parts}
    if isinstance(node, tuple | list):
        return [_plain(one) for one in node]
    return node if isinstance(node, str | int | float | bool | None) else str(node)
