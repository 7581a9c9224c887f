"""``/v1/runs``: make, read."""

from typing import Any

from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.bodies import read_body
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.tracking.runs import create_run, get_run
from mapi.wire.decoding import BODY_BYTES_MAX
from mapi.wire.enums import Scope
from mapi.wire.runs import RunFacts, decode_run_create

__all__ = ["create", "read"]


@post("/v1/runs", opt={RIGHT: Scope.WRITE}, summary="Make a run")
async def create(
    request: Request[Principal, Any, Any], database: NamedDependency[Database]
) -> Response[RunFacts]:
    """Make a run that is logged from outside; one with the same `external_id` is answered as it is."""
    sent = decode_run_create(
        await read_body(request, bytes_max=BODY_BYTES_MAX), bytes_max=BODY_BYTES_MAX
    )

    async def work(connection: Connection) -> tuple[RunFacts, bool]:
        run_id, is_new = await create_run(connection, request.user, sent)
        return await get_run(connection, run_id), is_new

    run, is_new = await database.run(request.user.reach, work)
    return Response(
        run,
        status_code=201 if is_new else 200,
        headers={"ETag": run.etag, "Location": f"/v1/runs/{run.id}"},
    )


@get("/v1/runs/{run:str}", opt={RIGHT: Scope.READ}, summary="Read a run")
async def read(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> Response[RunFacts]:
    """Return one run."""
    async with database.transaction(request.user.reach) as connection:
        found = await get_run(connection, uuid_from_text(RUN, run))
    return Response(found, headers={"ETag": found.etag})
