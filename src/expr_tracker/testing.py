"""What tests of programs that log can use: a clock that is turned by hand.

::

    from expr_tracker.testing import ManualClock

    clock = ManualClock(1_700_000_000.0)
    run = et.init("p", "test", dir=tmp_path, clock=clock)
    et.log({"loss": 1.0})
    clock.advance(5)
    et.log({"loss": 0.5})  # _time is five seconds later, to the digit
    with et.span("wait"):
        clock.advance(2)  # time_ms/wait is 2000.0
"""

from __future__ import annotations

from expr_tracker.clock import held_seconds

__all__ = ["ManualClock"]


class ManualClock:
    """A clock that stands still until it is turned; see `expr_tracker.clock.Clock`.

    Attributes:
        offset: ``wall()`` is ``offset + monotonic()``.
    """

    def __init__(self, wall: float = 1_700_000_000.0) -> None:
        self._monotonic = 0.0
        self.offset = wall

    def wall(self) -> float:
        """Return Unix seconds."""
        return self.offset + self._monotonic

    def monotonic(self) -> float:
        """Return the seconds the clock was turned by."""
        return self._monotonic

    def monotonic_ns(self) -> int:
        """Return the nanoseconds the clock was turned by."""
        return round(self._monotonic * 1e9)

    def advance(self, seconds: float) -> None:
        """Turn the clock forward.

        Raises:
            ValueError: ``seconds`` is negative; a wall clock that jumps is a new ``offset``.
        """
        if seconds < 0:
            raise ValueError(f"seconds={seconds}: a clock is only turned forward.")
        self._monotonic += seconds

    def resync(self) -> None:
        """Do nothing: nobody corrects this clock."""

    def hold(self, floor: float) -> float:
        """Let no later `wall` be below ``floor``, within an hour; return what is beyond it."""
        held, left = held_seconds(floor - self.wall())
        self.offset += held
        return left
