"""Handing committed rows to sinks, in commit order, outside of the recorder's critical section.

A sink is the user's code: a print handle, a callback. It may fail (counted), be slow (its caller
waits) or log again (the row it commits is handed over behind the present one).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from expr_tracker.interruption import is_from_signal
from expr_tracker.row import Row
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from expr_tracker.notices import Notices

__all__ = ["Delivery"]

Sink = Callable[[Row], object]


class Delivery:
    """The rows that wait for the sinks of one recorder.

    Attributes:
        sinks: who hears of rows.
        outbox: rows that were committed and not handed over yet.
    """

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self.sinks: tuple[Sink, ...] = ()
        self.outbox: deque[Row] = deque()
        self._newest: Row | None = None
        self._lock = threading.RLock()
        self._is_under_way = False
        self._deliverer = 0

    def add(self, sink: Sink) -> None:
        """Call ``sink`` with every row from now on."""
        self.sinks = (*self.sinks, sink)

    def put(self, row: Row) -> None:
        """Take a committed row; taking the newest one again changes nothing."""
        if self._newest is not row:
            self._newest = row  # before: the row may be handed over before this is repeated
            self.outbox.append(row)

    def hand_over(self) -> None:
        """Call the sinks with what waits; whoever comes second waits until its row is through."""
        if not self.outbox:
            return
        with self._lock:
            if self._is_under_way:
                return
            self._deliverer = threading.get_ident()
            self._is_under_way = True
            try:
                self._empty_outbox()
            finally:
                self._is_under_way = False

    def _empty_outbox(self) -> None:
        while self.outbox:
            row = self.outbox.popleft()
            for sink in self.sinks:
                try:
                    sink(row)
                except Exception as error:  # a sink's fault is counted, not raised
                    if is_from_signal(error):
                        raise
                    self._notices.count("degraded", "rows that a sink failed on")
                    name = getattr(sink, "__name__", None) or shown(sink)
                    self._notices.once(("sink", sink), f"{name} failed on a row: {shown(error)}.")

    @property
    def is_here(self) -> bool:
        """Whether the caller runs inside a sink, on the thread that delivers."""
        return self._is_under_way and self._deliverer == threading.get_ident()
