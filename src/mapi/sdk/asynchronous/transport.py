"""Calls over HTTP: each within its deadline, made again where that is safe.

Below `httpcore`, which frames HTTP, every read and write is bounded by what its call has left. That
is why this is not `httpx`: its limits are for one read each, and a server that sends a byte a second
would hold a call for as long as it likes.
"""

from __future__ import annotations

import os
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit

import httpcore
import msgspec

from mapi.config import proxy_for
from mapi.sdk.calls import Call, Reply, decoded
from mapi.sdk.deadlines import Deadline
from mapi.sdk.errors import (
    AnswerUnreadableError,
    ClientError,
    ConnectionFailedError,
    DeadlineError,
    NotFoundError,
    ServerUnreachableError,
    error_of_answer,
)
from mapi.sdk.pacing import async_resolve, async_sleep
from mapi.sdk.repeating import TRIES_MAX, pause_before_repetition
from mapi.sdk.server import Server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping


__all__ = ["AsyncTransport"]

#: The largest answer that is no transfer; a comparison of ten long runs has 20 MB.
ANSWER_BYTES_MAX: Final = 128 << 20
#: Requests of one client at a time; more wait for each other.
_CONNECTIONS_MAX: Final = 32
#: The server closes what is silent for five seconds; a request must not cross with that.
_KEEP_ALIVE_SECONDS: Final = 3.0
_PROBLEM_BYTES_MAX: Final = 1 << 20

_Found = TypeVar("_Found")


class AsyncTransport:
    """The way to one server.

    Args:
        server: where it is, and the token.
        timeout_seconds: of one call, all tries and pauses included.
        agent: how the client names itself.
        tries: of one call, at most.
    """

    def __init__(
        self, server: Server, *, timeout_seconds: float, agent: str, tries: int = TRIES_MAX
    ) -> None:
        self.server = server
        self.timeout_seconds = timeout_seconds
        self.tries = tries
        self._prefix = urlsplit(server.url).path
        self._headers = {
            "User-Agent": agent,
            "Accept": "application/json, */*",
        }
        if server.token:
            self._headers["Authorization"] = f"Bearer {server.token}"
        self._pool: httpcore.AsyncConnectionPool | None = None
        self._process = os.getpid()

    async def close(self) -> None:
        """Close the connections; the next call opens one again."""
        pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            await pool.aclose()

    async def send(self, call: Call[_Found], *, timeout_seconds: float | None = None) -> _Found:
        """Return the answer to a call, after as many tries as its deadline allows.

        Args:
            call: what is asked.
            timeout_seconds: in place of the client's.

        Raises:
            ApiError: the server refuses the call.
            ConnectionFailedError: there is no answer, within the time or at all.
        """
        reply = await self.reply(call, timeout_seconds=timeout_seconds)
        if reply is None:
            return cast("_Found", None)
        try:
            return decoded(call, reply)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise AnswerUnreadableError(
                f"{call.method} {call.path} was answered with what this client cannot read: {error}"
            ) from None

    async def reply(
        self, call: Call[Any], *, timeout_seconds: float | None = None
    ) -> Reply | None:
        """Return the answer as it is; ``None`` of a DELETE that a try before has done."""
        deadline = Deadline(self.timeout_seconds if timeout_seconds is None else timeout_seconds)
        tries = 0
        while True:
            tries += 1
            try:
                return await self._try(call, deadline)
            except ClientError as error:
                # What a try without an answer deleted is not there any more.
                if call.method == "DELETE" and tries > 1 and isinstance(error, NotFoundError):
                    return None
                pause = pause_before_repetition(
                    error, call, tries=tries, remaining_seconds=deadline.remaining()
                )
                if pause is None or tries >= self.tries:
                    raise
            await async_sleep(pause)

    async def download(
        self,
        call: Call[Any],
        write: Callable[[bytes], object],
        *,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> int:
        """Pass an answer of any length on as it comes; each piece has the time of a call.

        Args:
            call: what is asked.
            write: takes the pieces. What it was given is not the whole if this raises.
            progress: takes how many bytes came, and how many there are, if that is known.

        Returns:
            How many bytes there were.
        """
        tries, size = 0, 0
        while True:
            tries += 1
            deadline = Deadline(self.timeout_seconds)
            try:
                async with self.stream(call, deadline) as (_, headers, chunks):
                    whole = headers.get("content-length")
                    async for chunk in chunks:
                        write(chunk)
                        size += len(chunk)
                        deadline.extend(self.timeout_seconds)
                        if progress is not None:
                            progress(size, None if whole is None else int(whole))
                    return size
            except ClientError as error:
                pause = pause_before_repetition(
                    error, call, tries=tries, remaining_seconds=self.timeout_seconds
                )
                # What was passed on cannot be taken back.
                if pause is None or size or tries >= self.tries:
                    raise
            await async_sleep(pause)

    async def follow(self, call: Call[Any], reply: Reply) -> bytes:
        """Return the content of a reply, from where it says that it is; our token stays here."""
        if reply.status < 300:
            return reply.body
        parts = urlsplit(reply.headers["location"])
        other = AsyncTransport(
            Server(f"{parts.scheme}://{parts.netloc}", ""),
            timeout_seconds=self.timeout_seconds,
            agent=self._headers["User-Agent"],
        )
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        try:
            return await other.send(Call(call.method, path, bytes))
        finally:
            await other.close()

    async def _try(self, call: Call[Any], deadline: Deadline) -> Reply:
        async with self.stream(call, deadline) as (status, headers, chunks):
            parts: list[bytes] = []
            size = 0
            async for chunk in chunks:
                size += len(chunk)
                if size > ANSWER_BYTES_MAX:
                    raise AnswerUnreadableError(
                        f"{call.method} {call.path} was answered with more than "
                        f"{ANSWER_BYTES_MAX} bytes."
                    )
                parts.append(chunk)
            return Reply(status, headers, b"".join(parts))

    @asynccontextmanager
    async def stream(
        self, call: Call[Any], deadline: Deadline
    ) -> AsyncIterator[tuple[int, Mapping[str, str], AsyncIterator[bytes]]]:
        """Yield status, headers and the pieces of an answer as they come; one try.

        Args:
            call: what is asked.
            deadline: of all of it; who reads may extend it from piece to piece.

        Raises:
            ApiError: the server refuses the call.
            ConnectionFailedError: there is no answer, or it breaks off.
        """
        headers = {**self._headers, **call.headers}
        if call.body or call.method in {"POST", "PUT", "PATCH"}:
            headers["Content-Length"] = str(len(call.body))
        where = f"{call.method} {self.server.url}{call.path.partition('?')[0]}"
        try:
            async with self._opened().stream(
                call.method,
                f"{self._origin}{self._prefix}{call.path}",
                headers=list(headers.items()),
                content=call.body,
                extensions={"timeout": _timeouts(deadline)},
            ) as answer:
                named = {
                    name.decode("latin-1").lower(): value.decode("latin-1")
                    for name, value in answer.headers
                }
                if answer.status >= 300 and not (call.follows and "location" in named):
                    raise error_of_answer(
                        answer.status, named, await _start_of(answer), where=where
                    )
                yield answer.status, named, answer.aiter_stream()
        except httpcore.UnsupportedProtocol as error:
            raise ServerUnreachableError(f"{where}: {error}") from None
        except (httpcore.ConnectError, httpcore.ProxyError) as error:
            if isinstance(error.__cause__ or error.__context__, ssl.SSLError):
                # It will be the same in a moment: nothing to try again.
                raise AnswerUnreadableError(
                    f"{self.server.url} does not prove who it is ({_said(error)})."
                ) from None
            raise ServerUnreachableError(
                f"{self.server.url} cannot be reached ({_said(error)}): does the server run?"
            ) from None
        except (httpcore.TimeoutException, TimeoutError):
            raise DeadlineError(
                f"{where} had no whole answer within {deadline.seconds:g} seconds."
            ) from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise ConnectionFailedError(
                f"{where}: the connection broke before the answer was whole ({_said(error)})."
            ) from None

    @property
    def _origin(self) -> str:
        parts = urlsplit(self.server.url)
        return f"{parts.scheme}://{parts.netloc}"

    def _opened(self) -> httpcore.AsyncConnectionPool:
        # After a fork the connections are the parent's: two processes would read each other's
        # answers from them.
        if self._pool is None or self._process != os.getpid():
            self._process = os.getpid()
            self._pool = _pool_for(self.server.url)
        return self._pool


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


async def _start_of(answer: httpcore.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in answer.aiter_stream():
        parts.append(chunk)
        size += len(chunk)
        if size > _PROBLEM_BYTES_MAX:
            break
    return b"".join(parts)


def _timeouts(deadline: Deadline) -> dict[str, Any]:
    # The library passes the first three on to the streams below as they are.
    return {
        "connect": deadline,
        "read": deadline,
        "write": deadline,
        "pool": max(0.0, deadline.remaining()),
    }


def _pool_for(url: str) -> httpcore.AsyncConnectionPool:
    limits: dict[str, Any] = {
        "ssl_context": ssl.create_default_context() if url.startswith("https:") else None,
        "max_connections": _CONNECTIONS_MAX,
        "keepalive_expiry": _KEEP_ALIVE_SECONDS,
        "network_backend": _Network(),
    }
    proxy = proxy_for(url)
    if proxy is None:
        return httpcore.AsyncConnectionPool(**limits)
    parts = urlsplit(proxy)
    login = None if parts.username is None else (parts.username, parts.password or "")
    address = f"{parts.scheme}://{parts.hostname}:{parts.port or 80}"
    return httpcore.AsyncHTTPProxy(proxy_url=address, proxy_auth=login, **limits)


class _Network(httpcore.AsyncNetworkBackend):
    """Connections whose reads and writes ask a deadline how long they may take."""

    def __init__(self) -> None:
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(  # noqa: PLR0917 - as the library has it
        self,
        host: str,
        port: int,
        timeout: Any = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            addresses = await async_resolve(host, port)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from None
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for at, address in enumerate(addresses):
            # Each of several addresses has its share of the time, so that a dead first one does
            # not take all of it.
            share = _left(timeout, httpcore.ConnectTimeout) / (len(addresses) - at)
            try:
                return _Stream(
                    await self._inner.connect_tcp(
                        address, port, share, local_address, socket_options
                    )
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        await async_sleep(seconds)


class _Stream(httpcore.AsyncNetworkStream):
    """One connection."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: Any = None) -> bytes:  # noqa: ASYNC109
        return await self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    async def write(self, buffer: bytes, timeout: Any = None) -> None:  # noqa: ASYNC109
        # In pieces, as the library gives each of its writes all of the time.
        for at in range(0, len(buffer), _PIECE_BYTES):
            piece = buffer[at : at + _PIECE_BYTES]
            await self._inner.write(piece, _left(timeout, httpcore.WriteTimeout))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: Any = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(await self._inner.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:  # lint-ok: names: as the library calls it
        return self._inner.get_extra_info(info)


_PIECE_BYTES: Final = 1 << 14


def _left(timeout: Any, kind: type[httpcore.TimeoutException]) -> float:
    """Return the seconds that a read, a write or a connection may take.

    Raises:
        TimeoutException: none are left.
    """
    seconds = timeout.remaining() if isinstance(timeout, Deadline) else timeout
    if seconds is None:
        return 3_600.0
    if seconds <= 0:
        raise kind("the time of the call is over")
    return float(seconds)
