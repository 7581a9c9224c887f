"""The reading of requests, with an end: a client that never ends its headers is cut off.

The parser itself takes headers of any size into memory before the application sees a byte.
"""

from __future__ import annotations

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mapi.api.events import ABORT

__all__ = ["BoundedProtocol"]

#: Above what the application refuses with a reason, so that only a flood meets this end.
_HEAD_BYTES_MAX: Final = 128 << 10


class HeadTooLargeError(Exception):
    """A request's address and headers pass the limit; the parser answers 400 and closes."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    _head_bytes = 0

    def on_message_begin(self) -> None:
        """Count anew for each request of the connection."""
        self._head_bytes = 0
        super().on_message_begin()
        # An answer that has no end of its own may cut its reader.
        self.scope["extensions"] = {ABORT: {"abort": self.transport.abort}}

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def _count(self, more: int) -> None:
        self._head_bytes += more
        if self._head_bytes > _HEAD_BYTES_MAX:
            # The parser turns what its callback raises into an error of its own.
            raise HeadTooLargeError(f"more than {_HEAD_BYTES_MAX} bytes")
