"""A signal that would end the program at once ends the blocks of its runs first.

While a run is open, SIGTERM and SIGHUP become the exception `Terminated`, as Ctrl-C is one: the block
ends, the run is `cancelled`, and the program's exit code is the shell's for that signal. A second
signal ends the program at once. A handler or an ignored signal of the program's own stays in place, and
nothing is changed outside of the main thread, where Python allows none of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["EXIT_CODES", "Terminated", "unwatch_signals", "watch_signals"]

#: A batch system, a container or a closing terminal sends these, and the default ends the program.
_NUMBERS: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
#: What shells say of a program that a signal ended; 130 is that of Ctrl-C.
EXIT_CODES: Final = (128 + signal.SIGINT, *(128 + number for number in _NUMBERS))


class Terminated(SystemExit):
    """A signal asked the program to end; nobody has to catch it."""


#: By the block: whether it is one of tasks.
_open_blocks: Final[dict[int, bool]] = {}
if hasattr(os, "register_at_fork"):
    # A child has the handler and none of its parent's blocks.
    os.register_at_fork(after_in_child=_open_blocks.clear)


def watch_signals(block: object) -> None:
    """Begin, with a block, which `unwatch_signals` ends; either may be cut off and called again.

    Without a lock: a thread that a child of a fork does not have might hold it.
    """
    _open_blocks[id(block)] = hasattr(block, "__aexit__")
    if threading.current_thread() is threading.main_thread():
        for number in _NUMBERS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end_blocks)


def unwatch_signals(block: object) -> None:
    """End, with a block; behind the last one the signals do what they did before."""
    _open_blocks.pop(id(block), None)
    if not _open_blocks and threading.current_thread() is threading.main_thread():
        for number in _NUMBERS:
            if signal.getsignal(number) is _end_blocks:
                signal.signal(number, signal.SIG_DFL)


def _end_blocks(number: int, frame: FrameType | None) -> None:
    del frame
    # Whoever asks again does not want to wait for a server.
    signal.signal(number, signal.SIG_DFL)
    # A child of a fork, or the block of a thread was the last that ended.
    if not _open_blocks:
        os.kill(os.getpid(), number)
        return
    loop = _loop_of_tasks()
    if loop is None:
        raise Terminated(128 + number)
    # Between two steps, so that it falls into no task: one that it ended would hand it on to whoever
    # waits for that, and the loop would be over before the blocks are.
    loop.call_soon_threadsafe(_terminate, number)


def _loop_of_tasks() -> asyncio.AbstractEventLoop | None:
    """Return the loop that runs here, if every block that is open is one of its tasks."""
    if not all(_open_blocks.values()):
        return None  # a block of threads may hold the loop for long
    with contextlib.suppress(RuntimeError):
        return asyncio.get_running_loop()
    return None


def _terminate(number: int) -> None:
    raise Terminated(128 + number)
