"""`SystemMeter`: levels at once, rates and busy shares since the sample before."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.system.gpus import MB, Gpus
from expr_tracker.system.sources import source_of_this_system

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.clock import Clock
    from expr_tracker.system.sources import Counters, Source

__all__ = ["SystemMeter"]

#: A rate over less says more about the clock's ticks (10 ms in /proc) than about the machine.
_INTERVAL_SECONDS_MIN: Final = 0.2


class SystemMeter:
    """Reads the figures that the package lists.

    Args:
        directory: the run's directory, whose disk is watched.
        clock: measures the time between samples; the machine's by default.
        source: where the counters come from; by default what this system has.
    """

    def __init__(
        self, directory: Path, clock: Clock | None = None, *, source: Source | None = None
    ) -> None:
        self._directory = directory
        self._monotonic = time.monotonic if clock is None else clock.monotonic
        self._source = source_of_this_system() if source is None else source
        self._before: tuple[float, float, Counters] | None = None
        self._gpus: Gpus | None = None

    def sample(self) -> dict[str, float]:
        """Return the figures of this moment by name."""
        if self._gpus is None:
            self._gpus = Gpus()
        now, process_seconds = self._monotonic(), time.process_time()
        counters = self._source.read()
        figures = {**_levels(counters), **self._disk(), **self._gpus.sample()}
        before = self._before
        if before is not None and now - before[0] < _INTERVAL_SECONDS_MIN:
            return figures
        self._before = (now, process_seconds, counters)
        if before is not None:
            elapsed = now - before[0]
            busy = 100.0 * (process_seconds - before[1]) / elapsed
            figures["cpu/process_percent"] = round(busy, 2)
            figures |= _rates(before[2], counters, elapsed)
        return dict(sorted(figures.items()))

    def close(self) -> None:
        """Let go of the GPU driver."""
        if self._gpus is not None:
            self._gpus.close()
            self._gpus = None

    def _disk(self) -> dict[str, float]:
        try:
            usage = shutil.disk_usage(self._directory)
        except OSError as error:  # the directory is gone
            if is_from_signal(error):
                raise
            return {}
        return (
            {"disk/used_percent": round(100.0 * usage.used / usage.total, 2)}
            if usage.total
            else {}
        )


def _levels(counters: Counters) -> dict[str, float]:
    figures: dict[str, float] = {}
    total, available = counters.memory_total_bytes, counters.memory_available_bytes
    if total and available is not None:
        figures["memory/used_mb"] = round((total - available) / MB, 1)
        figures["memory/percent"] = round(100.0 * (total - available) / total, 2)
    if counters.process_bytes is not None:
        figures["memory/process_mb"] = round(counters.process_bytes / MB, 1)
    return figures


def _rates(before: Counters, now: Counters, elapsed: float) -> dict[str, float]:
    figures: dict[str, float] = {}
    busy, total = (
        _advance(before.cpu_busy, now.cpu_busy),
        _advance(before.cpu_total, now.cpu_total),
    )
    if busy is not None and total:
        figures["cpu/percent"] = round(100.0 * busy / total, 2)
    for name, first, second in (
        ("disk/read", before.disk_read_bytes, now.disk_read_bytes),
        ("disk/write", before.disk_write_bytes, now.disk_write_bytes),
        ("network/received", before.network_received_bytes, now.network_received_bytes),
        ("network/sent", before.network_sent_bytes, now.network_sent_bytes),
    ):
        advance = _advance(first, second)
        if advance is not None:
            figures[f"{name}_mb_per_second"] = round(advance / MB / elapsed, 3)
    return figures


def _advance(before: float | None, now: float | None) -> float | None:
    """Return how far a counter went; ``None`` if it began anew (a device was taken away)."""
    if before is None or now is None or now < before:
        return None
    return now - before
