"""Connections whose reads and writes ask a deadline how long they may take.

Below `httpcore`, which frames HTTP, every read and write is bounded by what its call has left. That
is why this is not `httpx`: its limits are for one read each, and a server that sends a byte a second
would hold a call for as long as it likes.
"""

from __future__ import annotations

import os
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httpcore

from mapi.config import proxy_for
from mapi.sdk.addresses import proxy_of
from mapi.sdk.deadlines import Deadline
from mapi.sdk.pacing import async_resolve, async_sleep

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["pool_for"]

#: Requests of one client at a time; more wait for each other.
_CONNECTIONS_MAX: Final = 32
#: The server closes what is silent for five seconds; a request must not cross with that.
_KEEP_ALIVE_SECONDS: Final = 3.0
#: Of one write below: the library gives each of its writes all of the time.
_WRITE_BYTES: Final = 1 << 14


def pool_for(url: str) -> httpcore.AsyncConnectionPool:
    """Return an empty pool of connections to an address, by a proxy where there is one.

    Raises:
        SettingError: a variable names a proxy that is none.
    """
    limits: dict[str, Any] = {
        "ssl_context": ssl.create_default_context() if url.startswith("https:") else None,
        "max_connections": _CONNECTIONS_MAX,
        "keepalive_expiry": _KEEP_ALIVE_SECONDS,
        "network_backend": _Network(),
    }
    proxy = proxy_for(url)
    if proxy is None:
        return httpcore.AsyncConnectionPool(**limits)
    found = proxy_of(proxy, variable=f"{urlsplit(url).scheme}_proxy")
    address = httpcore.URL(scheme=found.scheme, host=found.host, port=found.port, target="/")
    # The library refuses one for a proxy that is spoken to without TLS.
    tls = ssl.create_default_context() if found.scheme == "https" else None
    return httpcore.AsyncHTTPProxy(
        proxy_url=address, proxy_auth=found.login, proxy_ssl_context=tls, **limits
    )


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
            left = _left(timeout, httpcore.ConnectTimeout)
            addresses = await async_resolve(host, port, seconds=left)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from None
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
    """One connection.

    The library writes the head of a request and its body apart, and then reads. What is small waits
    for what comes next: as one message it wakes the server once.
    """

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self._held = b""
        self._process = os.getpid()

    async def read(self, max_bytes: int, timeout: Any = None) -> bytes:  # noqa: ASYNC109
        if self._process != os.getpid():
            # What is under way at a fork goes on in the parent; two would each read a part of it.
            raise httpcore.ReadError("it is that of the process before a fork")
        if self._held:
            # A server that closes before it has read all may have answered, as the library has it.
            with suppress(httpcore.WriteError):
                await self._send(timeout)
        return await self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    async def write(self, buffer: bytes, timeout: Any = None) -> None:  # noqa: ASYNC109
        if self._process != os.getpid():
            raise httpcore.WriteError("it is that of the process before a fork")
        self._held += buffer
        if len(self._held) >= _WRITE_BYTES:
            await self._send(timeout)

    async def _send(self, timeout: Any) -> None:  # noqa: ASYNC109
        buffer, self._held = self._held, b""
        # In pieces, as the library gives each of its writes all of the time.
        for at in range(0, len(buffer), _WRITE_BYTES):
            piece = buffer[at : at + _WRITE_BYTES]
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
