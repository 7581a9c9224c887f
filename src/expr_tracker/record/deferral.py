"""Calls that a finaliser or a signal handler makes while its own thread is inside a call.

They are carried out when the outer call is through: waiting for it would be waiting for oneself.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import TrackerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.notices import Notices

__all__ = ["Deferral"]

#: Calls that wait for the end of a critical section on their own thread.
_DEFERRED_MAX: Final = 1_000


class Deferral:
    """The calls that wait, in order.

    Attributes:
        calls: what waits; the end of a process is put here directly, past the limit.
    """

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self.calls: deque[Callable[[], object]] = deque()

    def put(self, call: Callable[[], object]) -> None:
        """Keep a call for later; one beyond the limit is counted."""
        if len(self.calls) < _DEFERRED_MAX:
            self.calls.append(call)
        else:
            self._notices.count("dropped", "log calls from within a log call")

    def carry_out(self) -> None:
        """Make the calls, outside of any critical section."""
        while self.calls:
            try:
                call = self.calls.popleft()
            except IndexError:
                break
            try:
                call()
            except TrackerError as error:  # its own call has long returned
                self._notices.count("refused", "log calls from within a log call")
                self._notices.once(("deferred", type(error)), str(error))
