"""Connections with an end: of headers without one, of a request that stalls, of an unread answer.

The parser itself takes headers of any size into memory before the application sees a byte, and the
server below waits for the rest of a request, and for a reader of its answer, as long as it lasts.
"""

from __future__ import annotations

import logging
import socket
import struct
from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from mapi.api.events import ABORT

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

__all__ = ["BoundedProtocol"]

#: Above what the application refuses with a reason, so that only a flood meets this end.
_HEAD_BYTES_MAX: Final = 128 << 10
#: A timer may come so much before its time.
_CLOCK_SECONDS: Final = 0.01
#: Closing sends a reset and drops what was not taken (socket(7)): the kernel would keep offering it.
_AT_ONCE: Final = struct.pack("ii", 1, 0)
_TIMEOUT: Final = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 34\r\nconnection: close\r\n\r\nNothing more of the request came.\n"
)
_logger: Final = logging.getLogger("mapi.serve")


class HeadTooLargeError(Exception):
    """A request's address and headers pass the limit; the parser answers 400 and closes."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection.

    Attributes:
        head_seconds: in all, from the first byte to the end of the headers; of a new connection,
            until the first byte.
        body_seconds: without a byte more of a body; one that goes on slowly is read to its end.
        answer_seconds: without a byte taken of an answer; longer than anything in between buffers
            for a slow reader.
    """

    head_seconds = 30.0
    body_seconds = 30.0
    answer_seconds = 120.0

    _head_bytes = 0
    #: Looks whether the rest of a request comes.
    _request_timer: TimerHandle | None = None
    #: Looks whether an answer is taken.
    _answer_timer: TimerHandle | None = None
    _heard_at = 0.0
    _is_head_read = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a request, not for ever."""
        super().connection_made(transport)
        self._wait_for_request(self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._request_timer = _cancelled(self._request_timer)
        self._answer_timer = _cancelled(self._answer_timer)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Count anew for each request of the connection."""
        self._head_bytes = 0
        self._is_head_read = False
        self._wait_for_request(self.head_seconds)
        if not self.flow.write_paused:
            # What was left of the answer before says nothing of how the next one is taken.
            self._answer_timer = _cancelled(self._answer_timer)
        super().on_message_begin()
        # An answer that has no end of its own may end its connection: in order, or for a reader
        # that does not read.
        self.scope["extensions"] = {ABORT: {"abort": self.transport.abort, "cut": self._cut}}

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Wait for the body, as long as it goes on."""
        self._is_head_read = True
        self._wait_for_request(self.body_seconds)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._heard_at = self.loop.time()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for nothing: the request is whole."""
        self._request_timer = _cancelled(self._request_timer)
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Watch whether the answer, which waits, is taken."""
        super().pause_writing()
        # Anew: until it is resumed, what waits grows by nothing.
        self._answer_timer = _cancelled(self._answer_timer)
        self._watch_reader()

    def resume_writing(self) -> None:
        """Hear that the reader has taken what waited."""
        self._answer_timer = _cancelled(self._answer_timer)
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Watch whether the rest of the answer is taken."""
        super().on_response_complete()
        self._watch_reader()

    def _count(self, more: int) -> None:
        self._head_bytes += more
        if self._head_bytes > _HEAD_BYTES_MAX:
            # The parser turns what its callback raises into an error of its own.
            raise HeadTooLargeError(f"more than {_HEAD_BYTES_MAX} bytes")

    def _wait_for_request(self, seconds: float) -> None:
        self._request_timer = _cancelled(self._request_timer)
        self._heard_at = self.loop.time()
        self._request_timer = self.loop.call_later(seconds, self._end_request, seconds)

    def _end_request(self, seconds: float) -> None:
        """End a connection whose request does not go on; its body is waited for while it does."""
        if self._is_held_up():
            self._wait_for_request(seconds)
            return
        left = self._heard_at + seconds - self.loop.time()
        if left > _CLOCK_SECONDS:
            self._request_timer = self.loop.call_later(left, self._end_request, seconds)
            return
        self._request_timer = None
        cycle = self._current if self._is_head_read else None
        _logger.info("a connection was ended: its request stood still for %g seconds", seconds)
        if (self._is_head_read or self._head_bytes) and not (
            cycle is not None and cycle.response_started
        ):
            self.transport.write(_TIMEOUT)
        # The application is told that the client is gone, as soon as this is done.
        self.transport.close()
        self._watch_reader()

    @property
    def _current(self) -> RequestResponseCycle | None:
        """The newest request and its answer."""
        return self.cycle

    def _is_held_up(self) -> bool:
        """Whether it is us who do not go on: with reading, or with the request before."""
        cycle = self._current
        if cycle is None:
            return False
        if not self._is_head_read:
            return not cycle.response_complete
        return (
            self.flow.read_paused
            or bool(self.pipeline)
            # The client may not send before it was told to go on.
            or (cycle.waiting_for_100_continue and not cycle.response_complete)
        )

    def _watch_reader(self) -> None:
        if self._answer_timer is None and self.transport.get_write_buffer_size():
            self._answer_timer = self.loop.call_later(
                self.answer_seconds, self._look_at_reader, self.transport.get_write_buffer_size()
            )

    def _look_at_reader(self, left_before: int) -> None:
        """Cut a reader who has taken nothing."""
        self._answer_timer = None
        if self.transport.get_write_buffer_size() < left_before:
            self._watch_reader()
            return
        _logger.info("a reader was cut: it did not read for %g seconds", self.answer_seconds)
        self._cut()

    def _cut(self) -> None:
        """End the connection now, with all that the reader has not taken."""
        found: socket.socket | None = self.transport.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()


def _cancelled(timer: TimerHandle | None) -> TimerHandle | None:
    """Return no timer."""
    if timer is not None:
        timer.cancel()
    return None
