"""The processor time that a span used."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from expr_tracker.spans.hooks import OwnedByProcess

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.spans.span import Span

__all__ = ["CpuTime"]


class CpuTime(OwnedByProcess):
    """Measures ``cpu_time_ms`` and ``cpu_percent``: this process's CPU time beside wall time.

    All threads of the process count, so the percentage may be above 100.
    """

    def __init__(self) -> None:
        super().__init__()
        self._started: WeakKeyDictionary[Span, tuple[int, int]] = WeakKeyDictionary()

    def start(self, span: Span) -> None:
        """Read both clocks."""
        self.check_process()
        self._started[span] = (time.process_time_ns(), time.perf_counter_ns())

    def end(self, span: Span) -> Row:
        """Return the CPU milliseconds and their share of the wall time."""
        self.check_process()
        cpu_ns, wall_ns = time.process_time_ns(), time.perf_counter_ns()
        started = self._started.pop(span, None)
        if started is None:
            return {}
        cpu_ns, wall_ns = cpu_ns - started[0], wall_ns - started[1]
        return {
            "cpu_time_ms": round(cpu_ns / 1e6, 3),
            "cpu_percent": round(100 * cpu_ns / wall_ns, 1) if wall_ns > 0 else 0.0,
        }
