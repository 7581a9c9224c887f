"""Time, passed in: the wall clock of rows and spans, and the monotonic clock that durations use.

The wall time of a process never runs backwards. It is the wall clock read once, plus the monotonic
clock's advance since; `Clock.resync` moves it forward (never back) after the machine slept or its
clock was corrected, because the monotonic clock of Linux stands still during suspend.
"""

from __future__ import annotations

import time
from typing import Final, Protocol

__all__ = ["Clock", "SystemClock", "held_seconds"]

#: A correction below this is drift that NTP slews; jumping for it would only make rows jitter.
_RESYNC_SECONDS = 1.0
#: Of so many pairs of reads the closest counts: between two others the process may be stopped for
#: milliseconds, by which its times would then be off against those of other processes.
_READS: Final = 5


class Clock(Protocol):
    """What the rooms ask of a clock; `expr_tracker.testing.ManualClock` is the twin for tests."""

    offset: float
    """``wall()`` is ``offset + monotonic()``; a hot path may add the two itself.

    Spans do, with `monotonic_ns`: one value places them and the rows on one timeline.
    """

    def wall(self) -> float:
        """Return Unix seconds (UTC) that never decrease within the process."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that only measures differences."""
        ...

    def monotonic_ns(self) -> int:
        """Return what `monotonic` does, in nanoseconds."""
        ...

    def resync(self) -> None:
        """Catch up with the machine's wall clock where that one is ahead."""
        ...

    def hold(self, floor: float) -> float:
        """Let no later `wall` be below ``floor`` (the newest time of a file that is resumed).

        Returns:
            0, or by how many seconds ``floor`` is so far ahead that it is not followed.
        """
        ...


class SystemClock:
    """The machine's clocks."""

    def __init__(self) -> None:
        self.offset = _machine_offset()
        # The built-ins themselves: a method around one would double its 45 ns on the hot path.
        self.monotonic = time.monotonic
        self.monotonic_ns = time.monotonic_ns

    def wall(self) -> float:
        """Return Unix seconds that never decrease within the process."""
        return self.offset + self.monotonic()

    def resync(self) -> None:
        """Move forward to the machine's wall clock when it is more than a second ahead."""
        offset = _machine_offset()
        if offset > self.offset + _RESYNC_SECONDS:
            self.offset = offset

    def hold(self, floor: float) -> float:
        """Move forward so that no later `wall` lies below ``floor``, within an hour."""
        held, left = held_seconds(floor - self.wall())
        self.offset += held
        return left


def _machine_offset() -> float:
    """Return what the machine's wall clock shows minus what `time.monotonic` does."""
    closest, offset = None, 0.0
    for _ in range(_READS):
        before = time.monotonic()
        wall = time.time()
        after = time.monotonic()
        if closest is None or after - before < closest:
            closest, offset = after - before, wall - (before + after) / 2
    return offset


def held_seconds(ahead: float) -> tuple[float, float]:
    """Return by how much a clock is moved to a floor ``ahead`` of it, and by how much it is not.

    Up to an hour it is moved: times of a stream then never run backwards. Beyond that one of the two
    clocks was wrong. Times that are wrong for as long as the process lives would be the price of
    their order, so the clock stays, and whoever resumes the file says so in it.
    """
    if ahead <= 0:
        return 0.0, 0.0
    return (ahead, 0.0) if ahead <= _HOLD_SECONDS_MAX else (0.0, ahead)


#: A newest time further ahead than this is a broken clock, not one that runs late.
_HOLD_SECONDS_MAX = 3600.0
