"""A network between clients and a server that cuts, delays, repeats and reorders what goes through it.

Request by request it does what it was told to do; a request that it holds back reaches the server later
than those that came behind it, when nobody waits for an answer any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import threading
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Fate", "Network", "network"]

_ERROR: Final = b'{"title":"no","status":503,"code":"UNAVAILABLE","type":"","detail":"down"}'
#: Requests that go by before one that was held back is let go.
_HELD_FOR: Final = 3


class Fate(enum.Enum):
    """What becomes of one request."""

    PASSES = enum.auto()
    LOST = enum.auto()
    """It never gets there."""
    ANSWER_LOST = enum.auto()
    """The server does it, and nobody hears of it."""
    ANSWER_CUT = enum.auto()
    """Half of the answer comes through."""
    TWICE = enum.auto()
    """It gets there twice, one behind the other; the second answer comes back."""
    HELD = enum.auto()
    """The connection breaks; the request gets there some requests later."""
    COPIED = enum.auto()
    """It passes, and a copy of it gets there some requests later."""
    REFUSED = enum.auto()
    """A balancer answers that nobody is there."""


class Network:
    """A way to a server.

    Args:
        url: of the server.
    """

    def __init__(self, url: str) -> None:
        way = urlsplit(url)
        self._way = (way.hostname or "", way.port or 0)
        self._fates: list[Fate] = []
        self._held: list[tuple[int, bytes]] = []
        self._count = 0
        self.url = ""

    def foresee(self, fates: Iterable[Fate]) -> None:
        """Say what becomes of the next requests; those behind them pass."""
        self._fates = [*fates]

    async def open(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    async def let_go(self) -> None:
        """Let everything through that is held back still, the last first."""
        held, self._held = self._held, []
        for _, request in reversed(held):
            await self._answer_to(request)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while (request := await _request(reader)) is not None:
                answer = await self._pass_on(request)
                writer.write(answer or b"")
                await writer.drain()
                if not answer or not answer.endswith(b"}"):
                    break
        writer.close()

    async def _pass_on(self, request: bytes) -> bytes | None:
        self._count += 1
        due = [one for at, one in self._held if at <= self._count]
        self._held = [(at, one) for at, one in self._held if at > self._count]
        for one in due:
            await self._answer_to(one)
        fate = self._fates.pop(0) if self._fates else Fate.PASSES
        if fate in {Fate.HELD, Fate.COPIED}:
            self._held.append((self._count + _HELD_FOR, request))
        if fate in {Fate.LOST, Fate.HELD}:
            return None
        if fate is Fate.REFUSED:
            head = b"HTTP/1.1 503 No\r\nContent-Type: application/problem+json\r\n"
            return head + b"Content-Length: %d\r\n\r\n" % len(_ERROR) + _ERROR
        answer = await self._answer_to(request)
        if fate is Fate.TWICE:
            answer = await self._answer_to(request)
        if fate is Fate.ANSWER_LOST:
            return None
        return answer[: len(answer) // 2] if fate is Fate.ANSWER_CUT else answer

    async def _answer_to(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(*self._way)
        try:
            writer.write(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            await writer.drain()
            answer = await reader.read(-1)
        finally:
            writer.close()
        # The connection to the client stays.
        return answer.replace(b"connection: close\r\n", b"")


async def _request(reader: asyncio.StreamReader) -> bytes | None:
    """Return a whole request; ``None`` where there is no more."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return head + await reader.readexactly(int(value))
    return head


@contextlib.contextmanager
def network(url: str) -> Iterator[tuple[Network, asyncio.AbstractEventLoop]]:
    """Give a network to a server, in a loop of a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    found = Network(url)
    server = asyncio.run_coroutine_threadsafe(found.open(), loop).result(10)
    try:
        yield found, loop
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
