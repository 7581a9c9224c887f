"""Runs the platform until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import threading
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
import uvloop

from mapi.access.secret import derived_secret, server_secret
from mapi.access.sessions import write_sign_in_link
from mapi.access.tokens import authenticate
from mapi.api.app import build_app
from mapi.api.entrance import HEARTBEAT_SECONDS, Entrance
from mapi.api.journal import write_log_to
from mapi.api.pages import built_pages
from mapi.database.door import Database
from mapi.errors import DatabaseError, SettingError
from mapi.objects.opening import open_store
from mapi.sdk.server import Server, announce_server
from mapi.serve.heartbeats import watch_heartbeats
from mapi.serve.housekeeping import keep_house, retention_of
from mapi.serve.platform import Foundation, lay_foundation, require_free_home
from mapi.serve.protocol import BoundedProtocol
from mapi.serve.stopping import Stopping, stop_at_eof
from mapi.tracking.changes import Changes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from mapi.config import Settings
    from mapi.database.embedded.server import EmbeddedServer

__all__ = ["entrance_of", "serve"]

_logger = logging.getLogger("mapi.serve")
#: Between two looks whether our own database lives.
_LOOK_SECONDS = 0.25

#: Of one token on one replica, where a server is shared. A training that logs every second from
#: eight ranks sends 8; a page that opens sends 30.
_REQUESTS_PER_SECOND = 300

#: How long requests under way may take after the server was told to stop.
_DRAIN_SECONDS = 10


def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    version: str,
    say: Callable[[str], None],
    stops_at_eof: bool = False,
) -> None:
    """Start everything, serve until SIGTERM or SIGINT, and stop everything.

    Args:
        settings: what the operator decides.
        host: the address to listen on.
        port: 0 takes any that is free.
        version: of the program.
        say: receives what the operator should read.
        stops_at_eof: whether the end of standard input ends it as SIGTERM does.

    Raises:
        DatabaseError: the database cannot be started, reached or migrated.
        SettingError: settings do not fit each other, or nobody can listen there.
    """
    stopping = Stopping()
    with stopping.heard(), ExitStack() as undo:
        if stops_at_eof:
            # Not earlier: an input may have ended already, and the signal has to be heard.
            threading.Thread(target=stop_at_eof, daemon=True).start()
        # Before the port, which the other server has as well.
        require_free_home(settings)
        listening = _listen(host, port)
        undo.callback(listening.close)
        foundation = lay_foundation(settings, undo, held=stopping.held)
        url = settings.public_url or _url(host, listening.getsockname()[1])
        if foundation.token is not None:
            _announce(settings.home, url, foundation.token, undo=undo)
        says_requests = settings.log_level or ("warning" if is_ours(settings) else "info")
        undo.callback(_stop_logging, write_log_to(level=says_requests))
        if settings.keeps_objects_apart:
            _logger.warning(
                "objects are files in %s, and those of another server are not seen here: set "
                "MAPI_BUNDLES_URL where there is more than one",
                settings.home / "objects",
            )
        ready = _Ready(url, say)
        with (
            stopping.in_loop(),
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            runner.run(
                _until_told(
                    stopping,
                    lambda: _serve(
                        settings,
                        foundation,
                        listening,
                        version=version,
                        stopping=stopping,
                        ready=ready,
                    ),
                )
            )


async def _until_told(stopping: Stopping, work: Callable[[], Awaitable[None]]) -> None:
    """Await work, which a signal cancels as long as nothing gentler is agreed upon."""
    task = asyncio.ensure_future(work())
    with stopping.ended_by(task.cancel):
        try:
            await task
        except asyncio.CancelledError:
            if not stopping.is_told:
                raise


@dataclass(frozen=True, slots=True)
class _Ready:
    """What is said when requests are answered."""

    url: str
    say: Callable[[str], None]

    async def __call__(self, database: Database, foundation: Foundation) -> None:
        self.say(self.url)
        if foundation.token is not None:
            code = await _local_link(database, foundation.token)
            self.say(f"Sign in once: {self.url}/sign-in?code={code}")


async def _local_link(database: Database, token: str) -> str:
    principal = await authenticate(database, token)
    async with database.transaction(principal.reach) as connection:
        return await write_sign_in_link(
            connection, name=principal.name, scopes=principal.scopes, user_id=principal.user_id
        )


def is_ours(settings: Settings) -> bool:
    """Say whether the database is one of our own, for the people of one machine."""
    return settings.database_url is None


def entrance_of(settings: Settings, *, host: str, secret: bytes) -> Entrance:
    """Return the way in that the settings ask for.

    Args:
        settings: what the operator decides.
        host: where the server listens.
        secret: the installation's.
    """
    rate = settings.rate_limit
    if rate is None:
        rate = 0 if is_ours(settings) else _REQUESTS_PER_SECOND
    # With an address for users or a proxy, whoever comes from loopback may come from anywhere.
    is_private = (
        host in {"127.0.0.1", "::1", "localhost"}
        and settings.public_url is None
        and not settings.trusted_proxies
    )
    return Entrance(
        public_url=settings.public_url,
        checks_host=True,
        names=frozenset({host.lower()}),
        secret=secret,
        requests_per_second=rate,
        logs_requests=(settings.log_level or ("warning" if is_ours(settings) else "info"))
        == "info",
        metrics_open=is_private and settings.metrics_token is None,
        metrics_token=settings.metrics_token,
        retention=retention_of(settings),
        oidc=settings.oidc,
        # A run misses three before it counts as lost.
        heartbeat_seconds=min(HEARTBEAT_SECONDS, settings.heartbeat_timeout_seconds / 4),
    )


async def _serve(
    settings: Settings,
    foundation: Foundation,
    listening: socket.socket,
    *,
    version: str,
    stopping: Stopping,
    ready: _Ready,
) -> None:
    database = Database(
        foundation.database_url,
        connections=settings.database_connections,
        pooled=settings.is_pooled,
    )
    async with AsyncExitStack() as undo:
        await database.open()
        undo.push_async_callback(database.close)
        secret = await server_secret(database)
        entrance = entrance_of(settings, host=listening.getsockname()[0], secret=secret)
        objects = open_store(
            settings.bundles_url,
            home=settings.home,
            upload_url=f"{ready.url}/v1/uploads",
            secret=derived_secret(secret, "mapi.objects.upload.1"),
        )
        changes = Changes(database, settings.database_direct_url or foundation.database_url)
        server = _Server(
            uvicorn.Config(
                build_app(
                    database,
                    version=version,
                    entrance=entrance,
                    changes=changes,
                    objects=objects,
                    pages=built_pages(),
                ),
                http=BoundedProtocol,
                log_config=None,
                access_log=False,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
                timeout_graceful_shutdown=_DRAIN_SECONDS,
                server_header=False,
            ),
            lambda: ready(database, foundation),
            changes.end_streams,
        )
        keeper = asyncio.create_task(_keep_database(foundation.server))
        undo.push_async_callback(_ended, keeper)
        watch = asyncio.create_task(
            watch_heartbeats(database, changes, timeout_seconds=settings.heartbeat_timeout_seconds)
        )
        undo.push_async_callback(_ended, watch)
        house = asyncio.create_task(
            keep_house(
                database,
                objects[0],
                retention_of(settings),
                compaction_hours=settings.compaction_hours,
            )
        )
        undo.push_async_callback(_ended, house)
        with stopping.ended_by(server.end):
            await server.serve(sockets=[listening])


async def _keep_database(server: EmbeddedServer | None) -> None:
    """Start our own database again when it dies; what it had acknowledged is there again."""
    while server is not None:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            # Not in a thread: the database is bound to the one that starts it, and nobody can be
            # answered without it anyway.
            if server.restart_if_dead():
                _logger.error("the database had died and was started again")
        except DatabaseError:
            _logger.exception("the database has died and does not start yet")


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class _Server(uvicorn.Server):
    """A server whose end is ours to begin."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], Awaitable[None]],
        end_streams: Callable[[], None],
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
            await self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Its own way raises the signal again behind its end, when the database still has to stop.
        yield


def _url(host: str, port: int) -> str:
    # Who listens on every address is reached on this machine by its own.
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - compared only
    return f"http://{f'[{name}]' if ':' in name and name[0] != '[' else name}:{port}"


def _stop_logging(writer: logging.Handler) -> None:
    for name in ("mapi", "uvicorn.error", "psycopg.pool"):
        logging.getLogger(name).removeHandler(writer)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise _no_address(error, host, port) from error
    # An answer in two segments would else wait 40 ms for the first one's acknowledgement.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def _no_address(error: OSError, host: str, port: int) -> SettingError:
    """Return why nobody can listen there, and what helps."""
    if error.errno == errno.EADDRINUSE:
        return SettingError(
            f"Port {port} of {host} is in use by another program, which `lsof -i :{port}` names. "
            "Stop that one, or take another port: --port 0 takes any that is free."
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        return SettingError(
            f"Port {port} is for privileged users. Take one from 1024 up with --port, and let a "
            "proxy before the server have that one."
        )
    # What the library adds about its own call tells nobody more.
    reason = (error.strerror or str(error)).partition(" (while ")[0]
    return SettingError(
        f"{host} is no address of this machine ({reason}). --host takes one of "
        "its own: 127.0.0.1 for itself alone, 0.0.0.0 for all."
    )


def _announce(home: Path, url: str, token: str, *, undo: ExitStack) -> None:
    """Let clients of this machine find the server: where it is, and the token for it."""
    path = home / "local.json"
    undo.callback(os.close, announce_server(path, Server(url, token)))
    undo.callback(path.unlink, missing_ok=True)
