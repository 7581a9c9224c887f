"""SIGTERM and SIGINT: told once, heard at any moment between the first line and the last.

While the platform starts, a signal ends the start where it stands, and what was begun is undone.
While it serves, a signal begins the end. While it ends, another one changes nothing.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Stopping", "ToldToStopError", "stop_at_eof"]

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class ToldToStopError(BaseException):
    """The program was told to stop while it started; no error to anybody who catches those."""


class Stopping:
    """What the signals mean now; make it and use it in the main thread."""

    def __init__(self) -> None:
        self._is_told = False
        self._held = 0
        self._is_in_loop = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], object] | None = None

    @property
    def is_told(self) -> bool:
        """Whether a signal came."""
        return self._is_told

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Hear the signals; a first one in the block ends it, quietly."""
        before: list[Any] = [signal.signal(number, self._hear) for number in _SIGNALS]
        try:
            yield
        except ToldToStopError:
            pass
        finally:
            for number, handler in zip(_SIGNALS, before, strict=True):
                signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let a signal wait for the end of the block, which may not be left in its midst."""
        self._held += 1
        was_told = self._is_told
        try:
            yield
        finally:
            self._held -= 1
        if self._is_told and not was_told and not self._is_in_loop:
            raise ToldToStopError

    @contextmanager
    def in_loop(self) -> Iterator[None]:
        """Raise nothing in the block, which runs a loop: it would be left amid its own work."""
        self._is_in_loop = True
        yield
        # Not back again: whoever has left the loop is at the end.

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        """Call ``end`` from the running loop on a signal; at once where it came before."""
        self._loop = asyncio.get_running_loop()
        before, self._end = self._end, end
        if self._is_told:
            end()
        try:
            yield
        finally:
            self._end = before

    def _hear(self, _number: int, _frame: object) -> None:
        is_first, self._is_told = not self._is_told, True
        if not is_first:
            return
        if not self._is_in_loop:
            if not self._held:
                raise ToldToStopError
        elif self._loop is not None and not self._loop.is_closed():
            # What ends it may be another by the time that the loop comes to it.
            self._loop.call_soon_threadsafe(self._call_end)

    def _call_end(self) -> None:
        if self._end is not None:
            self._end()


def stop_at_eof() -> None:
    """Tell this program to stop as soon as its standard input ends; waits for that."""
    # Where Python found none at its start, the number is that of whatever file was opened next.
    if sys.stdin is not None:
        # What cannot be read any more, as of a terminal that is gone, has ended too.
        with suppress(OSError):
            while os.read(0, 65_536):
                pass
    os.kill(os.getpid(), signal.SIGTERM)
