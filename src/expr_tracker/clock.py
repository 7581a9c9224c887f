"""Time, passed in: the wall clock that rows carry and the monotonic clock that durations use.

The wall time of a process never runs backwards. It is the wall clock read once, plus the monotonic
clock's advance since; `Clock.resync` moves it forward (never back) after the machine slept or its
clock was corrected, because the monotonic clock of Linux stands still during suspend.
"""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]

#: A correction below this is drift that NTP slews; jumping for it would only make rows jitter.
_RESYNC_SECONDS = 1.0


class Clock(Protocol):
    """What the rooms ask of a clock; `expr_tracker.testing.ManualClock` is the twin for tests."""

    offset: float
    """``wall()`` is ``offset + monotonic()``; a hot path may add the two itself."""

    def wall(self) -> float:
        """Return Unix seconds (UTC) that never decrease within the process."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that only measures differences."""
        ...

    def resync(self) -> None:
        """Catch up with the machine's wall clock where that one is ahead."""
        ...

    def hold(self, floor: float) -> None:
        """Let no later `wall` be below ``floor`` (the newest time of a file that is resumed)."""
        ...


class SystemClock:
    """The machine's clocks."""

    def __init__(self) -> None:
        self.offset = time.time() - time.monotonic()
        # The built-in itself: a method around it would double its 45 ns on the hot path.
        self.monotonic = time.monotonic

    def wall(self) -> float:
        """Return Unix seconds that never decrease within the process."""
        return self.offset + time.monotonic()

    def resync(self) -> None:
        """Move forward to the machine's wall clock when it is more than a second ahead."""
        offset = time.time() - time.monotonic()
        if offset > self.offset + _RESYNC_SECONDS:
            self.offset = offset

    def hold(self, floor: float) -> None:
        """Move forward so that no later `wall` lies below ``floor``."""
        ahead = floor - self.wall()
        # A file from a host whose clock runs days ahead must not drag this one along.
        if 0 < ahead <= _HOLD_SECONDS_MAX:
            self.offset += ahead


#: A newest time further ahead than this is a broken clock elsewhere, not ours running late.
_HOLD_SECONDS_MAX = 3600.0
