"""The epoch times of spans: an offset to the monotonic clock, so that spans nest as they ran."""

from __future__ import annotations

import time
from time import perf_counter_ns
from typing import Final

__all__ = ["epoch"]

#: How often the wall clock is compared: two clock reads a second are nothing.
_RESYNC_NS: Final = 1_000_000_000
#: Smaller differences are drift that NTP slews; jumping for it would shift spans against another.
_DRIFT_NS_MAX: Final = 1_000_000_000


#: Of so many pairs of reads the closest counts: between two others the process may be stopped for
#: milliseconds, by which its spans would then be off against those of other processes.
_READS: Final = 5


def _offset_ns() -> int:
    """Return epoch time minus monotonic time, in nanoseconds."""
    closest, offset_ns = None, 0
    for _ in range(_READS):
        before = perf_counter_ns()
        wall = time.time_ns()
        after = perf_counter_ns()
        if closest is None or after - before < closest:
            closest, offset_ns = after - before, wall - (before + after) // 2
    return offset_ns


class _Epoch:
    """Adds up to epoch nanoseconds with `time.perf_counter_ns`."""

    __slots__ = ("due_ns", "offset_ns")

    def __init__(self) -> None:
        self.offset_ns = _offset_ns()
        self.due_ns = perf_counter_ns() + _RESYNC_NS

    def resync(self, now_ns: int) -> None:
        """Catch up with the machine's clock after it slept or was set; never go back."""
        self.due_ns = now_ns + _RESYNC_NS
        offset_ns = _offset_ns()
        if offset_ns > self.offset_ns + _DRIFT_NS_MAX:
            self.offset_ns = offset_ns


#: This process's.
epoch: Final = _Epoch()
