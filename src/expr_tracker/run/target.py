"""Where the spans of a run end: the open row and the span file."""

from __future__ import annotations

import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from expr_tracker.capture.redaction import redact
from expr_tracker.interruption import is_from_signal
from expr_tracker.store.writer import LineWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from expr_tracker.clock import Clock
    from expr_tracker.notices import Notices
    from expr_tracker.options import Options
    from expr_tracker.record.recorder import Recorder
    from expr_tracker.row import Row, RowEncoder

__all__ = ["RunSpans"]


class RunSpans:
    """Takes finished spans for one run.

    Attributes:
        clock: the clock of the run's rows.
        records: whether a line is wanted for every span.
        print_fn: the run's default for printing spans.
        plugins: the run's default plugins.
    """

    def __init__(
        self,
        path: Path,
        options: Options,
        *,
        recorder: Recorder,
        encoder: RowEncoder,
        clock: Clock,
        notices: Notices,
    ) -> None:
        self._path = path
        self._options = options
        self._recorder = recorder
        self.clock = clock
        self._notices = notices
        self._lock = threading.RLock()
        self._writer: LineWriter | None = None
        self._early: deque[bytes] = deque()
        self._has_failed = False
        self._has_thread = True
        self.records = options.spans
        self.print_fn: Callable[[str], object] | None = options.span_print_fn
        self.plugins: tuple[Any, ...] = options.span_plugins
        self.encode = encoder.value
        self.redact = redact
        self.finished = recorder.add_span

    def append(self, line: bytes) -> None:
        """Append one span line to the file; it is made with the first one."""
        with self._lock:
            writer = self._writer
            if writer is not None and not self._early:
                writer.append_line(line)
            elif writer is None and self._recorder.has_ended:
                self.count_dropped("spans")
            else:
                self._early.append(line)
                self._write_early()

    def _write_early(self) -> None:
        """Open the file and write what came before it was open: an exception may have left some."""
        writer = self._writer or self._open()
        while self._early:
            line = self._early.popleft()
            if writer is None:
                self.count_dropped("spans")
            else:
                writer.append_line(line)

    def _open(self) -> LineWriter | None:
        if self._has_failed:
            return None
        try:
            self._writer = LineWriter(
                self._path,
                self._options,
                lock=self._lock,
                clock=self.clock,
                notices=self._notices,
                subject="spans",
            )
        except OSError as error:
            if is_from_signal(error):
                raise
            self._has_failed = True
            self._notices.say(f"{self._path} cannot be opened ({error}): spans are not stored.")
        if self._writer is not None and not self._has_thread:
            self._writer.go_without_thread()
        return self._writer

    def go_without_thread(self) -> None:
        """Write by the calls that end spans; before the first span."""
        self._has_thread = False

    def count_dropped(self, kind: str) -> None:
        """Count a span or a part of one that is not stored, and why."""
        self._notices.count("dropped", kind, subject="spans")

    @property
    def writer(self) -> LineWriter | None:
        """The span file's writer; ``None`` before the first span."""
        return self._writer

    def close(self, timeout_seconds: float | None = None) -> None:
        """Count spans that were begun and thrown away, write what waits and close the file."""
        if "expr_tracker.spans.stack" in sys.modules:  # else nobody has begun a span
            sys.modules["expr_tracker.spans.stack"].settle_collected(self)
        if self._early and self._lock.acquire(timeout=self._options.finish_timeout):
            try:
                self._write_early()
            finally:
                self._lock.release()
        if self._writer is not None:
            self._writer.close({}, timeout_seconds)

    def abandon_in_child(self) -> None:
        """Let go of the file after a fork, touching no lock."""
        if self._writer is not None:
            self._writer.abandon_in_child()

    def counts(self) -> Row:
        """Return ``span_pending_bytes`` for ``info()``."""
        return {"span_pending_bytes": self._writer.pending_bytes if self._writer else 0}
