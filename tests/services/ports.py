"""Ports of loopback for services, and waiting for a service to listen."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["free_port", "wait_for_port"]

_LOOK_SECONDS: Final = 0.05


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_for_port(port: int, *, seconds_max: float, said: Callable[[], str]) -> None:
    """Return when somebody listens on a port; fail with what the service said otherwise."""
    deadline = time.monotonic() + seconds_max
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline, f"nobody listens on {port}:\n{said()}"
            time.sleep(_LOOK_SECONDS)  # another program's start: there is no clock of ours to turn
        else:
            return
