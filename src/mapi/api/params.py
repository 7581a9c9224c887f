"""``/v1/runs/{id}/params``: written once, read by key."""

from typing import Annotated, Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.batches import batch_answer
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.series.names import PARAM_KEY_LENGTH_MAX
from mapi.tracking.notes import list_params, write_params
from mapi.tracking.runs import project_of
from mapi.tracking.writing import Counts, Sender
from mapi.wire.decoding import BATCH_BYTES_MAX, decode, pointer
from mapi.wire.enums import Scope
from mapi.wire.metrics import BatchAnswer
from mapi.wire.notes import Params, ParamsBody

__all__ = ["read", "write"]


@post(
    "/v1/runs/{run:str}/params",
    opt={RIGHT: Scope.WRITE, BODY: ParamsBody},
    status_code=200,
    summary="Write params",
)
async def write(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> BatchAnswer:
    """Write params, all or none: one that has another value is a conflict, an equal one no change."""
    body = await read_body(request, bytes_max=BATCH_BYTES_MAX)
    sent = decode(body, ParamsBody, bytes_max=BATCH_BYTES_MAX)
    run_id = uuid_from_text(RUN, run)

    async def work(connection: Connection) -> Counts:
        return await write_params(
            connection, run_id, sent.params, sender=Sender(principal=request.user)
        )

    keys = list(sent.params)
    counts = await database.run(request.user.reach, work)
    return batch_answer(counts, lambda place: pointer("params", keys[place]))


@get("/v1/runs/{run:str}/params", opt={RIGHT: Scope.READ}, summary="Read params")
async def read(  # noqa: PLR0917 - the route's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
    after: Annotated[str, QueryParameter(max_length=PARAM_KEY_LENGTH_MAX)] = "",
) -> Params:
    """Return the params of a run by key; nearly always all of them."""
    run_id = uuid_from_text(RUN, run)
    async with database.transaction(request.user.reach) as connection:
        request.user.require(Scope.READ, await project_of(connection, run_id), what="run")
        found, next_after = await list_params(connection, run_id, after=after)
    return Params(params=found, next_after=next_after)
