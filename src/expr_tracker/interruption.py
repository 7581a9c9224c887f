"""Whose exception it is: the tracker's own, or that of a signal handler of the program.

A signal handler runs between any two instructions, so what it raises comes out of whatever the
program was doing: a ``TimeoutError``, which is an ``OSError``, out of a write that succeeded. Taken
for a fault of that write it would be swallowed, and a healthy disk be given up. Whoever catches an
exception of a general type therefore asks here first, and lets a handler's pass; `suppress_own` does
so where there is nothing else to do. Types that no handler has a reason to raise (``KeyError``,
``FileNotFoundError``, ``UnicodeError``) are caught without asking, and so is everything in code that
only threads of our own and the command line run.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType, TracebackType

__all__ = ["is_from_signal", "suppress_own"]

#: `inspect.CO_VARARGS`: that module alone takes 10 ms to import.
_HAS_VARARGS: Final = 0x04


def is_from_signal(error: BaseException) -> bool:
    """Say whether ``error``, just caught, was raised by a signal handler.

    Python calls a handler with the signal's number and the interrupted frame. A traceback tells it
    by that: no other function is handed a number and the frame that called it. A handler that is
    written in C leaves no frame and is not told.
    """
    trace = error.__traceback__
    while trace is not None and (inner := trace.tb_next) is not None:
        if _takes_signals(inner.tb_frame, interrupted=trace.tb_frame):
            return True
        trace = inner
    return False


def _takes_signals(frame: FrameType, *, interrupted: FrameType) -> bool:
    code, values = frame.f_code, frame.f_locals
    arguments = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & _HAS_VARARGS:
        # A handler may rebind the name, to whatever it likes.
        rest = values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        arguments += rest if type(rest) is tuple else ()
    return any(
        second is interrupted and isinstance(first, int) for first, second in pairwise(arguments)
    )


class suppress_own:  # noqa: N801 - used as `contextlib.suppress` is
    """Leave out exceptions of these types, but not those of a signal handler."""

    def __init__(self, *kinds: type[Exception]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        return isinstance(error, self._kinds) and not is_from_signal(error)
