"""Waiting until somebody says that it is over: Ctrl-C, or SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

__all__ = ["until_told"]


@contextlib.contextmanager
def until_told() -> Iterator[Callable[[float], bool]]:
    """Give what waits for so many seconds, and answers ``True`` once it is over.

    A second signal ends the program as it would have before. One that the program was started to
    ignore stays ignored: `nohup` asks for that.
    """
    ends = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        ends.set()
        signal.signal(number, before[number])

    # A terminal that is closed sends SIGHUP.
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before: dict[int, Any] = {
        number: signal.signal(number, end)
        for number in numbers
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield ends.wait
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
