# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
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
from mapi.sdk.pacing import resolve, sleep

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["pool_for"]

#: Requests of one client at a time; more wait for each other.
_CONNECTIONS_MAX: Final = 32
#: The server closes what is silent for five seconds; a request must not cross with that.
_KEEP_ALIVE_SECONDS: Final = 3.0
#: Of one write below: the library gives each of its writes all of the time.
_WRITE_BYTES: Final = 1 << 14


def pool_for(url: str) -> httpcore.ConnectionPool:
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
        return httpcore.ConnectionPool(**limits)
    found = proxy_of(proxy, variable=f"{urlsplit(url).scheme}_proxy")
    address = httpcore.URL(scheme=found.scheme, host=found.host, port=found.port, target="/")
    # The library refuses one for a proxy that is spoken to without TLS.
    tls = ssl.create_default_context() if found.scheme == "https" else None
    return httpcore.HTTPProxy(
        proxy_url=address, proxy_auth=found.login, proxy_ssl_context=tls, **limits
    )


class _Network(httpcore.NetworkBackend):
    """Connections whose reads and writes ask a deadline how long they may take."""

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(  # noqa: PLR0917 - as the library has it
        self,
        host: str,
        port: int,
        timeout: Any = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            left = _left(timeout, httpcore.ConnectTimeout)
            addresses = resolve(host, port, seconds=left)
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
                    self._inner.connect_tcp(address, port, share, local_address, socket_options)
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    def sleep(self, seconds: float) -> None:
        sleep(seconds)


class _Stream(httpcore.NetworkStream):
    """One connection.

    The library writes the head of a request and its body apart, and then reads. What is small waits
    for what comes next: as one message it wakes the server once.
    """

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._held = b""
        self._process = os.getpid()

    def read(self, max_bytes: int, timeout: Any = None) -> bytes:
        if self._process != os.getpid():
            # What is under way at a fork goes on in the parent; two would each read a part of it.
            raise httpcore.ReadError("it is that of the process before a fork")
        if self._held:
            # A server that closes before it has read all may have answered, as the library has it.
            with suppress(httpcore.WriteError):
                self._send(timeout)
        return self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: Any = None) -> None:
        if self._process != os.getpid():
            raise httpcore.WriteError("it is that of the process before a fork")
        self._held += buffer
        if len(self._held) >= _WRITE_BYTES:
            self._send(timeout)

    def _send(self, timeout: Any) -> None:
        buffer, self._held = self._held, b""
        # In pieces, as the library gives each of its writes all of the time.
        for at in range(0, len(buffer), _WRITE_BYTES):
            piece = buffer[at : at + _WRITE_BYTES]
            self._inner.write(piece, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: Any = None,
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left))

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
