"""``/v1/runs/{id}/tags``: the last value of a key stays."""

from typing import Any
from urllib.parse import unquote

from litestar import Request, delete, get, put
from litestar.di import NamedDependency
from litestar.params import FromPath

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.batches import batch_answer
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.errors import Fault, InvalidError
from mapi.tracking.notes import delete_tag, list_tags, write_tags
from mapi.tracking.runs import project_of
from mapi.tracking.writing import Counts, Sender
from mapi.wire.decoding import BODY_BYTES_MAX, decode, pointer
from mapi.wire.enums import Scope
from mapi.wire.metrics import BatchAnswer
from mapi.wire.notes import Tags, TagsBody

__all__ = ["key_from_path", "read", "remove", "write"]


@put("/v1/runs/{run:str}/tags", opt={RIGHT: Scope.WRITE, BODY: TagsBody}, summary="Write tags")
async def write(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> BatchAnswer:
    """Write tags; those that are not named stay as they are."""
    sent = decode(await read_body(request, bytes_max=BODY_BYTES_MAX), TagsBody)
    run_id = uuid_from_text(RUN, run)

    async def work(connection: Connection) -> Counts:
        return await write_tags(
            connection, run_id, sent.tags, sender=Sender(principal=request.user)
        )

    keys = list(sent.tags)
    counts = await database.run(request.user.reach, work)
    return batch_answer(counts, lambda place: pointer("tags", keys[place]))


@delete(
    # A key of slashes alone is tidied away from the path that is matched.
    ["/v1/runs/{run:str}/tags", "/v1/runs/{run:str}/tags/{key:path}"],
    opt={RIGHT: Scope.WRITE},
    summary="Delete a tag",
)
async def remove(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> None:
    """Delete a tag; its key stands in the path, percent-encoded."""
    run_id = uuid_from_text(RUN, run)
    wanted = key_from_path(request.scope["raw_path"])

    async def work(connection: Connection) -> None:
        await delete_tag(connection, run_id, wanted, sender=Sender(principal=request.user))

    await database.run(request.user.reach, work)


@get("/v1/runs/{run:str}/tags", opt={RIGHT: Scope.READ}, summary="Read tags")
async def read(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> Tags:
    """Return the tags of a run."""
    run_id = uuid_from_text(RUN, run)
    async with database.transaction(request.user.reach) as connection:
        request.user.require(Scope.READ, await project_of(connection, run_id), what="run")
        return await list_tags(connection, run_id)


def key_from_path(raw_path: bytes) -> str:
    """Return the key as it was sent: a path is tidied on its way here, and a key may hold slashes.

    Raises:
        InvalidError: it is no percent-encoded UTF-8.
    """
    sent = raw_path.partition(b"/tags/")[2].partition(b"?")[0]
    try:
        return unquote(sent.decode("ascii"), errors="strict")
    except UnicodeDecodeError:
        raise InvalidError(Fault("/path/key", "the key is no percent-encoded UTF-8")) from None
