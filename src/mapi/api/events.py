"""Server-sent events: one run as it goes on, and the runs of a project whose rows may have changed.

https://html.spec.whatwg.org/multipage/server-sent-events.html. A stream begins with where things
stand, or with what is new behind ``Last-Event-ID``; it says something every 15 seconds, ends when
its reader has lost the right to it, and is cut when its reader does not read.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, get
from litestar.di import NamedDependency
from litestar.enums import ScopeType
from litestar.params import FromPath, FromQuery
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import ASGIApp, Message, Receive, Send
from litestar.types import Scope as ASGIScope

from mapi.access.identifiers import RUN, text_from_uuid, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.description import MEDIA_TYPES
from mapi.api.rights import RIGHT
from mapi.api.run_rights import find_run
from mapi.api.stream_life import Reader, kept_alive
from mapi.database.door import Connection, Database, Reach
from mapi.errors import Fault, InvalidError, NotFoundError
from mapi.tracking.changes import Changes, RunChange
from mapi.tracking.following import Following, told_of_deletion
from mapi.tracking.live import END, Position, read_deletion, read_deletions
from mapi.tracking.runs import resolve_project
from mapi.wire.enums import Scope
from mapi.wire.events import ProjectFrame

__all__ = ["ABORT", "IS_QUIET", "follow_project", "follow_run", "note_changes"]

#: The extension of the server's scope by which an answer ends its connection (`abort`), or cuts a
#: reader together with what it has not taken (`cut`).
ABORT = "mapi.abort"
#: So long after the server was told to stop a stream may still take to send its last frame.
_LAST_SECONDS = 0.5

#: The option of a route whose success by itself changes nothing that anybody follows.
IS_QUIET = "is_quiet"
#: A reader that takes longer for one piece is cut.
_SEND_SECONDS = 20.0
#: The rows of a table are read again at most so often.
_PROJECT_SECONDS = 0.25
#: Of a frame; with more the whole table is to be read.
_RUNS_MAX = 500
#: How far the clocks of two machines may be apart.
_CLOCKS_SECONDS = 60.0
_MEDIA_TYPE = "text/event-stream"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Type": _MEDIA_TYPE,
    # nginx would collect the frames until its buffer is full.
    "X-Accel-Buffering": "no",
}
_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_encoder = msgspec.json.Encoder()
_logger = logging.getLogger("mapi.live")


@get(
    "/v1/runs/{run:str}/events",
    opt={RIGHT: Scope.READ, MEDIA_TYPES: (_MEDIA_TYPE,)},
    summary="Follow a run",
)
async def follow_run(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    following: NamedDependency[Following],
    run: FromPath[str],
) -> ASGIApp:
    """Send `status`, `tracking`, `log` and `warning` frames while the run goes on.

    Whoever comes back to a run that was deleted meanwhile is told with a frame `deleted`, once.
    """
    start = _start(request)
    async with database.transaction(request.user.reach) as connection:
        try:
            run_id, project_id = await find_run(connection, request.user, run, scope=Scope.READ)
        except NotFoundError:
            gone = await _deletion(connection, request.user, run, start=start)
            if gone is None:
                raise
            return _EventStream(_once(gone), following.changes)
    following.require_place()
    reach = Reach(request.user.tenant_id, (project_id,))

    reader = Reader(request, database, project_id)

    async def frames() -> AsyncIterator[bytes]:
        with following.place():
            source = following.follow(reach, run_id, start)
            async for text in kept_alive(source, reader, following.changes):
                yield text

    return _EventStream(frames(), following.changes)


@get(
    "/v1/events",
    opt={RIGHT: Scope.READ, MEDIA_TYPES: (_MEDIA_TYPE,)},
    summary="Follow a project",
)
async def follow_project(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    following: NamedDependency[Following],
    project: FromQuery[str | None] = None,
) -> ASGIApp:
    """Send the ids of runs whose row in a table may have changed, and of those that are gone.

    A project has no sequence of changes: whoever comes back is told to read its table anew, and
    which runs were deleted for good meanwhile.
    """
    async with database.transaction(request.user.reach) as connection:
        project_id = await resolve_project(
            connection, request.user, project, pointer="/query/project"
        )
        request.user.require(Scope.READ, project_id, what="project")
        returned = request.headers.get("last-event-id") or None
        deleted = await _deleted_since(connection, project_id, returned)
    following.require_place()
    tenant_id = request.user.tenant_id
    reader = Reader(request, database, project_id)

    async def frames() -> AsyncIterator[bytes]:
        with following.place():
            source = _project_frames(
                following.changes,
                (tenant_id, project_id),
                deleted=deleted,
                is_return=returned is not None,
            )
            async for text in kept_alive(source, reader, following.changes):
                yield text

    return _EventStream(frames(), following.changes)


async def _deletion(
    connection: Connection, principal: Principal, run: str, *, start: Position | None
) -> bytes | None:
    """Return what is told to whoever has followed a run that is gone."""
    if start is None or start == END:
        return None
    found = await read_deletion(connection, uuid_from_text(RUN, run))
    if found is None or not principal.may(Scope.READ, found[0]):
        return None
    return told_of_deletion(found[1]).text


async def _once(text: bytes) -> AsyncIterator[bytes]:
    yield text


def _start(request: Request[Principal, Any, Any]) -> Position | None:
    text = request.headers.get("last-event-id")
    if not text:
        return None
    position = Position.from_text(text)
    if position is None:
        raise _no_id(text)
    return position


def _no_id(text: str) -> InvalidError:
    return InvalidError(
        Fault("/headers/Last-Event-ID", f"{text[:80]!r} is no id of a frame of this stream")
    )


async def _deleted_since(
    connection: Connection, project_id: int, returned: str | None
) -> set[UUID]:
    """Return which runs were deleted since the frame with this id, as far as is remembered.

    An id is the time of its frame by the clock of one replica; nobody is harmed by hearing twice.

    Raises:
        InvalidError: it is no id of a frame.
    """
    if returned is None:
        return set()
    if not returned.isascii() or not returned.isdecimal():
        raise _no_id(returned)
    since_seconds = min(int(returned[:19]) / 1e6, time.time()) - _CLOCKS_SECONDS
    return set(
        await read_deletions(
            connection, project_id, since_seconds=max(0.0, since_seconds), limit=_RUNS_MAX
        )
    )


async def _project_frames(
    changes: Changes, place: tuple[int, int], *, deleted: set[UUID], is_return: bool
) -> AsyncIterator[bytes]:
    waiting: set[UUID] = set()
    gone = set(deleted)
    is_partial = is_return
    woken = asyncio.Event()

    def wake(change: RunChange) -> None:
        nonlocal is_partial
        if change.run_id is None or len(waiting) + len(gone) >= _RUNS_MAX:
            is_partial = True
        elif change.is_deleted:
            gone.add(change.run_id)
            waiting.discard(change.run_id)
        else:
            waiting.add(change.run_id)
        woken.set()

    with changes.following_project(*place, wake):
        woken.set()
        while not changes.is_closed():
            await woken.wait()
            woken.clear()
            if changes.is_closed():
                return
            yield _project_frame(waiting, gone, is_partial=is_partial)
            waiting.clear()
            gone.clear()
            is_partial = False
            await asyncio.sleep(_PROJECT_SECONDS)


def _project_frame(runs: set[UUID], gone: set[UUID], *, is_partial: bool) -> bytes:
    frame = ProjectFrame(
        runs=sorted(text_from_uuid(RUN, one) for one in runs),
        deleted=sorted(text_from_uuid(RUN, one) for one in gone),
        is_partial=is_partial,
    )
    return b"id: %d\nevent: runs\ndata: %s\n\n" % (time.time_ns() // 1_000, _encoder.encode(frame))


class _EventStream(ASGIStreamingResponse):
    """An answer that goes on; its reader is cut when it does not read."""

    def __init__(self, frames: AsyncIterator[bytes], changes: Changes) -> None:
        super().__init__(iterator=frames, headers=_HEADERS, media_type=_MEDIA_TYPE)
        self._changes = changes
        self._cut: Callable[[], None] | None = None

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Send until there is no more, or the server ends: it waits for no reader then."""
        extensions: Any = scope.get("extensions") or {}
        connection = extensions.get(ABORT, {})
        abort, self._cut = connection.get("abort"), connection.get("cut")

        def end() -> None:
            # What a reader has not taken keeps its connection open, behind the end of the answer too.
            if abort is not None:
                asyncio.get_running_loop().call_later(_LAST_SECONDS, abort)

        with self._changes.calling_at_the_end(end):
            await super().__call__(scope, receive, send)

    async def send_body(self, send: Send, receive: Receive) -> None:
        async def timed(message: Message) -> None:
            async with asyncio.timeout(_SEND_SECONDS):
                await send(message)

        try:
            await super().send_body(timed, receive)
        except* TimeoutError:
            _logger.info("a reader was cut: it did not read for %g seconds", _SEND_SECONDS)
            if self._cut is not None:
                # Closed in order, it would stay open until all that waits for the reader was taken.
                self._cut()
                await asyncio.sleep(0)  # the server below hears of it before this answer is over
        finally:
            await self.iterator.aclose()  # type: ignore[union-attr]


def note_changes(changes: Changes) -> Callable[[Message, ASGIScope], Awaitable[None]]:
    """Return what looks at each answer: a write that succeeded has changed its run."""

    async def note(message: Message, scope: ASGIScope) -> None:
        if message["type"] != "http.response.start" or scope["type"] != ScopeType.HTTP:
            return
        # What fits of a batch over a budget is kept.
        is_written = message["status"] < 300 or message["status"] == 429
        if scope["method"] in _READ_METHODS or not is_written:
            return
        if scope["route_handler"].opt.get(IS_QUIET):
            return
        user = scope.get("user")
        for run in (scope.get("path_params", {}).get("run"), _made(message)):
            if run and isinstance(user, Principal):
                with suppress(NotFoundError):
                    changes.touch(user.tenant_id, uuid_from_text(RUN, str(run)))

    return note


def _made(message: Any) -> str | None:
    """Return the id of a run that was made: the last part of its address."""
    for name, value in message.get("headers", ()):
        if name.lower() == b"location" and value.startswith(b"/v1/runs/run_"):
            found: str = value.decode("ascii").rpartition("/")[2]
            return found
    return None
