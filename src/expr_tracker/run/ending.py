"""However the process ends: signals, the interpreter's exit, the end of a multiprocessing child.

Handlers are installed from the main thread only, over the default action or in front of a handler
that was there, and taken away again when the run is finished. Nothing in ``os`` or
``multiprocessing`` is patched: the latter is asked, through its own registry, to call us.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, Literal

from expr_tracker.interruption import suppress_own

__all__ = [
    "ErrorInFlight",
    "SignalWatch",
    "end_by_signal",
    "is_multiprocessing_child",
    "keep_interrupt_status",
    "status_after",
    "watch_child_exit",
]

Status = Literal["succeeded", "failed", "cancelled"]

#: What schedulers and terminals send before they kill. SIGINT stays Python's: it becomes a
#: KeyboardInterrupt, which the user's code may handle and the exit hook sees.
_SIGNALS: Final = tuple(
    number
    for number in (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    if number is not None
)

#: What a handler of the user's that returns from it may have meant: to read a configuration again.
_RELOADING: Final = getattr(signal, "SIGHUP", None)

_Handler = Callable[[int, FrameType | None], Any]


class SignalWatch:
    """Writes what is in memory before a signal ends the process.

    Args:
        leave: called with the signal's number when the default action would end the process now.
        checkpoint: called when a handler of the user's decides what happens.
    """

    def __init__(self, leave: Callable[[int], None], checkpoint: Callable[[], None]) -> None:
        self._leave = leave
        self._checkpoint = checkpoint
        self._before: dict[int, _Handler | int] = {}
        self._has_come = False

    def install(self) -> None:
        """Install the handlers, where this thread may and nothing forbids it."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            before = signal.getsignal(number)
            if before == signal.SIG_DFL or callable(before):
                self._before[number] = before
                signal.signal(number, self._handle)

    def restore(self) -> None:
        """Put back what was there, unless someone else installed a handler since."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number, before in self._before.items():
            if signal.getsignal(number) == self._handle:
                signal.signal(number, before)
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        before = self._before.get(number, signal.SIG_DFL)
        if not callable(before):
            self._leave(number)
            return
        self._checkpoint()
        self._has_come = self._has_come or number != _RELOADING
        try:
            before(number, frame)
        except BaseException as error:
            self._has_come = self._has_come or isinstance(error, SystemExit)
            # By a mark: holding on to it would keep the frames of the program.
            with suppress_own(AttributeError, TypeError):  # classes may forbid it
                error.__expr_tracker_signal__ = number  # type: ignore[attr-defined]
            raise

    def status_after(self, error: BaseException | None) -> Status:
        """Return how a run ends that an exception ended, a signal's handler having raised it or not.

        Also where the handler only took note, and the program then leaves with a code of its own.
        """
        is_exit = isinstance(error, SystemExit) and bool(error.code)
        if hasattr(error, "__expr_tracker_signal__") or (is_exit and self._has_come):
            return "cancelled"
        return status_after(error)

    def status_at_exit(self) -> Status:
        """Return how the interpreter is ending: what ended it is noted before exit hooks run."""
        # CPython stores the exception that ended the program here before it calls the exit hooks;
        # SystemExit is not stored, so sys.exit() counts as an end without error, unless a signal
        # asked for the end. The end of a multiprocessing child is called while its exception is
        # still being handled.
        error = sys.exc_info()[1] or getattr(sys, "last_value", None)
        if error is None and self._has_come:
            return "cancelled"
        return self.status_after(error)


def end_by_signal(number: int) -> None:
    """Let the signal do what it does by default, so that the exit status is unchanged."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def status_after(error: BaseException | None) -> Status:
    """Return how a run ends that an exception ended, or none did."""
    if error is None or isinstance(error, GeneratorExit):
        return "succeeded"
    if isinstance(error, SystemExit):
        return "failed" if error.code else "succeeded"
    is_cancelled = isinstance(error, KeyboardInterrupt) or _is_cancelled_task(error)
    return "cancelled" if is_cancelled else "failed"


def _is_cancelled_task(error: BaseException) -> bool:
    """Say whether it is how asyncio ends a task, on Ctrl-C too; its modules are not loaded for it."""
    asyncio = sys.modules.get("asyncio.exceptions")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


class ErrorInFlight:
    """The exception that a call stands in: behind a ``finally``, or in a block that handles it.

    What was being handled when the run was opened says nothing about the run: a program may start
    over in the block that handles the first failure. It is known by a mark, for holding on to it
    would keep the frames of the failure and all that they hold.

    Args:
        status_after: says how a run ends that an exception ended.
    """

    def __init__(self, status_after: Callable[[BaseException | None], Status]) -> None:
        self._status_after = status_after
        self._mark = object()
        around = sys.exc_info()[1]
        if around is not None:
            with suppress_own(AttributeError, TypeError):  # classes may forbid it
                around.__expr_tracker_around__ = self._mark  # type: ignore[attr-defined]

    def status(self) -> tuple[Status, str | None]:
        """Return how a run ends now, and the name of the exception that says so.

        An iterator that came to its end is no failure.
        """
        error = sys.exc_info()[1]
        if getattr(error, "__expr_tracker_around__", None) is self._mark or isinstance(
            error, (StopIteration, StopAsyncIteration)
        ):
            return "succeeded", None
        status = self._status_after(error)
        return status, None if status == "succeeded" else type(error).__name__


def keep_interrupt_status() -> None:
    """See to it that a program that Ctrl-C ended still exits as shells expect (130 on POSIX).

    CPython notes an uncaught KeyboardInterrupt in a flag of the whole process, which any thread
    clears that compiles and runs a text: `dataclasses` and `namedtuple` do so while the modules of
    the environment's capture are loaded. Running a text that ends in a KeyboardInterrupt is the one
    way to set it again; called once none of our threads is left.
    """
    error = getattr(sys, "last_value", None)
    if type(error) is not KeyboardInterrupt or error.__traceback__ is None:
        return
    # In a console it is a line's that was interrupted, and the session went on behind it. What a
    # program caught and showed by itself has a frame that somebody called.
    is_console = hasattr(sys, "ps1") or sys.flags.interactive
    if is_console or error.__traceback__.tb_frame.f_back is not None:
        return
    with contextlib.suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt", {})  # noqa: S102 - our own text, see above


def is_multiprocessing_child() -> bool:
    """Say whether this process was started by ``multiprocessing``, by whichever method."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def watch_child_exit(finish: Callable[[], None]) -> Callable[[], None]:
    """Call ``finish`` at the end of a multiprocessing child, which skips the interpreter's hooks.

    Returns:
        What takes the registration back.
    """
    util = sys.modules.get("multiprocessing.util")
    if util is None or not is_multiprocessing_child():
        return _nothing
    finalizer = util.Finalize(None, finish, exitpriority=100)
    cancel: Callable[[], None] = finalizer.cancel
    return cancel


def _nothing() -> None:
    return None
