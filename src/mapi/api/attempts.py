"""``/v1/runs/{id}/attempts``: register, end, list."""

import time
from datetime import datetime
from typing import Any

from litestar import Request, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.rights import RIGHT
from mapi.api.senders import sender_at
from mapi.database.door import Connection, Database
from mapi.errors import Fault, InvalidError
from mapi.tracking.attempts import end_attempt, list_attempts, register_attempt
from mapi.tracking.runs import project_of
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import Scope
from mapi.wire.runs import AttemptBody, AttemptEnd, AttemptFacts, AttemptList
from mapi.wire.times import check_time

__all__ = ["end", "read", "register"]


@post(
    "/v1/runs/{run:str}/attempts",
    opt={RIGHT: Scope.WRITE, BODY: AttemptBody},
    status_code=200,
    summary="Register an attempt",
)
async def register(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> AttemptFacts:
    """Register that a stream and rank goes at the run once more; the same again changes nothing."""
    sent = decode(await read_body(request, bytes_max=BODY_BYTES_MAX), AttemptBody)
    _check_time("/started", sent.started)
    sender = sender_at(request.user, stream=sent.stream, rank=sent.rank)
    run_id = uuid_from_text(RUN, run)

    async def work(connection: Connection) -> AttemptFacts:
        return await register_attempt(
            connection,
            run_id,
            sender=sender,
            number=sent.number,
            from_step=sent.from_step,
            started=sent.started,
        )

    return await database.run(request.user.reach, work)


@patch(
    "/v1/runs/{run:str}/attempts",
    opt={RIGHT: Scope.WRITE, BODY: AttemptEnd},
    summary="End an attempt",
)
async def end(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> AttemptFacts:
    """Say how an attempt ended."""
    sent = decode(await read_body(request, bytes_max=BODY_BYTES_MAX), AttemptEnd)
    _check_time("/finished", sent.finished)
    sender = sender_at(request.user, stream=sent.stream, rank=sent.rank)
    run_id = uuid_from_text(RUN, run)

    async def work(connection: Connection) -> AttemptFacts:
        return await end_attempt(
            connection,
            run_id,
            sender=sender,
            number=sent.number,
            status=sent.status,
            finished=sent.finished,
        )

    return await database.run(request.user.reach, work)


@get("/v1/runs/{run:str}/attempts", opt={RIGHT: Scope.READ}, summary="List attempts")
async def read(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> AttemptList:
    """Return the attempts of a run that were registered."""
    run_id = uuid_from_text(RUN, run)
    async with database.transaction(request.user.reach) as connection:
        request.user.require(Scope.READ, await project_of(connection, run_id), what="run")
        return AttemptList(attempts=await list_attempts(connection, run_id))


def _check_time(at: str, sent: datetime | None) -> None:
    if sent is None:
        return
    wrong = check_time(sent, now_us=time.time_ns() // 1_000)
    if wrong is not None:
        raise InvalidError(Fault(at, wrong))
