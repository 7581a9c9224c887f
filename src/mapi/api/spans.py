"""``/v1/runs/{id}/spans``: keep what ended, read by start."""

import time
from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from mapi.access.cursors import Cursors
from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.batches import batch_answer
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.links import next_link
from mapi.api.rights import RIGHT
from mapi.api.senders import sender_of
from mapi.database.door import Connection, Database
from mapi.tracking.pruned import read_pruned
from mapi.tracking.runs import project_of
from mapi.tracking.spans import SPAN_PAGE_MAX, append_spans, check_starts, read_spans
from mapi.tracking.writing import Counts
from mapi.wire.decoding import BATCH_BYTES_MAX, decode, pointer
from mapi.wire.enums import Scope
from mapi.wire.metrics import RANK_MAX, STREAM_LENGTH_MAX, BatchAnswer
from mapi.wire.notes import SpanAppend, SpanPage

__all__ = ["append", "read"]


@post(
    "/v1/runs/{run:str}/spans",
    opt={RIGHT: Scope.WRITE, BODY: SpanAppend},
    status_code=200,
    summary="Keep spans",
)
async def append(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> BatchAnswer:
    """Keep spans that ended, up to the run's budget."""
    body = await read_body(request, bytes_max=BATCH_BYTES_MAX)
    sent = decode(body, SpanAppend, bytes_max=BATCH_BYTES_MAX)
    check_starts(sent.spans, now_us=time.time_ns() // 1_000)
    sender = sender_of(request.user, sent)
    run_id = uuid_from_text(RUN, run)

    async def work(connection: Connection) -> Counts:
        return await append_spans(connection, run_id, sent.spans, sender=sender)

    counts = await database.run(request.user.reach, work)
    return batch_answer(counts, lambda place: pointer("spans", place))


@get("/v1/runs/{run:str}/spans", opt={RIGHT: Scope.READ}, summary="Read spans")
async def read(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    cursors: NamedDependency[Cursors],
    run: FromPath[str],
    stream: Annotated[str | None, QueryParameter(max_length=STREAM_LENGTH_MAX)] = None,
    rank: Annotated[int | None, QueryParameter(ge=0, le=RANK_MAX)] = None,
    cursor: FromQuery[str | None] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=SPAN_PAGE_MAX)] = SPAN_PAGE_MAX,
) -> Response[SpanPage]:
    """Return the spans of a run by their start."""
    run_id = uuid_from_text(RUN, run)
    question = {"route": "spans", "run": run, "stream": stream, "rank": rank}
    after = None
    if cursor is not None:
        position = cursors.read(cursor, question)
        after = position["start_ns"], position["id"]
    async with database.snapshot(request.user.reach) as connection:
        request.user.require(Scope.READ, await project_of(connection, run_id), what="run")
        if stream is not None and "\x00" in stream:
            return Response(SpanPage(spans=[]))
        spans, end = await read_spans(
            connection, run_id, stream=stream, rank=rank, after=after, limit=limit
        )
        gone = await read_pruned(connection, run_id)
    page = SpanPage(spans=spans, pruned_count=0 if gone is None else gone.spans)
    if end is None:
        return Response(page)
    following = cursors.write(question, {"start_ns": end[0], "id": end[1]})
    page.next_cursor = following
    return Response(page, headers={"Link": next_link(request, following)})
