"""Runs the platform until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING

import uvicorn

from mapi.api.app import build_app
from mapi.database.door import Database
from mapi.serve.heartbeats import watch_heartbeats
from mapi.serve.platform import Foundation, lay_foundation
from mapi.tracking.changes import Changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mapi.config import Settings

__all__ = ["serve"]

#: How long requests under way may take after the server was told to stop.
_DRAIN_SECONDS = 10


def serve(
    settings: Settings, *, host: str, port: int, version: str, say: Callable[[str], None]
) -> None:
    """Start everything, serve until SIGTERM or SIGINT, and stop everything.

    Args:
        settings: what the operator decides.
        host: the address to listen on.
        port: 0 takes any that is free.
        version: of the program.
        say: receives what the operator should read.

    Raises:
        DatabaseError: the database cannot be started, reached or migrated.
        SettingError: settings do not fit each other.
        OSError: the address is in use.
    """
    with ExitStack() as undo:
        listening = _listen(host, port)
        undo.callback(listening.close)
        foundation = lay_foundation(settings, undo)
        url = f"http://{host}:{listening.getsockname()[1]}"
        if foundation.token is not None:
            _announce(settings.home, url, foundation.token, undo=undo)
        asyncio.run(
            _serve(settings, foundation, listening, version=version, ready=lambda: say(url))
        )


async def _serve(
    settings: Settings,
    foundation: Foundation,
    listening: socket.socket,
    *,
    version: str,
    ready: Callable[[], None],
) -> None:
    database = Database(foundation.database_url, connections=settings.database_connections)
    await database.open()
    changes = Changes(database, settings.database_direct_url or foundation.database_url)
    watch = asyncio.create_task(
        watch_heartbeats(database, changes, timeout_seconds=settings.heartbeat_timeout_seconds)
    )
    try:
        server = _Server(
            uvicorn.Config(
                build_app(database, version=version, changes=changes),
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=_DRAIN_SECONDS,
                server_header=False,
            ),
            ready,
            changes.end_streams,
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, server.end)
        await server.serve(sockets=[listening])
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await database.close()


class _Server(uvicorn.Server):
    """A server whose end is ours to begin."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], end_streams: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._end_streams = end_streams

    def end(self) -> None:
        """Stop accepting, and end when the requests under way have their answers."""
        self.should_exit = True
        # They would never have their answers.
        self._end_streams()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Its own way raises the signal again behind its end, when the database still has to stop.
        yield


def _listen(host: str, port: int) -> socket.socket:
    found = socket.create_server((host, port), backlog=512)
    # An answer in two segments would else wait 40 ms for the first one's acknowledgement.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def _announce(home: Path, url: str, token: str, *, undo: ExitStack) -> None:
    """Let clients of this machine find the server: where it is, and the token for it."""
    path = home / "local.json"
    partial = path.with_suffix(".part")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump({"url": url, "token": token, "pid": os.getpid()}, file)
    partial.replace(path)
    undo.callback(path.unlink, missing_ok=True)
