"""The application behind a real server, in a thread or in the test's own loop; its event streams."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn
from tests.mapi.storing import temporary_objects

from mapi.api.app import build_app
from mapi.database.door import Database
from mapi.serve.protocol import BoundedProtocol
from mapi.tracking.changes import Changes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import httpx

    from mapi.api.entrance import Entrance

__all__ = ["Frame", "frames", "serving", "serving_replica"]


@contextlib.contextmanager
def serving(database_url: str, entrance: Entrance | None = None) -> Iterator[str]:
    """Serve on a free port; yield the address."""
    listening = socket.create_server(("127.0.0.1", 0))
    started = threading.Event()
    servers: list[uvicorn.Server] = []

    class Started(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # signals are the main thread's

    async def run() -> None:
        database = Database(database_url, connections=4)
        await database.open()
        try:
            app = build_app(database, version="0", objects=temporary_objects(), entrance=entrance)
            config = uvicorn.Config(
                app, http=BoundedProtocol, log_config=None, access_log=False, loop="asyncio"
            )
            servers.append(Started(config))
            await servers[0].serve(sockets=[listening])
        finally:
            await database.close()

    thread = threading.Thread(target=asyncio.run, args=[run()])
    thread.start()
    try:
        assert started.wait(30), "the server did not start"
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        for server in servers:
            server.should_exit = True
        thread.join(30)
        listening.close()


@contextlib.asynccontextmanager
async def serving_replica(
    database_url: str, *, connections: int = 6
) -> AsyncIterator[tuple[str, Changes]]:
    """Serve one replica; yield its address, and the changes that it hears of."""
    database = Database(database_url, connections=connections)
    await database.open()
    changes = Changes(database, database_url)
    app = build_app(database, version="0", objects=temporary_objects(), changes=changes)
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=BoundedProtocol,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=3,
            ws="none",
        )
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
