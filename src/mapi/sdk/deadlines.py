"""How long a call may take, from its first byte to its last, repetitions and pauses included.

The limits that HTTP libraries have are for one read or one write: a server that sends a byte a
second would never meet them. So each read and each write asks the deadline of its call for what is
left.
"""

from __future__ import annotations

import time
from typing import Final

__all__ = ["TIMEOUT_SECONDS", "TIMEOUT_SECONDS_MAX", "Deadline"]

#: Of one call, unless the client is told otherwise.
TIMEOUT_SECONDS: Final = 30.0
#: Longer than anybody waits for one answer; what streams has its own rule.
TIMEOUT_SECONDS_MAX: Final = 86_400.0


class Deadline:
    """A moment that a call must not pass."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Return the seconds that are left; not above zero when the time is over."""
        return self._end - time.monotonic()

    def extend(self, seconds: float) -> None:
        """Begin anew: of a transfer that goes on, every piece has its time."""
        self.seconds = seconds
        self._end = time.monotonic() + seconds
