"""A real server on a real socket, and a reader of its event streams."""

from __future__ import annotations

import asyncio
import json
import socket
import warnings
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn
from litestar.exceptions import LitestarDeprecationWarning

from mapi.api.app import build_app
from mapi.database.door import Database
from mapi.tracking.changes import Changes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx

__all__ = ["Frame", "frames", "serving"]


@asynccontextmanager
async def serving(
    database_url: str, *, connections: int = 6
) -> AsyncIterator[tuple[str, Changes]]:
    """Serve one replica; yield its address, and the changes that it hears of."""
    database = Database(database_url, connections=connections)
    await database.open()
    changes = Changes(database, database_url)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LitestarDeprecationWarning)
        app = build_app(database, version="0", changes=changes)
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=3, ws="none")
    )
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", changes
    finally:
        changes.end_streams()
        server.should_exit = True
        await task
        listening.close()
        await database.close()


@dataclass(frozen=True)
class Frame:
    """One server-sent event."""

    kind: str
    id: str | None
    body: dict[str, Any]


async def frames(answer: httpx.Response) -> AsyncIterator[Frame]:
    """Yield the events of a stream; comments are passed over."""
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Frame(fields["event"], fields.get("id"), json.loads(fields["data"]))
            fields = {}
