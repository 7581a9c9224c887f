"""``/v1/runs/{id}/logs``: append lines, read the newest, follow."""

import time
from typing import Annotated, Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.batches import batch_answer
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.rights import RIGHT
from mapi.api.senders import sender_of
from mapi.database.door import Connection, Database
from mapi.errors import Fault, InvalidError
from mapi.tracking.logs import LINE_MAX, LogQuery, append_lines, checked_lines, read_lines
from mapi.tracking.pruned import read_pruned
from mapi.tracking.runs import project_of
from mapi.tracking.writing import Counts
from mapi.wire.decoding import BATCH_BYTES_MAX, decode, pointer
from mapi.wire.enums import LogLevel, Scope
from mapi.wire.metrics import BatchAnswer
from mapi.wire.notes import LogAppend, LogPage

__all__ = ["append", "read"]

_LINES_MAX = 1_000
#: Of the text that is looked for.
_TEXT_LENGTH_MAX = 200


@post(
    "/v1/runs/{run:str}/logs",
    opt={RIGHT: Scope.WRITE, BODY: LogAppend},
    status_code=200,
    summary="Append log lines",
)
async def append(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> BatchAnswer:
    """Append lines in their order."""
    body = await read_body(request, bytes_max=BATCH_BYTES_MAX)
    sent = decode(body, LogAppend, bytes_max=BATCH_BYTES_MAX)
    sender = sender_of(request.user, sent)
    lines = checked_lines(sent.lines, now_us=time.time_ns() // 1_000)
    run_id = uuid_from_text(RUN, run)

    async def work(connection: Connection) -> Counts:
        return await append_lines(connection, run_id, lines, sender=sender)

    counts = await database.run(request.user.reach, work)
    return batch_answer(counts, lambda place: pointer("lines", place))


@get("/v1/runs/{run:str}/logs", opt={RIGHT: Scope.READ}, summary="Read log lines")
async def read(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
    level: FromQuery[LogLevel] = LogLevel.DEBUG,
    after: Annotated[int | None, QueryParameter(ge=0, le=LINE_MAX)] = None,
    before: Annotated[int | None, QueryParameter(ge=0, le=LINE_MAX)] = None,
    q: Annotated[str, QueryParameter(max_length=_TEXT_LENGTH_MAX)] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=_LINES_MAX)] = 500,
) -> LogPage:
    """Return the newest lines, with `before` of those before it, with `after` what follows it.

    `level` is the least shown.
    """
    if after is not None and before is not None:
        raise InvalidError(
            Fault(
                "/query/before",
                "`after` goes on to newer lines, `before` to older: give one of them",
            )
        )
    run_id = uuid_from_text(RUN, run)
    # What no line can hold, none holds; the database would not even take the question.
    wanted = LogQuery(
        level=level,
        text=q,
        after=after,
        before=LINE_MAX if before is None else before,
        limit=limit,
    )
    async with database.snapshot(request.user.reach) as connection:
        request.user.require(Scope.READ, await project_of(connection, run_id), what="run")
        lines = [] if "\x00" in q else await read_lines(connection, run_id, wanted)
        gone = await read_pruned(connection, run_id)
    return LogPage(
        lines=lines,
        next_after=lines[-1].id if lines else after,
        pruned_count=0 if gone is None else gone.log_lines,
    )
