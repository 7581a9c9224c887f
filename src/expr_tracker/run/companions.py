"""What accompanies the rows of a run: the environment, the console and the system's metrics.

Each is on a thread of its own or in front of one of the program's files. None of it is worth a run:
what fails here is counted and warned about.
"""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from expr_tracker.errors import StreamInUseError
from expr_tracker.interruption import is_from_signal, suppress_own
from expr_tracker.loading import loading
from expr_tracker.run.ending import is_multiprocessing_child
from expr_tracker.store.writer import LineWriter
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.console.capture import ConsoleCapture
    from expr_tracker.row import Row
    from expr_tracker.run.deadline import Deadline
    from expr_tracker.run.stream import OpenStream
    from expr_tracker.run.system_stream import SystemStream
    from expr_tracker.system import SystemThread

__all__ = ["Companions"]


class Companions:
    """Starts and stops what runs beside the recorder.

    Args:
        stream: the stream of the rows.
        write_environment: stores what was captured; it may raise `OSError`.
    """

    def __init__(self, stream: OpenStream, write_environment: Callable[[Row], None]) -> None:
        self._stream = stream
        self._notices = stream.notices
        self._write_environment = write_environment
        self._environment: threading.Thread | None = None
        self._working_directory: Path | None = None
        self._console: ConsoleCapture | None = None
        self._console_writer: LineWriter | None = None
        self._system: SystemThread | None = None
        self._system_stream: SystemStream | None = None
        self._has_keeper = True

    def go_without_thread(self) -> None:
        """Write the console by the calls that print; before `start`."""
        self._has_keeper = False

    def start(self) -> None:
        """Begin what the options ask for, off the caller's thread where it takes long.

        None of it is worth a run: a part that cannot begin is counted and warned about.
        """
        options = self._stream.options
        if options.capture:
            self._try("The environment", self._start_environment)
        if options.capture_console:
            self._try("The console", self._start_console)
        if options.system_metrics:
            self._try("The stream of the system's metrics", self._start_system)

    def _try(self, part: str, start: Callable[[], None]) -> None:
        try:
            start()
        except Exception as error:  # a full disk, no more threads, an odd machine
            if is_from_signal(error):
                raise
            self._notices.count("degraded", "parts of the run that could not be started")
            self._notices.say(
                f"{part} cannot be recorded: {shown(error)}. The run goes on without."
            )

    def _start_environment(self) -> None:
        # Now: on its thread, the program may have gone to another directory already.
        with suppress_own(OSError):
            self._working_directory = Path.cwd()
        if is_multiprocessing_child():
            # Here, not on a thread: a pool ends its workers by SIGTERM, often at once. CPython runs
            # our handler only between two steps of the main thread; while a busy thread makes that
            # one wait for the interpreter, the signal may fall just before a semaphore it then
            # sleeps in, and worker and pool wait for each other for ever.
            self._capture()
            return
        thread = threading.Thread(
            target=self._capture, name="expr-tracker-environment", daemon=True
        )
        thread.start()
        self._environment = thread

    def _capture(self) -> None:
        with loading.gate():
            from expr_tracker.capture.environment import (  # noqa: PLC0415 - slow to load
                capture_environment,
            )
            from expr_tracker.options import environment  # noqa: PLC0415 - as above

        try:
            self._write_environment(
                capture_environment(
                    environment(), sys.argv, working_directory=self._working_directory
                )
            )
        except OSError as error:
            if is_from_signal(error):
                raise
            self._notices.count("degraded", "environments that could not be written")
            self._notices.say(f"{self._stream.files.environment} could not be written: {error}.")
        except Exception as error:  # a thread's fault is counted, not lost
            if is_from_signal(error):
                raise
            self._notices.count("degraded", "environments that could not be read")
            self._notices.say(f"The environment could not be captured: {shown(error)}.")

    def _start_console(self) -> None:
        from expr_tracker.capture import LineRedactor  # noqa: PLC0415 - on request only
        from expr_tracker.console.capture import ConsoleCapture  # noqa: PLC0415 - on request only

        stream = self._stream
        lock = threading.RLock()
        writer = LineWriter(
            stream.files.console,
            stream.options,
            lock=lock,
            clock=stream.clock,
            notices=stream.notices,
            subject="other",
        )
        if not self._has_keeper:
            writer.go_without_thread()
        self._console_writer = writer

        def append(line: bytes) -> None:
            with lock:
                writer.append_line(line)

        console = ConsoleCapture(
            append, stream.clock, redact=LineRedactor(), size_bytes=writer.index.size
        )
        self._console = console
        console.start()

    def _start_system(self) -> None:
        from expr_tracker.run.system_stream import SystemStream  # noqa: PLC0415 - on request only
        from expr_tracker.system import SystemMeter, SystemThread  # noqa: PLC0415 - on request only

        stream = self._stream
        try:
            self._system_stream = SystemStream(stream)
        except StreamInUseError:
            # One process of a host is enough; the others of the run have nothing to add.
            self._notices.say(
                "Another process of this run records the machine's metrics; this one does not.",
                level=logging.INFO,
            )
            return
        try:
            system = SystemThread(
                self._system_stream.log,
                stream.options.system_interval,
                SystemMeter(stream.files.directory),
            )
            system.start()
        except BaseException:
            opened, self._system_stream = self._system_stream, None
            # As the fault is no fault of the run: one failed stream would make all of it failed.
            opened.close("succeeded")
            raise
        self._system = system

    def streams(self) -> list[OpenStream]:
        """Return the streams of this process beside that of the rows."""
        return [] if self._system_stream is None else [self._system_stream.stream]

    def writers(self) -> list[LineWriter]:
        """Return the writers that are open, for the keeper's rounds."""
        console, system = self._console_writer, self._system_stream
        writers = [] if console is None else [console]
        return writers if system is None else [*writers, system.writer]

    def keep_places(self) -> None:
        """Put back what someone removed beside the writers' files.

        Raises:
            OSError: it cannot be written.
        """
        system = self._system_stream
        if system is not None:
            system.keep_place()

    def stop(self, deadline: Deadline, status: str) -> None:
        """End every thread and give the console back.

        Args:
            deadline: until when threads and files are waited for.
            status: how the run ends; the stream ``system`` ends with it.
        """
        if self._console is not None:
            self._console.stop()
            self._note_console(self._console)
            self._console = None
        if self._console_writer is not None:
            self._console_writer.close({}, deadline.seconds_left)
            self._console_writer = None
        if self._system is not None:
            if not self._system.stop(deadline.seconds_left):
                self._notices.say("The thread of the system metrics is stuck.")
            if self._system.failures:
                self._notices.count(
                    "dropped", "system samples", self._system.failures, subject="other"
                )
            self._system = None
        if self._system_stream is not None:
            self._system_stream.close(status, deadline.seconds_left)
            self._system_stream = None
        thread, self._environment = self._environment, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(deadline.seconds_left)
            if thread.is_alive():
                self._notices.say(f"The thread {thread.name} is stuck; the run ends without it.")

    def _note_console(self, console: ConsoleCapture) -> None:
        """Put what the capture could not store where the user looks for losses."""
        stats = console.stats()
        if stats["cut"]:
            self._notices.count("degraded", "console lines cut", stats["cut"])
        lost = sum(stats[why] for why in ("over_limit", "failed", "overflowed", "within_append"))
        if lost:
            self._notices.count("dropped", "console lines", lost, subject="other")

    def abandon_in_child(self) -> None:
        """Go silent after a fork, touching no lock."""
        if self._console is not None:
            self._console.abandon_in_child()
        if self._console_writer is not None:
            self._console_writer.abandon_in_child()
        if self._system_stream is not None:
            self._system_stream.abandon_in_child()
