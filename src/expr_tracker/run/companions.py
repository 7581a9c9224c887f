"""What accompanies a run: its documents, the environment, the console and the system's metrics."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING, Any

from expr_tracker.errors import StreamInUseError
from expr_tracker.loading import loading
from expr_tracker.row import Row, key_text
from expr_tracker.store.documents import read_document, write_document
from expr_tracker.store.writer import LineWriter

if TYPE_CHECKING:
    from expr_tracker.clock import Clock
    from expr_tracker.console import ConsoleCapture
    from expr_tracker.options import Options
    from expr_tracker.run.run import Run
    from expr_tracker.run.system_stream import SystemStream
    from expr_tracker.system import SystemThread

__all__ = ["Companions"]


class Companions:
    """Starts and stops what runs beside the recorder."""

    def __init__(self, run: Run, clock: Clock) -> None:
        self._run = run
        self._clock = clock
        self._definitions: Row = {}
        self._environment: threading.Thread | None = None
        self._console: ConsoleCapture | None = None
        self._console_writer: LineWriter | None = None
        self._system: SystemThread | None = None
        self._system_run: SystemStream | None = None

    # -- documents -----------------------------------------------------------------------------------

    def write_documents(self) -> None:
        """Write ``config.json`` and ``about.json``.

        Raises:
            OSError: the run directory cannot be written.
        """
        run = self._run
        before = read_document(run.files.config)
        if before and before != run.config:
            run.notices.say(
                f"{run.files.config.name} held another configuration; it is replaced by this one's."
            )
        write_document(run.files.config, run.config, indent=4)
        stored = read_document(run.files.about) or {}
        definitions = stored.get("metrics")
        self._definitions = definitions if isinstance(definitions, dict) else {}
        self._write_about()

    def define_metric(self, name: str, definition: dict[str, Any]) -> None:
        """Add one metric's definition to ``about.json``."""
        run = self._run
        self._definitions[key_text(name)] = run.encode(name, definition)
        try:
            self._write_about()
        except OSError as error:
            run.notices.count("degraded", "metric definitions that could not be written")
            run.notices.say(f"{run.files.about} could not be written: {error}.")

    def _write_about(self) -> None:
        run = self._run
        write_document(run.files.about, {**run.about, "metrics": self._definitions})

    # -- threads ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin what the options ask for, off the caller's thread where it takes long."""
        options = self._run.options
        if options.capture:
            self._environment = threading.Thread(
                target=self._capture, name="expr-tracker-environment", daemon=True
            )
            self._environment.start()
        if options.capture_console:
            self._start_console(options)
        if options.system_metrics:
            self._start_system(options)

    def _capture(self) -> None:
        with loading:
            from expr_tracker.capture.environment import (  # noqa: PLC0415 - slow to load
                capture_environment,
            )
            from expr_tracker.options import environment  # noqa: PLC0415 - as above

        run = self._run
        try:
            write_document(run.files.environment, capture_environment(environment(), sys.argv))
        except OSError as error:
            run.notices.count("degraded", "environments that could not be written")
            run.notices.say(f"{run.files.environment} could not be written: {error}.")
        except Exception as error:  # noqa: BLE001 - a thread's fault is counted, not lost
            run.notices.count("degraded", "environments that could not be read")
            run.notices.say(f"The environment could not be captured: {error!r}.")

    def _start_console(self, options: Options) -> None:
        from expr_tracker.capture import LineRedactor  # noqa: PLC0415 - on request only
        from expr_tracker.console import ConsoleCapture  # noqa: PLC0415 - on request only

        run = self._run
        lock = threading.RLock()
        writer = LineWriter(
            run.files.console, options, lock=lock, clock=self._clock, notices=run.notices
        )

        def append(line: bytes) -> None:
            with lock:
                writer.append_line(line)

        self._console_writer = writer
        self._console = ConsoleCapture(
            append, self._clock, redact=LineRedactor(), size_bytes=writer.index.size
        )
        self._console.start()

    def _start_system(self, options: Options) -> None:
        from expr_tracker.run.system_stream import SystemStream  # noqa: PLC0415 - on request only
        from expr_tracker.system import SystemMeter, SystemThread  # noqa: PLC0415 - on request only

        run = self._run
        try:
            self._system_run = SystemStream(run, self._clock)
        except StreamInUseError:
            # One process of a host is enough; the others of the run have nothing to add.
            run.notices.say(
                "Another process of this run records the machine's metrics; this one does not.",
                level=logging.INFO,
            )
            return
        self._system = SystemThread(
            self._system_run.log, options.system_interval, SystemMeter(run.files.directory)
        )
        self._system.start()

    def stop(self, timeout_seconds: float, status: str) -> None:
        """End every thread and give the console back.

        Args:
            timeout_seconds: how long each thread is waited for.
            status: how the run ends; the stream ``system`` ends with it.
        """
        if self._console is not None:
            self._console.stop()
            self._note_console(self._console)
            self._console = None
        if self._console_writer is not None:
            self._console_writer.close({})
            self._console_writer = None
        if self._system is not None:
            if not self._system.stop(timeout_seconds):
                self._run.notices.say("The thread of the system metrics is stuck.")
            if self._system.failures:
                self._run.notices.count("dropped", "system samples", self._system.failures)
            self._system = None
        if self._system_run is not None:
            self._system_run.close(status)
            self._system_run = None
        thread, self._environment = self._environment, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_seconds)
            if thread.is_alive():
                self._run.notices.say(
                    f"The thread {thread.name} is stuck; the run ends without it."
                )

    def _note_console(self, console: ConsoleCapture) -> None:
        """Put what the capture could not store where the user looks for losses."""
        stats = console.stats()
        notices = self._run.notices
        if stats["cut"]:
            notices.count("degraded", "console lines cut", stats["cut"])
        lost = sum(stats[why] for why in ("over_limit", "failed", "overflowed", "within_append"))
        if lost:
            notices.count("dropped", "console lines", lost)

    def abandon_in_child(self) -> None:
        """Go silent after a fork, touching no lock."""
        if self._console is not None:
            self._console.abandon_in_child()
        if self._console_writer is not None:
            self._console_writer.abandon_in_child()
        if self._system_run is not None:
            self._system_run.abandon_in_child()
