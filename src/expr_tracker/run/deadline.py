"""How long an end may take: one point in time for all that is waited for."""

from __future__ import annotations

import threading
import time
from typing import Final

__all__ = ["Deadline"]

#: Joins and locks refuse longer waits; on 32-bit systems it is 49 days.
_WAIT_MAX: Final = threading.TIMEOUT_MAX


class Deadline:
    """So many seconds from now on.

    By the machine's own monotonic clock, as joins and locks wait by it whatever clock a run has.

    Args:
        seconds: how long everything together may take.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + min(seconds, _WAIT_MAX)

    @property
    def seconds_left(self) -> float:
        """What is left, from 0."""
        return min(max(0.0, self._end - time.monotonic()), _WAIT_MAX)

    def half(self) -> Deadline:
        """Return the deadline of a part that must leave as much again to those behind it."""
        return Deadline(self.seconds_left / 2)
