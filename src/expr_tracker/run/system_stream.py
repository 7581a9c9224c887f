"""The stream ``system``: the machine's own figures, on their own clock, in the same run directory."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from expr_tracker.record.recorder import Recorder
from expr_tracker.row import RowEncoder
from expr_tracker.run.opening import begin_attempt, mark_end
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.lock import StreamLock
from expr_tracker.store.writer import LineWriter

if TYPE_CHECKING:
    from expr_tracker.clock import Clock
    from expr_tracker.run.run import Run

__all__ = ["SYSTEM_STREAM", "SystemStream"]

SYSTEM_STREAM: Final = "system"


class SystemStream:
    """A second stream that this process writes, with a lock and attempts of its own.

    Raises:
        StreamInUseError: another process of the run writes it already.
        OSError: its files cannot be opened.
    """

    def __init__(self, run: Run, clock: Clock) -> None:
        files = RunFiles(run.files.directory, StreamKey(SYSTEM_STREAM, run.files.key.rank))
        # The user's resume step is a step of the user's stream.
        options = replace(run.options, resume_step=None)
        self._run = run
        self._clock = clock
        self._lock = threading.RLock()
        self._stream_lock = StreamLock(files.lock)
        self._stream_lock.acquire(SYSTEM_STREAM)
        try:
            self._writer = LineWriter(
                files.metrics, options, lock=self._lock, clock=clock, notices=run.notices
            )
            with self._lock:
                self._attempt = begin_attempt(files, self._writer, options, clock=clock)
        except BaseException:
            self._stream_lock.release()
            raise
        self._recorder = Recorder(
            self._writer,
            options,
            lock=self._lock,
            clock=clock,
            notices=run.notices,
            encoder=RowEncoder(lambda _key, _text: None),
        )
        index = self._writer.index
        self._recorder.continue_from(
            highest=index.attempt_max_step, newest=index.last_step, rows=index.rows
        )

    def log(self, row: dict[str, float]) -> None:
        """Record one sample at the next step."""
        self._recorder.log(row)

    @property
    def writer(self) -> LineWriter:
        """The stream's writer."""
        return self._writer

    def keep_place(self) -> None:
        """Put the lock back where someone removed the run directory.

        Raises:
            OSError: it cannot be written.
        """
        if not self._recorder.has_ended and self._stream_lock.keep_place(SYSTEM_STREAM) == "taken":
            self._run.notices.count("degraded", "streams with a second writer")

    def close(self, status: str, timeout_seconds: float | None = None) -> None:
        """Mark the end, write what waits and let go of the stream."""
        with self._lock:
            mark_end(self._writer, self._attempt, status, clock=self._clock)
            self._recorder.end("finished")
        try:
            self._writer.close(self._run.run_row, timeout_seconds)
        finally:
            self._stream_lock.release()

    def abandon_in_child(self) -> None:
        """Let go of the files after a fork, touching no lock."""
        self._recorder.end("forked")
        self._writer.abandon_in_child()
        self._stream_lock.abandon_in_child()
