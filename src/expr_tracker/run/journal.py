"""When the open row is written beside the file: once it is old, at a flush, before a signal's end.

What the journal is and when it counts stands in `store.journal`. Several threads come here, the
keeper and whoever flushes; one at a time takes the row and writes it, so that an older state of the
row never replaces a newer one.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.journal import write_journal

if TYPE_CHECKING:
    from expr_tracker.run.stream import OpenStream

__all__ = ["OpenRowJournal"]

#: An open row younger than this is worth no file, unless somebody asks for it.
_OLD_SECONDS: Final = 1.0


class OpenRowJournal:
    """Keeps the open row of one stream.

    Args:
        stream: the stream of the row.
    """

    def __init__(self, stream: OpenStream) -> None:
        self._stream = stream
        self._writing = threading.RLock()
        self._written: tuple[int, int] | None = None

    def keep_if_old(self) -> None:
        """Write the open row if it has been open for a while; the keeper calls this."""
        self._keep(_OLD_SECONDS)

    def keep(self, timeout_seconds: float | None = None) -> None:
        """Write the open row now.

        Where rows before it still wait for the file it is not written: it would not count.

        Args:
            timeout_seconds: how long another thread that writes it is waited for; ``None`` is as
                long as it takes.
        """
        self._keep(None, timeout_seconds)

    def _keep(self, age_seconds: float | None, timeout_seconds: float | None = None) -> None:
        if not self._writing.acquire(timeout=-1 if timeout_seconds is None else timeout_seconds):
            return
        try:
            self._write(age_seconds)
        finally:
            self._writing.release()

    def _write(self, age_seconds: float | None) -> None:
        stream = self._stream
        with stream.lock:
            row = stream.recorder.open_row()
            size, ordinal = stream.writer.index.size, stream.writer.index.lines
            is_behind = bool(stream.writer.pending_bytes)
        if row is None or is_behind:
            return
        if age_seconds is not None and stream.clock.wall() - row["_time"] < age_seconds:
            return
        mark = (size, hash(str(row)))
        if mark == self._written:
            return
        try:
            write_journal(stream.files.journal, row, ordinal=ordinal, data_size=size)
            self._written = mark
        except OSError as error:
            if is_from_signal(error):
                raise
            stream.notices.count("degraded", "journals that could not be written")
