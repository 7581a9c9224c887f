"""The run object: opens the rooms in order, hands calls on, and closes them in reverse."""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import TYPE_CHECKING, Any, Final, Self

from expr_tracker.capture.configuration import config_from
from expr_tracker.clock import Clock, SystemClock
from expr_tracker.errors import ForkedObjectError, OptionError, RunFinishedError
from expr_tracker.options import Options, rank_from_environment
from expr_tracker.record.keeper import Keeper
from expr_tracker.record.recorder import Recorder
from expr_tracker.row import Row, RowEncoder, step_from
from expr_tracker.run.companions import Companions
from expr_tracker.run.deadline import Deadline
from expr_tracker.run.ending import (
    SignalWatch,
    end_by_signal,
    keep_interrupt_status,
    status_at_exit,
    watch_child_exit,
)
from expr_tracker.run.late import Late, artifacts_of, history_of
from expr_tracker.run.latest import LastValues
from expr_tracker.run.opening import Opened, mark_attempt, mark_end, open_stream
from expr_tracker.run.report import finish_report, info
from expr_tracker.run.target import RunSpans
from expr_tracker.run.upkeep import Upkeep
from expr_tracker.store.files import StreamKey, check_stream
from expr_tracker.store.journal import clear_journal
from expr_tracker.store.live import LiveSnapshot
from expr_tracker.summary.mapping import Summary

if TYPE_CHECKING:
    import os
    from collections.abc import MutableMapping
    from types import TracebackType

    from expr_tracker.artifacts import Artifact, ArtifactStore, StoreMode
    from expr_tracker.history import HistoryStore
    from expr_tracker.notices import Notices
    from expr_tracker.run.place import Place
    from expr_tracker.store.writer import LineWriter

__all__ = ["Run", "open_runs"]

#: How long a signal handler waits for a lock that another thread holds.
_SIGNAL_WAIT_SECONDS: Final = 1.0
#: The runs of this process that are open; the fork hook goes through them.
open_runs: set[Run] = set()


class Run:
    """One stream of one run directory, open for writing; ``et.init`` makes it.

    Attributes:
        project: the project's name.
        name: the run's name.
        rank: this process's rank.
        config: what the user configured, secrets redacted; of a run that was resumed without a
            configuration, what it has.
        options: every tunable of the run.
    """

    def __init__(
        self,
        place: Place,
        options: Options,
        *,
        config: Row | None,
        about: Row,
        notices: Notices,
        clock: Clock | None = None,
    ) -> None:
        """Open the run; see `expr_tracker.init` for what may be raised."""
        check_stream(options.stream)
        self.project = place.project
        self.name = place.name
        self.options = options
        self.config: Row = config or {}
        self.rank = rank_from_environment()
        self.about = about
        self.notices = notices
        self.place = place
        self.clock = clock if clock is not None else SystemClock()
        self._lock = threading.RLock()
        self._finishing = threading.RLock()
        self._is_forked = False
        self._status: str | None = None
        self._is_closed = False
        self._history = Late(lambda: history_of(self))
        self._artifacts = Late(lambda: artifacts_of(self))
        key = StreamKey(options.stream, self.rank if options.rank_aware else 0)
        opened = open_stream(
            place, key, options, lock=self._lock, clock=self.clock, notices=notices
        )
        try:
            self._open_recorder(opened)
            self._open_companions(config, is_summary_behind=opened.is_summary_behind)
            open_runs.add(self)
        except BaseException:
            self._undo_opening(opened)
            raise

    def _open_recorder(self, opened: Opened) -> None:
        options, notices = self.options, self.notices
        self._stream_lock = opened.lock
        self.files = opened.files
        self._identity = opened.identity
        self.id = str(opened.identity.get("id", ""))
        self.attempt = opened.attempt
        self.writer = opened.writer
        self._encoder = RowEncoder(self._warn_of_value, self.files.media)
        self.recorder = Recorder(
            self.writer,
            options,
            lock=self._lock,
            clock=self.clock,
            notices=notices,
            encoder=self._encoder,
        )
        self.recorder.continue_from(
            highest=opened.highest_step, newest=opened.newest_step, rows=self.writer.index.rows
        )
        self.encode = self._encoder.value
        #: The hot path: one attribute, no method in between.
        self.log = self.recorder.log
        self.spans = RunSpans(
            self.files.spans,
            options,
            recorder=self.recorder,
            encoder=self._encoder,
            clock=self.clock,
            notices=notices,
        )

    def _open_companions(self, config: Row | None, *, is_summary_behind: bool) -> None:
        self._summary = Summary(
            self.files.summary,
            self.recorder.latest,
            encoder=self._encoder,
            guard=self.guard,
            is_behind=is_summary_behind,
        )
        self._last_values = LastValues(self, lock=self._lock, is_behind=is_summary_behind)
        self._last_values.complete()
        if self.options.print_to_screen:
            handle = self.options.print_handle
            self.recorder.add_sink(lambda row: handle(str(row)))
        self.companions = Companions(self, self.clock, config)
        self.companions.write_documents()
        self._upkeep = Upkeep(
            self,
            lock=self._lock,
            stream_lock=self._stream_lock,
            identity=self._identity,
            clock=self.clock,
        )
        self._keeper = Keeper(
            self._upkeep.tasks,
            self.notices,
            name=f"expr-tracker-keeper-{self.files.key.label}",
        )
        self._signals = SignalWatch(self._leave_by_signal, self._checkpoint)
        self._keeper.start()
        self.companions.start()
        self._signals.install()
        self._unwatch_child = watch_child_exit(self.finish_at_exit)
        self.save_unsaved_summary()
        where = (
            f"attempt {self.attempt}, next step {self.recorder.step}" if self.attempt > 1 else ""
        )
        self.notices.say(
            f"{self.project}/{self.name} ({self.files.key.label}) is logged to {self.dir}"
            f"{f': {where}' if where else ''}.",
            level=logging.INFO,
        )
        self.notices.emit()

    def _undo_opening(self, opened: Opened) -> None:
        """Stop what was begun and let go of the stream: the caller gets no run to finish."""
        deadline = Deadline(self.options.finish_timeout)
        try:
            if hasattr(self, "_keeper"):
                self._keeper.stop(deadline.half().seconds_left)
            if hasattr(self, "companions"):
                self.companions.stop(deadline.half(), "failed")
            if hasattr(self, "_signals"):
                self._signals.restore()
            if opened.writer.index.lines:
                with self._lock:
                    mark_end(opened.writer, opened.attempt, "failed", clock=self.clock)
            opened.writer.close(self.run_row, deadline.seconds_left)
        finally:
            opened.lock.release()
            open_runs.discard(self)

    # -- what users see ----------------------------------------------------------------------------

    @property
    def stream(self) -> str | None:
        """This process's stream; ``None`` is the default producer."""
        return self.files.key.stream

    @property
    def dir(self) -> str:
        """The run directory."""
        return str(self.files.directory)

    @property
    def step(self) -> int:
        """The open step, else the next one."""
        self.guard()
        return self.recorder.step

    @property
    def is_finished(self) -> bool:
        """Whether the run has ended and let go of its files."""
        return self._is_closed

    @property
    def url(self) -> str | None:
        """The address of a mirror of the run; ``None``, as no mirror is on."""
        return None

    @property
    def backends(self) -> dict[str, Any]:
        """The mirrors of the run by name: none."""
        return {}

    @property
    def entity(self) -> str | None:
        """Who the run belongs to, as given to ``init``, now or before."""
        return self.about.get("entity")

    @property
    def notes(self) -> str | None:
        """Free text, as given to ``init``."""
        return self.about.get("notes")

    @property
    def tags(self) -> list[str]:
        """Labels, as given to ``init``."""
        return list(self.about.get("tags") or ())

    @property
    def summary(self) -> MutableMapping[str, Any]:
        """The last value of every metric; assigned keys are pinned."""
        self.guard()
        self._last_values.complete()
        return self._summary

    @property
    def history(self) -> HistoryStore:
        """The rows of this stream, live."""
        return self._history.get()

    @property
    def artifacts(self) -> ArtifactStore:
        """The project's artifacts."""
        return self._artifacts.get()

    @property
    def artifacts_failed(self) -> int:
        """Artifacts and lineage lines that could not be stored."""
        store = self._artifacts.made
        return 0 if store is None else store.failure_count

    def log_artifact(  # noqa: PLR0917 - the signature of `expr_tracker.log_artifact`
        self,
        artifact_or_path: Artifact | str | os.PathLike[str],
        name: str | None = None,
        type: str | None = None,  # noqa: A002 - the name that callers use
        aliases: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        mode: StoreMode = "copy",
    ) -> Artifact:
        """Store a file, folder or `Artifact` as the next version; see `expr_tracker.log_artifact`."""
        self.check_open("log_artifact")
        # What describes a file is as readable as a configuration: secrets stay out of it too.
        plain = config_from(metadata, self._warn_of_value) if metadata is not None else None
        return self.artifacts.log(
            artifact_or_path, name, type, aliases, plain, mode, step=self.step
        )

    def use_artifact(self, artifact_or_name: Artifact | str, type: str | None = None) -> Artifact:  # noqa: A002
        """Return a stored artifact; see `expr_tracker.use_artifact`."""
        self.check_open("use_artifact")
        return self.artifacts.use(artifact_or_name, type, step=self.step)

    def define_metric(self, name: str, **kwargs: Any) -> None:
        """Keep what is said about a metric (unit, goal, axis) with the run."""
        self.check_open("define_metric")
        self.companions.define_metric(name, kwargs)

    def rewind(self, step: int) -> None:
        """Go back to ``step`` in a new attempt: earlier rows from there on are superseded.

        Raises:
            StepError: ``step`` is no step.
        """
        self.check_open("rewind")
        wanted = step_from(step)
        number = self.attempt + 1

        def mark() -> None:
            mark_attempt(self.writer, number, wanted, clock=self.clock)
            self.attempt = number
            self._last_values.forget()

        self.recorder.begin_attempt(wanted, mark)
        self._last_values.complete()

    def info(self) -> Row:
        """Return the run's state as figures; see the reference for the keys."""
        self.guard()
        return info(self)

    def __repr__(self) -> str:
        if self._is_forked:
            status = "the parent's"
        else:
            status = self._status or ("finished" if self._is_closed else "running")
        # A log handler may show a run whose opening failed, before it had files.
        files = getattr(self, "files", None)
        label = files.key.label if files is not None else "not opened"
        directory = files.directory if files is not None else self.place.directory
        return f"<Run {self.project}/{self.name} ({label}): {status}, {directory}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish(0)
        elif issubclass(kind, SystemExit):
            self.finish(1 if getattr(error, "code", 1) else 0)
        else:
            self._finish("cancelled" if issubclass(kind, KeyboardInterrupt) else "failed")

    # -- the rooms' view -----------------------------------------------------------------------------

    def guard(self) -> None:
        """Refuse the parent's object in a forked child, before any lock is touched.

        Raises:
            ForkedObjectError: this process is a forked child.
        """
        if self._is_forked:
            raise ForkedObjectError(
                "This run belongs to the parent process. Call et.init() in the child, with a "
                "stream of its own."
            )

    def check_open(self, call: str) -> None:
        """Refuse ``call`` on a run that has ended.

        Raises:
            ForkedObjectError: this process is a forked child.
            RunFinishedError: the run is finished.
        """
        self.guard()
        if self._status is not None:
            raise RunFinishedError(f"{call}: the run {self.name!r} is finished. Call et.init().")

    def writers(self) -> list[LineWriter]:
        """Return every open line file of the run, its rows' first."""
        spans = self.spans.writer
        return [self.writer, *(() if spans is None else (spans,)), *self.companions.writers()]

    def snapshot(self) -> LiveSnapshot:
        """Return index, waiting lines and open row of one moment."""
        self.guard()
        with self._lock:
            return LiveSnapshot(
                self.writer.index.copy(), self.writer.pending_lines(), self.recorder.open_row()
            )

    def flush(self, commit_open: bool = False) -> None:  # noqa: FBT001, FBT002 - the public name's form
        """Write everything that waits; with ``commit_open`` the open row too."""
        self.guard()
        if commit_open:
            self.recorder.commit_open()
        for writer in self.writers():
            writer.flush()
        self.notices.emit()

    @property
    def run_row(self) -> Row:
        """Project, name and start, for the sidecar."""
        return {"project": self.project, "name": self.name, "started_at": self.about.get("time")}

    def _warn_of_value(self, key: str, text: str) -> None:
        self.notices.count("degraded", f"values of {key}")
        self.notices.once(("value", key), f"{key!r} is {text}")

    def warn_of_artifact(self, key: str, text: str) -> None:
        """Say once what the artifact store has to say."""
        self.notices.once(("artifact", key), text)

    # -- the end -----------------------------------------------------------------------------------------

    def finish(self, exit_code: int | None = None, quiet: bool | None = None) -> None:  # noqa: FBT001
        """Commit the open row, write everything, say what was not stored, and let go.

        A second call does nothing; callers on other threads wait for the first.

        Args:
            exit_code: anything but 0 and ``None`` marks the attempt as failed.
            quiet: ``True`` leaves out the closing line unless something was lost.

        Raises:
            RunFinishedError: called from inside a sink of this very run.
            OptionError: ``exit_code`` is no whole number.
        """
        if exit_code is not None and not isinstance(exit_code, int):
            raise OptionError(f"exit_code={exit_code!r}: expected a whole number or None.")
        self._finish("failed" if exit_code else "succeeded", is_quiet=bool(quiet))

    def finish_at_exit(self) -> None:
        """Close the run as the interpreter ends; a forked child writes nothing."""
        if self._is_forked:
            return
        try:
            self._finish(status_at_exit())
        except KeyboardInterrupt:
            # Once more: the user wants out, but not at the price of rows. The next one gets through.
            self._finish(status_at_exit())
        finally:
            keep_interrupt_status()

    def _finish(self, status: str, *, is_quiet: bool = False) -> None:
        self.guard()
        if self.recorder.is_delivering_here:
            raise RunFinishedError(
                "finish was called from inside a sink of the run (a print handle, a callback): "
                "it would wait for itself. Call it from the program."
            )
        with self._finishing:
            if self._is_closed:
                return
            try:
                self._end_everything(status)
            except Exception:
                self._is_closed = True
                raise
            # Not behind a KeyboardInterrupt: another call then does what is left to do.
            is_first, self._is_closed = not self._is_closed, True
            if is_first:
                finish_report(self, is_quiet=is_quiet)

    def _end_everything(self, status: str) -> None:
        """End threads, rows and files in order; every step may be carried out twice."""
        deadline = Deadline(self.options.finish_timeout)
        self.recorder.take_over()
        # Each part leaves as much time as it had to those behind it: rows come last, not shortest.
        self._stop_companions(status, deadline.half())
        if self._status is None:
            self.recorder.commit_open()
            self._status = status
        self._end(self._status)
        is_stopped = self._keeper.stop(deadline.half().seconds_left)
        if is_stopped:
            with contextlib.suppress(OSError):  # whoever closes the files says what is wrong there
                self._upkeep.keep_places()
        else:
            self.notices.say(f"The thread {self._keeper.name} is stuck; the run ends without it.")
        self._last_values.complete()
        self._close_files(deadline)
        self._signals.restore()
        self._unwatch_child()

    def _stop_companions(self, status: str, deadline: Deadline) -> None:
        try:
            self.companions.stop(deadline, status)
        except Exception as error:  # noqa: BLE001 - rows and lock do not depend on it
            self.notices.count("degraded", "parts of the run that could not be stopped")
            self.notices.say(f"A part of the run could not be stopped: {error!r}.")

    def _end(self, status: str) -> None:
        """Put the status behind the last row and take no more."""
        with self._lock:
            if not self.recorder.has_ended:
                mark_end(self.writer, self.attempt, status, clock=self.clock)
            self.recorder.end("finished")

    def _close_files(self, deadline: Deadline) -> None:
        try:
            self.writer.close(self.run_row, deadline.half().seconds_left)
            self.spans.close(deadline.seconds_left)
            self._save_summary()
            clear_journal(self.files.journal)
        except Exception:
            self._let_go()
            raise
        self._let_go()

    def _let_go(self) -> None:
        self._stream_lock.release()
        open_runs.discard(self)

    def save_unsaved_summary(self) -> None:
        """Write the summary if something was pinned since: a killed process leaves its pins."""
        if self._summary.is_unsaved and not self._is_closed:
            self._save_summary()

    def _save_summary(self) -> None:
        try:
            if hasattr(self, "_summary"):
                self._summary.save()
        except OSError as error:
            self.notices.count("degraded", "summaries that could not be written")
            self.notices.say(f"{self.files.summary} could not be written: {error}.")

    def _leave_by_signal(self, number: int) -> None:
        """Write what is in memory, then let the signal end the process."""

        def leave(is_free: bool) -> None:  # noqa: FBT001 - a callback's only argument
            try:
                if not is_free:
                    # Another thread hangs in a write: what it holds cannot be written by us.
                    self._save_summary()
                elif not self._is_closed:
                    self._leave()
            finally:
                end_by_signal(number)

        if self._is_forked:
            end_by_signal(number)
            return
        self.recorder.when_free(leave, _SIGNAL_WAIT_SECONDS)

    def _leave(self) -> None:
        """Close the run inside a signal handler: the frames below it will not go on."""
        deadline = Deadline(self.options.finish_timeout)
        for writer in self.writers():
            writer.take_over()
        if self._status is None:
            self.recorder.commit_open(delivers=False)
            self._status = "cancelled"
        self._end(self._status)
        self._stop_companions("cancelled", Deadline(_SIGNAL_WAIT_SECONDS))
        self._close_files(deadline)
        self.notices.emit()

    def _checkpoint(self) -> None:
        """Make memory safe and go on: a handler of the user's decides how the process ends."""

        def save(is_free: bool) -> None:  # noqa: FBT001 - a callback's only argument
            if is_free and self._status is None:
                deadline = Deadline(_SIGNAL_WAIT_SECONDS)
                self._upkeep.keep_journal(at_once=True)
                for writer in self.writers():
                    writer.flush(timeout_seconds=deadline.seconds_left)
                self._save_summary()
                self.notices.emit()

        if not self._is_forked:
            self.recorder.when_free(save, _SIGNAL_WAIT_SECONDS)

    def abandon_in_child(self) -> None:
        """Become the parent's object: called by the fork hook in the child, touches no lock."""
        self._is_forked = True
        self.recorder.end("forked")
        self.writer.abandon_in_child()
        self.spans.abandon_in_child()
        self._stream_lock.abandon_in_child()
        # Handlers are inherited too: the child's signals would wait for the parent's locks.
        self._signals.restore()
        if hasattr(self, "companions"):
            self.companions.abandon_in_child()
