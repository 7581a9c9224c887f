"""A line to a server that can be cut and mended: connections are ended as when a cable is pulled."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CutLine", "cut_line"]

_CHUNK_BYTES: Final = 1 << 16


class CutLine:
    """Passes bytes on to an address, unless it is cut.

    Args:
        url: of the server.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "", parts.port or 80)
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=32)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.refused = 0
        """Connections that came while it was cut."""
        self._is_cut = False
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """End all connections; new ones are ended as soon as they come."""
        with self._lock:
            self._is_cut = True
            for one in self._sockets:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Pass on what comes from now on."""
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            if self._is_cut:
                self.refused += 1
                near.close()
                continue
            far = socket.create_connection(self._target)
            with self._lock:
                self._sockets |= {near, far}
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(_CHUNK_BYTES):
                target.sendall(piece)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._sockets -= {source}
        source.close()


@contextlib.contextmanager
def cut_line(url: str) -> Iterator[CutLine]:
    line = CutLine(url)
    try:
        yield line
    finally:
        line.close()
