"""Signs of life of a run, from a thread of their own.

A step that computes for minutes holds the loop of a program with tasks, and a large batch the thread
that sends points: neither of them makes a living run look lost.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from mapi.errors import MapiError
from mapi.sdk.failures import Failures
from mapi.wire.enums import RunStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapi.wire.runs import Heartbeat

__all__ = ["FIRST_BEAT_SECONDS", "HEARTBEAT_SECONDS", "Pulse"]

#: A run that is silent for 60 seconds counts as lost, unless the server says another time.
HEARTBEAT_SECONDS: Final = 15.0
#: To the first sign of life, whose answer tells the server's time: a run of a moment sends none.
FIRST_BEAT_SECONDS: Final = 1.0

#: No server is asked more often, whatever it says.
_DUE_SECONDS_MIN: Final = 0.1

_logger: Final = logging.getLogger("mapi.sdk")


class Pulse:
    """Sends signs of life, every 15 seconds or as often as the server asks, until it is stopped.

    Args:
        name: of the run, for what is told.
        beat: sends one, from any thread.
        close: is called when all of it is over, from that thread.

    Attributes:
        is_cancelled: whether the last that was heard of the run is that somebody cancelled it.
    """

    def __init__(
        self, name: str, beat: Callable[[], Heartbeat], *, close: Callable[[], None]
    ) -> None:
        self.is_cancelled = False
        self._name = name
        self._beat = beat
        self._close = close
        self._failures = Failures("what sends signs of life")
        self._ends = threading.Event()
        self._begins = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if it has not; what a signal cuts off here is done by the next call."""
        if self._thread is None and not self._ends.is_set():
            # A daemon: a program that ends without a word must not wait for it.
            thread = threading.Thread(target=self._run, name="mapi-pulse", daemon=True)
            thread.start()
            if self._thread is None:
                self._thread = thread

    def stop(self) -> None:
        """Send no more; one that is under way is not waited for."""
        self._ends.set()

    def hear_of_cancellation(self) -> None:
        """Take it from another answer that somebody cancelled the run."""
        self.is_cancelled = True

    def _run(self) -> None:
        # Here no signal handler runs, so a thread that began is known; of several, one works.
        with self._begins:
            if self._thread is None:
                self._thread = threading.current_thread()
        if self._thread is not threading.current_thread():
            return
        try:
            self._send()
        finally:
            self._close()

    def _send(self) -> None:
        due_seconds = FIRST_BEAT_SECONDS
        while not self._ends.wait(due_seconds):
            began = time.monotonic()
            due_seconds = HEARTBEAT_SECONDS
            try:
                answer = self._beat()
            except MapiError as error:
                if not self._ends.is_set():
                    _logger.warning("%s: %s", self._name, error)
            except Exception as error:  # noqa: BLE001 - whatever it is, the run lives
                self._failures.tell(error)
            else:
                self.is_cancelled = answer.status is RunStatus.CANCELLED
                due_seconds = min(due_seconds, max(_DUE_SECONDS_MIN, answer.due_seconds))
            due_seconds = max(0.0, began + due_seconds - time.monotonic())
