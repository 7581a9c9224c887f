"""``/v1/runs/{id}/environment`` and ``…/config``: JSON of each stream and rank; ``…/documents``."""

from typing import Annotated, Any

from litestar import Request, get, put
from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter
from msgspec import Raw

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.rights import RIGHT
from mapi.api.senders import sender_at
from mapi.database.door import Connection, Database
from mapi.errors import NotFoundError
from mapi.tracking.documents import get_document, list_documents, put_document
from mapi.tracking.runs import project_of
from mapi.wire.decoding import decode
from mapi.wire.enums import Scope
from mapi.wire.metrics import RANK_MAX, STREAM_LENGTH_MAX
from mapi.wire.notes import DOCUMENT_BYTES_MAX, Document, DocumentFacts, DocumentList

__all__ = ["put_config", "put_environment", "read_all", "read_config", "read_environment"]

#: The document itself, blanks and escapes that it may be written with, and who wrote it.
_BODY_BYTES_MAX = 4 * DOCUMENT_BYTES_MAX
_Stream = Annotated[str, QueryParameter(max_length=STREAM_LENGTH_MAX)]
_Rank = Annotated[int, QueryParameter(ge=0, le=RANK_MAX)]


@put(
    "/v1/runs/{run:str}/environment",
    opt={RIGHT: Scope.WRITE, BODY: Document},
    status_code=204,
    summary="Keep the environment",
)
async def put_environment(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> None:
    """Keep what the run ran in, in place of what was kept before."""
    await _put(request, database, run, name="environment")


@put(
    "/v1/runs/{run:str}/config",
    opt={RIGHT: Scope.WRITE, BODY: Document},
    status_code=204,
    summary="Keep the config",
)
async def put_config(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> None:
    """Keep what the run was told, in place of what was kept before."""
    await _put(request, database, run, name="config")


@get("/v1/runs/{run:str}/environment", opt={RIGHT: Scope.READ}, summary="Read the environment")
async def read_environment(  # noqa: PLR0917 - the route's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
    stream: _Stream = "",
    rank: _Rank = 0,
) -> DocumentFacts:
    """Return what the run ran in."""
    return await _read(request, database, run, name="environment", at=(stream, rank))


@get("/v1/runs/{run:str}/config", opt={RIGHT: Scope.READ}, summary="Read the config")
async def read_config(  # noqa: PLR0917 - the route's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
    stream: _Stream = "",
    rank: _Rank = 0,
) -> DocumentFacts:
    """Return what the run was told."""
    return await _read(request, database, run, name="config", at=(stream, rank))


@get("/v1/runs/{run:str}/documents", opt={RIGHT: Scope.READ}, summary="List documents")
async def read_all(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> DocumentList:
    """Return which documents a run has, without what is in them."""
    run_id = uuid_from_text(RUN, run)
    async with database.transaction(request.user.reach) as connection:
        request.user.require(Scope.READ, await project_of(connection, run_id), what="run")
        return DocumentList(documents=await list_documents(connection, run_id))


async def _put(
    request: Request[Principal, Any, Any], database: Database, run: str, *, name: str
) -> None:
    body = await read_body(request, bytes_max=_BODY_BYTES_MAX)
    sent = decode(body, Document, bytes_max=_BODY_BYTES_MAX)
    sender = sender_at(request.user, stream=sent.stream, rank=sent.rank)
    run_id = uuid_from_text(RUN, run)

    async def work(connection: Connection) -> None:
        await put_document(connection, run_id, name=name, content=sent.content, sender=sender)

    await database.run(request.user.reach, work)


async def _read(
    request: Request[Principal, Any, Any],
    database: Database,
    run: str,
    *,
    name: str,
    at: tuple[str, int],
) -> DocumentFacts:
    stream, rank = at
    run_id = uuid_from_text(RUN, run)
    async with database.transaction(request.user.reach) as connection:
        request.user.require(Scope.READ, await project_of(connection, run_id), what="run")
        if "\x00" in stream:
            raise NotFoundError("No stream is called so.")
        content, time = await get_document(connection, run_id, name, stream=stream, rank=rank)
    return DocumentFacts(content=Raw(content.encode()), stream=stream, rank=rank, time=time)
