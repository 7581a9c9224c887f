"""Closing a run: by ``finish``, with the interpreter, by a signal, or half-way through its opening.

Every end takes the same steps in the same order: companions stop, the open row is committed, the
status is put behind it, the keeper stops, files and summary are written, the stream is let go of. Each
step may be carried out twice, so that an end that an exception interrupted is simply repeated.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import RunFinishedError
from expr_tracker.interruption import is_from_signal, suppress_own
from expr_tracker.run.deadline import Deadline
from expr_tracker.run.ending import (
    ErrorInFlight,
    SignalWatch,
    end_by_signal,
    keep_interrupt_status,
    watch_child_exit,
)
from expr_tracker.run.report import finish_report
from expr_tracker.store.journal import clear_journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.record.keeper import Keeper
    from expr_tracker.run.parts import RunParts
    from expr_tracker.run.stream import OpenStream
    from expr_tracker.run.upkeep import Upkeep

__all__ = ["Closing", "give_up"]

#: How long a signal handler waits for a lock that another thread holds.
_SIGNAL_WAIT_SECONDS: Final = 1.0
#: How long a backend may take nothing while the end of a run waits for it.
_PATIENCE_SECONDS: Final = 5.0


class Closing:
    """Ends one run, whichever way its process goes.

    Args:
        parts: what the run is made of.
        keeper: its thread.
        upkeep: what the thread does.
        forget: called when the run has let go of its stream.
    """

    def __init__(
        self, parts: RunParts, keeper: Keeper, upkeep: Upkeep, *, forget: Callable[[], None]
    ) -> None:
        self._parts = parts
        self._stream = parts.stream
        self._life = parts.stream.life
        self._keeper = keeper
        self._upkeep = upkeep
        self._forget = forget
        self._finishing = threading.RLock()
        self._signals = SignalWatch(self.leave_by_signal, self.checkpoint)
        self._unwatch_child: Callable[[], None] | None = None
        self._in_flight = ErrorInFlight(self._signals.status_after)

    def watch(self) -> None:
        """Hear of signals, and of the end of a multiprocessing child."""
        self._signals.install()
        self._unwatch_child = watch_child_exit(self.finish_at_exit)

    # -- the ordinary end ----------------------------------------------------------------------------

    def finish(self, status: str | None, *, is_quiet: bool = False) -> None:
        """Write everything, say what was not stored, and let go; see `expr_tracker.finish`.

        Args:
            status: how the run ends; ``None``: as the exception says that the call stands in.
            is_quiet: leave out the closing line unless something was lost.

        Raises:
            ForkedObjectError: this process is a forked child.
            RunFinishedError: called from inside a sink of this very run.
        """
        life = self._life
        life.guard()
        error: str | None = None
        if status is None:
            status, error = self._in_flight.status()
        if self._stream.recorder.is_delivering_here:
            raise RunFinishedError(
                "finish was called from inside a sink of the run (a print handle, a callback): "
                "it would wait for itself. Call it from the program."
            )
        with self._finishing:
            if life.is_closed:
                return
            try:
                self._end_everything(status)
            except Exception as fault:
                life.is_closed = not is_from_signal(fault)
                raise
            # Not behind an interrupt: another call then does what is left to do.
            is_first, life.is_closed = not life.is_closed, True
            if is_first:
                finish_report(self._parts, is_quiet=is_quiet, error=error)

    def finish_after(self, error: BaseException | None) -> None:
        """Close the run behind a block that an exception ended, or none did."""
        self.finish(self._signals.status_after(error))

    def finish_at_exit(self) -> None:
        """Close the run as the interpreter ends; a forked child writes nothing."""
        if self._life.is_forked:
            return
        raised: BaseException | None = None
        try:
            self.finish(self._signals.status_at_exit())
        except KeyboardInterrupt:
            # Once more: the user wants out, but not at the price of rows. The next one gets through.
            self.finish(self._signals.status_at_exit())
        except BaseException as error:
            if not is_from_signal(error):
                raise
            raised = error
        finally:
            keep_interrupt_status()
        if raised is not None:
            # Once more here too, but behind the block: what a handler raised says nothing of the run.
            self.finish(self._signals.status_at_exit())
            raise raised

    def _end_everything(self, status: str) -> None:
        """End threads, rows and files in order; every step may be carried out twice.

        A step that fails does not keep the others from being taken: what it raised comes behind
        them, and behind what was said on the way. An exception from a signal handler is not a
        step's fault and comes at once; another call then does what is left to do.
        """
        deadline = Deadline(self._stream.options.finish_timeout)
        faults: list[Exception] = []
        for step in (
            self._stream.recorder.take_over,
            # Each part leaves as much time as it had to those behind it: rows come last, not shortest.
            lambda: self._stop_companions(status, deadline.half()),
            self._commit_open,
            lambda: self._end_stream(status),
            lambda: self._stop_keeper(deadline.half()),
            self._parts.last_values.complete,
            *self._file_steps(deadline),
            self._stream.stream_lock.release,
            self._signals.restore,
            # Behind the lock: whoever waits for it need not wait for a network.
            lambda: self._end_backends(deadline),
            self._forget,
            self._unwatch,
        ):
            self._take(step, faults)
        if faults:
            self._stream.notices.emit()
            raise faults[0]

    @staticmethod
    def _take(step: Callable[[], object], faults: list[Exception]) -> None:
        try:
            step()
        except Exception as error:  # no step depends on the one before
            if is_from_signal(error):
                raise
            faults.append(error)

    def _commit_open(self, *, delivers: bool = True) -> None:
        if self._life.status is None:
            with self._stream.lock:
                self._stream.writer.reopen_if_closed()
            self._stream.recorder.commit_open(delivers=delivers)

    def _end_stream(self, status: str) -> None:
        if self._life.status is None:
            self._life.status = status
        self._stream.end(self._life.status)

    def _unwatch(self) -> None:
        if self._unwatch_child is not None:
            self._unwatch_child()

    def _stop_keeper(self, deadline: Deadline) -> None:
        if self._keeper.stop(deadline.seconds_left):
            with suppress_own(OSError):  # whoever closes the files says what is wrong there
                self._upkeep.keep_places()
        else:
            self._stream.notices.say(
                f"The thread {self._keeper.name} is stuck; the run ends without it."
            )

    def _stop_companions(self, status: str, deadline: Deadline) -> None:
        try:
            self._parts.companions.stop(deadline, status)
        except Exception as error:  # rows and lock do not depend on it
            if is_from_signal(error):
                raise
            notices = self._stream.notices
            notices.count("degraded", "parts of the run that could not be stopped")
            notices.say(f"A part of the run could not be stopped: {error!r}.")

    def _end_backends(
        self, deadline: Deadline, patience_seconds: float = _PATIENCE_SECONDS
    ) -> None:
        self._parts.backends.finish(
            lambda: deadline.seconds_left, patience_seconds=patience_seconds
        )

    def _file_steps(self, deadline: Deadline) -> tuple[Callable[[], object], ...]:
        stream, parts = self._stream, self._parts
        return (
            lambda: stream.writer.close(stream.run_row, deadline.half().seconds_left),
            lambda: parts.spans.close(deadline.seconds_left),
            self._upkeep.write_waiting,
            parts.save_summary,
            lambda: clear_journal(stream.files.journal),
        )

    # -- signals and forks -----------------------------------------------------------------------------

    def leave_by_signal(self, number: int) -> None:
        """Write what is in memory, then let the signal end the process."""

        def leave(is_free: bool) -> None:  # noqa: FBT001 - a callback's only argument
            try:
                if not is_free:
                    # Another thread hangs in a write: what it holds cannot be written by us.
                    self._parts.save_summary()
                elif not self._life.is_closed:
                    self._leave()
            finally:
                end_by_signal(number)

        if self._life.is_forked:
            end_by_signal(number)
            return
        self._stream.recorder.when_free(leave, _SIGNAL_WAIT_SECONDS)

    def _leave(self) -> None:
        """Close the run inside a signal handler: the frames below it will not go on."""
        stream = self._stream
        deadline = Deadline(stream.options.finish_timeout)
        for writer in self._parts.writers():
            writer.take_over()
        self._commit_open(delivers=False)
        self._end_stream("cancelled")
        self._stop_companions("cancelled", Deadline(_SIGNAL_WAIT_SECONDS))
        faults: list[Exception] = []
        for step in (
            *self._file_steps(deadline),
            self._stream.stream_lock.release,
            lambda: self._end_backends(deadline, _SIGNAL_WAIT_SECONDS),
            self._forget,
        ):
            self._take(step, faults)
        stream.notices.emit()
        if faults:
            raise faults[0]

    def checkpoint(self) -> None:
        """Make memory safe and go on: a handler of the user's decides how the process ends."""

        def save(is_free: bool) -> None:  # noqa: FBT001 - a callback's only argument
            if is_free and self._life.status is None:
                deadline = Deadline(_SIGNAL_WAIT_SECONDS)
                for writer in self._parts.writers():
                    writer.flush(timeout_seconds=deadline.seconds_left)
                # Behind the rows before it: it counts only for a file that has them all.
                self._parts.journal.keep(deadline.seconds_left)
                self._parts.save_summary()
                self._stream.notices.emit()

        if not self._life.is_forked:
            self._stream.recorder.when_free(save, _SIGNAL_WAIT_SECONDS)

    def abandon_in_child(self) -> None:
        """Become the parent's: called by the fork hook in the child, touches no lock."""
        self._parts.abandon_in_child()
        # Handlers are inherited too: the child's signals would wait for the parent's locks.
        self._signals.restore()

    # -- an opening that failed ------------------------------------------------------------------------

    def undo(self) -> None:
        """Stop what was begun and let go of the stream: the caller gets no run to finish."""
        deadline = Deadline(self._stream.options.finish_timeout)
        try:
            self._parts.backends.leave_behind()
            self._keeper.stop(deadline.half().seconds_left)
            self._parts.companions.stop(deadline.half(), "failed")
            self._signals.restore()
        finally:
            give_up(self._stream, deadline)
            self._forget()


def give_up(stream: OpenStream, deadline: Deadline | None = None) -> None:
    """Let go of a stream that no run came of."""
    if deadline is None:
        deadline = Deadline(stream.options.finish_timeout)
    try:
        if stream.writer.index.lines:
            stream.end("failed")
        stream.writer.close(stream.run_row, deadline.seconds_left)
    finally:
        stream.stream_lock.release()
