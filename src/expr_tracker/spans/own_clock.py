"""The clock of spans that begin without a run; those of a run go by the run's, as its rows do."""

from __future__ import annotations

from typing import Final

from expr_tracker.clock import SystemClock

__all__ = ["own_clock"]

#: How often the machine's clock is compared: nobody else does it for this one.
_RESYNC_NS: Final = 1_000_000_000


class _OwnClock(SystemClock):
    """A clock that says when its next `resync` is due, so that a span asks without a call."""

    def __init__(self) -> None:
        super().__init__()
        self.due_ns = self.monotonic_ns() + _RESYNC_NS

    def resync(self) -> None:
        """Catch up with the machine's clock, and be due again in a second."""
        self.due_ns = self.monotonic_ns() + _RESYNC_NS
        super().resync()


#: This process's.
own_clock: Final = _OwnClock()
