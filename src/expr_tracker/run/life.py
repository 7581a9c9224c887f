"""How far the life of a run has come: whose object it is, which attempt it is in, how it ended.

The one part of a run that changes by assignment. Each field is set by a single statement, so that a
signal handler and a fork find it either before or behind a change.
"""

from __future__ import annotations

from expr_tracker.errors import RunFinishedError
from expr_tracker.record.refusals import raise_forked

__all__ = ["Life"]


class Life:
    """The state of one run in this process.

    Attributes:
        attempt: the number of the attempt that rows belong to now.
        status: how the run ended; ``None`` while rows are taken.
        is_closed: whether it has let go of its files.
        is_forked: whether this process is a forked child and the run its parent's.
    """

    def __init__(self, name: str, attempt: int) -> None:
        self._name = name
        self.attempt = attempt
        self.status: str | None = None
        self.is_closed = False
        self.is_forked = False

    def guard(self) -> None:
        """Refuse the parent's object in a forked child, before any lock is touched.

        Raises:
            ForkedObjectError: this process is a forked child.
        """
        if self.is_forked:
            raise_forked()

    def check_open(self, call: str) -> None:
        """Refuse ``call`` on a run that has ended.

        Raises:
            ForkedObjectError: this process is a forked child.
            RunFinishedError: the run is finished.
        """
        self.guard()
        if self.status is not None:
            raise RunFinishedError(f"{call}: the run {self._name!r} is finished. Call et.init().")

    def __str__(self) -> str:
        if self.is_forked:
            return "the parent's"
        return self.status or ("finished" if self.is_closed else "running")
