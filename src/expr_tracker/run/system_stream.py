"""The stream ``system``: the machine's own figures, on their own clock, in the same run directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from expr_tracker.run.opening import open_beside

if TYPE_CHECKING:
    from expr_tracker.run.stream import OpenStream
    from expr_tracker.store.writer import LineWriter

__all__ = ["SYSTEM_STREAM", "SystemStream"]

SYSTEM_STREAM: Final = "system"


class SystemStream:
    """A second stream that this process writes, with a lock and attempts of its own.

    Args:
        beside: the stream of the user's rows.

    Raises:
        StreamInUseError: another process of the run writes it already.
        OSError: its files cannot be opened.

    Attributes:
        stream: the stream itself.
    """

    def __init__(self, beside: OpenStream) -> None:
        self.stream = open_beside(beside, SYSTEM_STREAM)
        #: Records one sample at the next step.
        self.log = self.stream.recorder.log

    @property
    def writer(self) -> LineWriter:
        """The stream's writer."""
        return self.stream.writer

    def keep_place(self) -> None:
        """Put the lock back where someone removed the run directory.

        Raises:
            OSError: it cannot be written.
        """
        stream = self.stream
        if (
            not stream.recorder.has_ended
            and stream.stream_lock.keep_place(SYSTEM_STREAM) == "taken"
        ):
            stream.notices.count("degraded", "streams with a second writer")

    def close(self, status: str, timeout_seconds: float | None = None) -> None:
        """Mark the end, write what waits and let go of the stream."""
        self.stream.end(status)
        try:
            self.stream.writer.close(self.stream.run_row, timeout_seconds)
        finally:
            self.stream.stream_lock.release()

    def abandon_in_child(self) -> None:
        """Let go of the files after a fork, touching no lock."""
        self.stream.abandon_in_child()
