"""The keeper: one daemon thread a run, for what must not happen on the caller's thread.

It flushes what waits, keeps the journal and the index fresh and looks after the files' places. It
holds no state of its own and may stop at any moment: `finish` does everything once more.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from expr_tracker.notices import Notices

__all__ = ["Keeper"]

#: Between two rounds: a row that waits is at most this much later than its limit says.
ROUND_SECONDS: Final = 0.5


class Keeper:
    """Calls every task once a round until it is stopped."""

    def __init__(
        self, tasks: Sequence[Callable[[], object]], notices: Notices, *, name: str
    ) -> None:
        self._tasks = tuple(tasks)
        self._notices = notices
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> bool:
        """Begin the rounds; say whether there are any: a process may be allowed no more threads."""
        try:
            self._thread.start()
        except RuntimeError as error:
            if is_from_signal(error):
                raise
            self._notices.count("degraded", "runs without a thread of their own")
            self._notices.say(
                f"No thread can be started ({error}): rows are written by the calls that log them, "
                "and what a thread would do besides (the open row's journal, the index, a file that "
                "was removed) waits for finish()."
            )
            return False
        return True

    def stop(self, timeout_seconds: float) -> bool:
        """End the rounds; say whether the thread is gone."""
        self._stop.set()
        if self._thread is not threading.current_thread() and self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    @property
    def name(self) -> str:
        """The thread's name."""
        return self._thread.name

    def _run(self) -> None:
        while not self._stop.wait(ROUND_SECONDS):
            self.round()

    def round(self) -> None:
        """Call every task; one that fails is counted and does not stop the others."""
        for task in self._tasks:
            try:
                task()
            except Exception as error:  # noqa: BLE001 - the thread must outlive any fault
                self._notices.count("degraded", "background tasks that failed")
                self._notices.once(("task", task), f"A background task failed: {shown(error)}.")
        self._notices.emit()
