r"""`ConsoleCapture`: what a process prints, kept line by line.

It stands in for ``sys.stdout`` and ``sys.stderr``. What is printed goes where it
always went, first; then each line becomes one line of the console file
(`expr_tracker.store.lines`, "Console line"). It keeps the text as it was printed, carriage returns
included; `collapse` makes of it what a terminal would show in the end, when it is read.

It sees what is written through the two objects. It does not see bytes written to ``sys.stdout.buffer``
or to the file descriptor by other languages or child processes, and it never reads them back.

Nothing here may disturb ``print``: a fault is counted, a slow file does not hold up other threads,
a line printed while a line is being stored is not stored, and a forked child is left in peace.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import logger
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from expr_tracker.clock import Clock

__all__ = ["ConsoleCapture", "Limits"]


Source = Literal["stdout", "stderr"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much of what is printed is kept."""

    line_characters: int = 64 * 1024
    """A longer line is cut, and says so: it is a dump that nobody reads in a console."""
    file_bytes: int = 64 * 1024 * 1024
    """All lines of a run's file. Ten lines a second of 100 characters reach it in a day and a half."""
    waiting_bytes: int = 8 * 1024 * 1024
    """Lines that wait while another thread stores; a disk that stalls must not fill the memory."""


class ConsoleCapture:
    """Keeps what a process prints from `start` to `stop`.

    Args:
        append: stores one line of the file, its end included. It is called without any lock held,
            by one thread at a time; what it raises is counted.
        clock: gives the time of a line, that of its end.
        redact: takes the secrets out of each line before it is stored.
        size_bytes: how much the run's file holds already, which counts towards the limit.
        limits: how much is kept.
    """

    def __init__(
        self,
        append: Callable[[bytes], object],
        clock: Clock,
        *,
        redact: Callable[[str], str] | None = None,
        size_bytes: int = 0,
        limits: Limits | None = None,
    ) -> None:
        self._append = append
        self._clock = clock
        self._redact = redact
        self._size_bytes = size_bytes
        self._limits = limits = Limits() if limits is None else limits
        self._counts = dict.fromkeys(
            ("lines", "cut", "over_limit", "failed", "overflowed", "within_append"), 0
        )
        self._tees: dict[Source, _Tee] = {}
        self._partial: dict[Source, _Partial] = {
            "stdout": _Partial(limits.line_characters),
            "stderr": _Partial(limits.line_characters),
        }
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._is_storing = False
        self._is_on = False
        self._pid = os.getpid()
        self._lock = threading.Lock()
        #: Whether this thread is in here already: the storing may print, a signal handler too.
        self._inside = threading.local()

    def start(self) -> None:
        """Stand in for ``sys.stdout`` and ``sys.stderr``; a second call does nothing."""
        if self._is_on:
            return
        self._pid = os.getpid()
        self._is_on = True
        for source in ("stdout", "stderr"):
            stream = getattr(sys, source)
            if stream is not None:  # a program without a console has none
                self._tees[source] = _Tee(stream, source, self)
                setattr(sys, source, self._tees[source])

    def stop(self) -> None:
        """Put back what was there, and store lines that have no end yet.

        Where someone has wrapped ours in the meantime, theirs stays and ours only passes on.
        """
        if not self._is_on:
            return
        self._is_on = False
        for source, tee in self._tees.items():
            if getattr(sys, source) is tee:
                setattr(sys, source, tee.wrapped)
        self._tees = {}
        if os.getpid() == self._pid:
            self._enter(self._end_partial_lines)

    def abandon_in_child(self) -> None:
        """Be silent in a forked child, touching no lock: the lines are the parent's."""
        self._is_on = False

    def stats(self) -> dict[str, int]:
        """Return what became of the lines.

        ``lines`` stored; ``cut`` stored in part; ``over_limit`` beyond the file's limit;
        ``failed`` to be stored; ``overflowed`` while the file stalled; ``within_append`` printed
        while storing.
        """
        return dict(self._counts)

    def feed(self, source: Source, text: str) -> None:
        """Take what was written to one of the two streams; never raises an `Exception`."""
        if not self._is_on or os.getpid() != self._pid:
            return
        self._enter(lambda: self._take(source, text))

    # --- lines -----------------------------------------------------------------------------------

    def _enter(self, work: Callable[[], None]) -> None:
        """Do ``work`` and store what comes of it, unless this thread is here already."""
        if getattr(self._inside, "now", False):
            self._counts["within_append"] += 1
            return
        try:
            self._inside.now = True
            with self._lock:
                work()
            self._store()
        except Exception as error:  # print() must not fail for a tracker's fault
            if is_from_signal(error):
                raise
            self._fail(error)
        finally:
            self._inside.now = False

    def _take(self, source: Source, text: str) -> None:
        partial = self._partial[source]
        *ended, rest = text.split("\n")
        for piece in ended:
            self._queue(source, partial.add(piece))
            self._queue(source, [partial.take()])
        self._queue(source, partial.add(rest))

    def _end_partial_lines(self) -> None:
        for source, partial in self._partial.items():
            if not partial.is_empty:
                self._queue(source, [partial.take()])

    def _queue(self, source: Source, lines: Iterable[tuple[str, bool]]) -> None:
        for text, is_cut in lines:
            if is_cut:
                self._counts["cut"] += 1
            self._queue_text(source, text)

    def _queue_text(self, source: Source, text: str) -> None:
        if self._size_bytes >= self._limits.file_bytes:
            self._counts["over_limit"] += 1
            return
        line = self._line(source, self._redacted(text))
        if self._size_bytes + len(line) > self._limits.file_bytes:
            self._counts["over_limit"] += 1
            line = self._line(
                source, f"[console: the limit of {self._limits.file_bytes} bytes is reached]"
            )
            self._size_bytes = self._limits.file_bytes
        elif self._waiting_bytes + len(line) > self._limits.waiting_bytes:
            self._counts["overflowed"] += 1
            return
        else:
            self._size_bytes += len(line)
        self._waiting.append(line)
        self._waiting_bytes += len(line)

    def _redacted(self, text: str) -> str:
        if self._redact is None:
            return text
        try:
            return self._redact(text)
        except Exception as error:  # a line that could not be searched is withheld
            if is_from_signal(error):
                raise
            self._fail(error)
            return "[withheld: the search for secrets failed]"

    def _line(self, source: Source, text: str) -> bytes:
        return encode_line({"_time": self._clock.wall(), "source": source, "text": text})

    def _store(self) -> None:
        """Hand the waiting lines to ``append``, in order, unless another thread is doing so.

        Without the lock: ``append`` takes locks of its own, and a thread that holds one of those
        may be about to print.
        """
        with self._lock:
            if self._is_storing or not self._waiting:
                return
            self._is_storing = True
        try:
            while (line := self._next_waiting()) is not None:
                try:
                    self._append(line)
                except Exception as error:  # a full disk must not reach print()
                    if is_from_signal(error):
                        raise
                    self._fail(error)
                else:
                    self._counts["lines"] += 1
        except BaseException:
            # An interrupt: the next line that is printed goes on with what waits.
            self._is_storing = False
            raise

    def _next_waiting(self) -> bytes | None:
        with self._lock:
            if not self._waiting:
                # In the same breath as the look: a line queued after it finds the way free.
                self._is_storing = False
                return None
            line = self._waiting.popleft()
            self._waiting_bytes -= len(line)
            return line

    def _fail(self, error: Exception) -> None:
        self._counts["failed"] += 1
        if self._counts["failed"] == 1:
            logger.warning(
                "Console capture: a line was not stored (%s: %s). Further ones are only counted.",
                type(error).__name__,
                error,
            )


class _Partial:
    """A line that has not ended: at most the limit of it, and how much came after."""

    def __init__(self, characters_max: int) -> None:
        self._characters_max = characters_max
        self._pieces: list[str] = []
        self._size = 0
        self._is_cut = False
        self._rest = 0

    @property
    def is_empty(self) -> bool:
        return not self._size

    def take(self) -> tuple[str, bool]:
        """Return the line and whether it was cut, and begin anew."""
        text, is_cut = "".join(self._pieces), self._is_cut
        if is_cut:
            text += f" [cut: {self._rest} more characters]"
        self._pieces, self._size, self._is_cut, self._rest = [], 0, False, 0
        return text, is_cut

    def add(self, piece: str) -> Iterator[tuple[str, bool]]:
        """Take more of the line and yield what of it is complete already.

        A progress bar may never end its line. When it reaches the limit, what a carriage return has
        overwritten is stored as a line of its own, and the bar's present state begins the next.
        """
        # In slices, so that no character is copied more than twice however long the text is.
        for start in range(0, len(piece), self._characters_max):
            yield from self._add(piece[start : start + self._characters_max])

    def _add(self, piece: str) -> Iterator[tuple[str, bool]]:
        while piece:
            if self._is_cut:
                end = piece.find("\r")
                self._rest += len(piece) if end < 0 else end
                if end < 0:
                    return
                yield self.take()
                piece = piece[end:]
            self._pieces.append(piece)
            self._size += len(piece)
            if self._size <= self._characters_max:
                return
            text = "".join(self._pieces)
            state = text.rfind("\r", 1, self._characters_max)
            self._is_cut = state < 0
            kept = self._characters_max if self._is_cut else state
            self._pieces, self._size, piece = [text[:kept]], kept, text[kept:]
            if not self._is_cut:
                yield self.take()


class _Tee:
    """A text stream that passes everything on and shows what is written to a capture."""

    __slots__ = ("_capture", "_source", "wrapped")

    _capture: ConsoleCapture
    _source: Source
    wrapped: Any

    def __init__(self, wrapped: Any, source: Source, capture: ConsoleCapture) -> None:
        for name, value in (("wrapped", wrapped), ("_source", source), ("_capture", capture)):
            object.__setattr__(self, name, value)

    def write(self, text: str, /) -> int:
        """Write to the stream, then show the text to the capture."""
        count: int = self.wrapped.write(text)
        self._capture.feed(self._source, text)
        return count

    def writelines(self, lines: Any, /) -> None:
        """Write the texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.wrapped, name, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self.wrapped)

    def __enter__(self) -> _Tee:  # noqa: PYI034 - a subclass would be another kind of stream
        self.wrapped.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.wrapped.__exit__(*error)

    def __reduce_ex__(self, protocol: Any, /) -> Any:
        # Copies and pickles as the stream does: text streams of files refuse.
        return self.wrapped.__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"<captured {self.wrapped!r}>"
