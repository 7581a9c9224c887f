"""`SystemThread`: a sample at once and then at an interval, beside the program."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from expr_tracker.notices import logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.system.meter import SystemMeter

__all__ = ["SystemThread"]


class SystemThread:
    """Samples a meter at once and then every ``interval`` seconds, on one daemon thread.

    Args:
        log: receives each sample; what it raises is counted.
        interval: seconds between samples.
        meter: what is sampled.

    Attributes:
        samples: how many were logged.
        failures: how many could not be taken or logged.
    """

    def __init__(
        self, log: Callable[[dict[str, float]], object], interval: float, meter: SystemMeter
    ) -> None:
        self.samples = 0
        self.failures = 0
        self._log = log
        self._interval = interval
        self._meter = meter
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="expr_tracker.system", daemon=True)

    def start(self) -> None:
        """Begin; once."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """End, waiting ``timeout`` seconds at most; say whether the thread has ended."""
        self._stopped.set()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._log(self._meter.sample())
                self.samples += 1
            except Exception as error:  # noqa: BLE001 - a device may fail in any way; go on
                self.failures += 1
                if self.failures == 1:
                    logger.warning(
                        "System metrics: a sample failed (%s: %s). Further ones are only counted.",
                        type(error).__name__,
                        error,
                    )
            self._stopped.wait(self._interval)
        self._meter.close()
