"""The last value of every metric, read from the file where nobody kept it.

The recorder keeps last values, and the summary hands them to the next attempt. After a kill the
summary is older than the rows, and a rewind takes back what was last: then the rows are asked,
backward and piece by piece. At worst that is the whole file, a second or two for a million rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from expr_tracker.history.source import Source
from expr_tracker.history.view import View
from expr_tracker.interruption import is_from_signal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from expr_tracker.row import Row
    from expr_tracker.run.stream import OpenStream

__all__ = ["LastValues"]

#: Bytes decoded at a time: the first piece holds the newest thousand rows, which may be enough.
_PIECE_BYTES: Final = 1 << 18
_PIECE_BYTES_MAX: Final = 1 << 22


class LastValues:
    """Completes the recorder's last values after a kill and after a rewind.

    Args:
        stream: the stream of the rows.
        is_behind: whether the rows of earlier attempts have to be read.

    Attributes:
        are_whole: whether the recorder has all of them now; not where they could not be read.
    """

    def __init__(self, stream: OpenStream, *, is_behind: bool) -> None:
        self._stream = stream
        self._latest = stream.recorder.latest
        self._is_complete = self.are_whole = not is_behind
        self._rewinds = 0
        #: The only names there can be; ``None`` where they are not known.
        self._names: set[str] | None = None

    def forget(self) -> None:
        """Take back everything: a rewind has just superseded some of it. The lock is held."""
        if self._is_complete:
            self._names = set()
        if self._names is not None:
            self._names.update(name for name in self._latest if name[:1] != "_")
        self._is_complete = self.are_whole = False
        self._rewinds += 1
        self._latest.clear()

    def complete(self) -> None:
        """Read from the file what is not known; a failure is counted, and tried once."""
        if self._is_complete:
            return
        stream, rewinds = self._stream, self._rewinds
        values: Row = {}
        has_failed = False
        try:
            with Source.live(stream.files.metrics, stream.snapshot()) as source:
                values = last_values(source, self._names)
        except Exception as error:  # a summary is no reason to stop training
            if is_from_signal(error):
                raise
            has_failed = True
            stream.notices.count("degraded", "summaries that could not be made again")
            stream.notices.say(f"The summary lacks what earlier attempts logged: {error!r}.")
        with stream.lock:
            if rewinds != self._rewinds:  # by another thread, whose own call reads once more
                return
            for name, value in values.items():
                self._latest.setdefault(name, value)
            self._is_complete = True
            self.are_whole = not has_failed


def last_values(source: Source, names: set[str] | None = None) -> Row:
    """Return the last value of every metric in file order, superseded rows left out.

    Args:
        source: the rows.
        names: reading ends where each of them is found.
    """
    values: Row = {}
    for row in _newest_first(source):
        for name, value in row.items():
            if name[:1] != "_":
                values.setdefault(name, value)
        if names is not None and len(values) >= len(names) and values.keys() >= names:
            break
    return values


def _newest_first(source: Source) -> Iterator[Row]:
    view = View(source.index.attempts, None)
    end, size = source.size, _PIECE_BYTES
    while end > 0:
        start = source.line_start(max(0, end - size), end)
        size = size * 4 if start is None else min(size * 4, _PIECE_BYTES_MAX)
        if start is None:  # a line longer than the piece
            continue
        for stretch in view.stretches_backward(start, end):
            rows = source.rows(stretch.start, stretch.stop)
            for _, row in reversed(view.keyed(rows, stretch)):
                yield row
        end = start
