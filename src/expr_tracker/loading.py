"""Loading modules late, and forks that wait for it.

Rooms that few programs use are loaded by the first call that needs them, some of them on a thread
of the tracker's own. CPython hands a forked child the locks of half-loaded modules as they are: held
by a thread that the child does not have, so its own first import of such a module never returns. So
whatever the tracker loads late it loads inside ``with loading.gate():``, and a fork waits until nobody
is inside.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from expr_tracker.interruption import suppress_own

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Late", "loading"]

#: The longest that a fork waits: our modules load in 20 ms, and a program must never hang on us.
_FORK_WAITS_SECONDS: Final = 5.0


class _Loading:
    """The gate: entered to load modules, held shut while a fork is under way."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_guarding = False

    def gate(self) -> threading.RLock:
        """Return what a ``with`` block enters that loads modules.

        The lock itself: an exception of a signal handler may fall between any two instructions of an
        ``__enter__`` that is written in Python, and would leave the gate shut for every other thread.
        """
        if not self._is_guarding:
            with self._lock:
                self._guard_forks()
        return self._lock

    def _guard_forks(self) -> None:
        # Hooks run in reverse order. That of `logging` takes the lock that a module's getLogger
        # needs, so ours must come before it: it is registered when `logging` has been loaded.
        import logging  # noqa: F401, PLC0415 - as above

        if not self._is_guarding and hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self.shut, after_in_parent=self.open, after_in_child=self.renew
            )
            self._is_guarding = True

    def shut(self) -> None:
        self._lock.acquire(timeout=_FORK_WAITS_SECONDS)

    def open(self) -> None:
        with suppress_own(RuntimeError):  # not shut in time, or renewed since by a fork
            self._lock.release()

    def renew(self) -> None:
        # The threads that were waiting for it, or inside for too long, are not in this process.
        self._lock = threading.RLock()


loading: Final = _Loading()

Made = TypeVar("Made")


class Late(Generic[Made]):
    """One value and what makes it; the maker may load modules.

    No `functools.cached_property`: until Python 3.12 it has one lock for all instances, which a fork
    may copy while it is held.

    Attributes:
        made: the value; ``None`` as long as nobody asked.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self.made: Made | None = None

    def get(self) -> Made:
        """Return the value; the first caller makes it."""
        made = self.made
        if made is None:
            with loading.gate():
                made = self.made  # another thread may have made it meanwhile
                if made is None:
                    made = self.made = self._make()
        return made
