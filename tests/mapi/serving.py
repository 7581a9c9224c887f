"""The application behind a real server, in a thread of the tests with a loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from typing import TYPE_CHECKING

import uvicorn

from mapi.api.app import build_app
from mapi.database.door import Database
from mapi.serve.protocol import BoundedProtocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mapi.api.entrance import Entrance

__all__ = ["serving"]


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
            app = build_app(database, version="0", entrance=entrance)
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
