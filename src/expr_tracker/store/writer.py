"""Appending to one line file: durable by default, and never in the way of the caller.

A row goes to the operating system in one ``write`` on the caller's thread, so that ``kill -9``
loses nothing that ``append`` took. When that is not possible (a full disk, a read-only file) or not
wanted (buffering, by choice or because the file system is slow), rows wait in memory, in order, and
`LineWriter.flush` writes them: the keeper thread calls it, with a pause after a failure, so a full
disk costs the caller nothing.

Invariants:

- The index covers exactly the bytes of the file that are accounted for; ``index.size`` is the truth
  about what has been written.
- An exception from a signal handler may fall anywhere. What was under way is named in ``_intent``
  (one row) or ``_batch`` (a flush) before the write, and `settle` finds out from the file's size
  what became of it. Nothing is written twice and nothing that was taken is lost.
- After another program changed the file, the index has the right size but no zones until
  `PlaceWatch` has read the file.
- While ``_flusher`` names a thread, that thread writes ``_batch``, maybe outside of the lock: nobody
  else writes the file or judges the batch by the file's size.
- The file is opened with ``O_APPEND``, and only while the stream's lock is held.
- The program may close the descriptor, and another file get its number. `reopen_if_closed` finds that out: before
  every judgement by the file's size, every flush and the end of the run, and once in a while from
  `check_place`. A single row is written without asking.
"""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.backlog import Backlog, Item, whole_part
from expr_tracker.store.lines import encode_finite, encode_line
from expr_tracker.store.live_file import LiveFile
from expr_tracker.store.pace import SLOW_SECONDS, Pace
from expr_tracker.store.place import prepare
from expr_tracker.store.place_watch import PlaceWatch
from expr_tracker.store.reader import LineFile
from expr_tracker.store.sidecar import save_index
from expr_tracker.store.thread_locks import are_free, release_all
from expr_tracker.store.troubles import Troubles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from expr_tracker.clock import Clock
    from expr_tracker.notices import Notices, Subject
    from expr_tracker.options import Options
    from expr_tracker.row import Row
    from expr_tracker.store.index import StreamIndex

__all__ = ["LineWriter"]

#: Pause after a failed write: a full disk is not asked more than once a second.
_RETRY_SECONDS: Final = 1.0
#: Bytes handed over in one write of a flush.
_BATCH_BYTES_MAX: Final = 1 << 20
_LETTER_OF_NULL: Final = ord("u")


class LineWriter:
    """The one writer of a line file.

    Every method but `flush`, `check_place` and `close` is called with ``lock`` held; those three
    take it themselves and do their slow work outside of it.
    """

    def __init__(  # noqa: PLR0913 - the last two have defaults that all but a few callers want
        self,
        path: Path,
        options: Options,
        *,
        lock: threading.RLock,
        clock: Clock,
        notices: Notices,
        write: Callable[[int, bytes], int] = os.write,
        subject: Subject = "rows",
    ) -> None:
        """Open ``path`` for appending and repair its tail.

        Args:
            path: the line file; its folder exists.
            options: limits and durability.
            lock: guards all state; shared with whoever decides what is appended.
            clock: for delays.
            notices: where faults are counted.
            write: the system call, replaceable so that tests can slow it down or make it fail.
            subject: what the lines are, for the figures of what was lost. Lines that are neither
                rows nor spans have no index: nobody asks where they lie.

        Raises:
            OSError: the file cannot be opened.
        """
        self.path = path
        self._options = options
        self._lock = lock
        self._io = threading.RLock()
        self._clock = clock
        self._monotonic = clock.monotonic
        self._troubles = Troubles(path, options, notices=notices, subject=subject)
        self._write = write
        self._is_indexed = subject != "other"
        self.index: StreamIndex = prepare(path, notices, is_indexed=self._is_indexed)
        self.file = LiveFile(path, options, notices=notices, write=write)
        self._line_bytes_max = options.max_record_bytes or (1 << 62)
        self._rotates = options.max_file_bytes is not None
        self._pace = Pace(options)
        self._fsync = self._pace.syncs
        self._direct = not self._pace.buffers
        self._backlog = Backlog(options)
        self._intent: Item | None = None
        self._intent_start = 0
        self._taken: Row | None = None
        self._settled: Item | None = None
        self._batch: list[Item] | None = None
        self._batch_start = 0
        self._flusher: int | None = None
        self._has_thread = True
        self._failure: str | None = None
        self._retry_at = 0.0
        self._is_closed = False
        self._place = PlaceWatch(
            self,
            lock=lock,
            notices=notices,
            troubles=self._troubles,
            is_indexed=self._is_indexed,
        )

    # -- appending -------------------------------------------------------------------------------

    # One body: every call that it does not make is 50 ns less.
    def append_row(self, row: Row, step: int) -> bool:  # noqa: C901
        """Append a metric row; say whether it was taken.

        Args:
            row: ``_step``, ``_time`` and the values, all plain.
            step: the row's step.
        """
        try:
            line = encode_finite(row) + b"\n"
            # Perhaps a NaN; a look at the bytes is cheaper than at each value. The letter first: one is
            # found in a tenth of the time of a word, and most rows have none.
            if _LETTER_OF_NULL in line and b"null" in line:
                line = encode_line(row)
        except (UnicodeEncodeError, RecursionError):  # half a surrogate pair; lists within lists
            line = encode_line(row)
        size = len(line)
        if size > self._line_bytes_max:
            self._troubles.count_refused(size, self._line_bytes_max)
            return False
        item = (line, step, None, row)
        if not self._direct or self._rotates or self._intent is not None:
            return self._append_slowly(item)
        began = self._monotonic()
        self._intent_start = self.index.size
        self._intent = item
        try:
            written = self._write(self.file.fd, line)
        except OSError as error:
            if is_from_signal(error):
                raise
            self._queue_after_failure(item, error)
            return True
        if written != size:
            # The system tells the reason only when it is asked for the rest.
            failure = self._write_all(line[max(0, written) :])
            if failure is not None:
                self._queue_after_failure(item, failure)
                return True
        self.index.note_row(step, size)
        self._taken = row
        self._intent = None
        if self._fsync:
            self.file.sync()
        if self._monotonic() - began > SLOW_SECONDS:
            self._note_slow_append()
        return True

    def append_line(
        self, line: bytes, *, step: int | None = None, marker: Row | None = None
    ) -> None:
        """Append one encoded line, its end included: a span, a console line or a marker."""
        size = len(line)
        if size > self._line_bytes_max:
            self._troubles.count_refused(size, self._line_bytes_max)
            return
        item = (line, step, marker, None)
        if not self._direct or self._rotates or self._intent is not None:
            self._append_slowly(item)
            return
        self._intent_start = self.index.size
        self._intent = item
        try:
            written = self._write(self.file.fd, line)
        except OSError as error:
            if is_from_signal(error):
                raise
            self._queue_after_failure(item, error)
            return
        if written != size:
            failure = self._write_all(line[max(0, written) :])
            if failure is not None:
                self._queue_after_failure(item, failure)
                return
        if step is None and marker is None:
            self.index.note_line(size)
        else:
            self.index.note(size, step, marker)
        self._intent = None
        if self._fsync:
            self.file.sync()

    def has_taken(self, row: Row) -> bool:
        """Say whether ``row`` was taken, also when `append_row` was left by an exception."""
        self.settle()
        return self._taken is row

    def _append_slowly(self, item: Item) -> bool:
        if self._is_closed:
            self._troubles.count_late()
            return False
        self.settle()
        self._queue(item)
        now = self._monotonic()
        backlog = self._backlog
        if backlog.oldest is None:
            backlog.oldest = now
        if self._failure is not None:
            # A marker pushes no row out: that of the end comes just before the last try.
            dropped = backlog.drop_oldest() if item[2] is None else 0
            if dropped:
                self._troubles.count_overflow(dropped, self._failure)
            if not self._has_thread and self._may_retry():
                self._flush_here()
        elif self._pace.must_write(now, len(backlog.items), is_full=backlog.is_over_limit):
            self._flush_here()
        self._pace.newest_append = now
        return True

    def _queue(self, item: Item) -> None:
        size = len(item[0])
        # No call lies between these lines but the last one, so they happen together or not at all.
        # What comes later must queue behind, also when an exception keeps us from writing it now.
        self._direct = False
        self._taken = item[3]
        self._backlog.size += size
        self._backlog.items.append(item)

    # -- trouble ---------------------------------------------------------------------------------

    def _queue_after_failure(self, item: Item, error: OSError) -> None:
        if self._is_closed:
            # A signal handler finished the run while its own thread was about to write this.
            self._troubles.count_late()
            self._intent = None
            return
        is_reopened = self.reopen_if_closed()
        self.settle()
        if self._settled is not item:
            self._queue(item)
        if is_reopened:
            self._flush_here()
        else:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        self._direct = False
        self._retry_at = self._clock.monotonic() + _RETRY_SECONDS
        if self._failure is None:
            self._troubles.say_failure(reason)
        self._failure = reason

    def _recovered(self) -> None:
        if self._failure is not None:
            self._troubles.say_recovery()
            self._failure = None
        self._direct = not self._pace.buffers

    def reopen_if_closed(self) -> bool:
        """Open the file again if the program closed its descriptor; say whether it had."""
        return self._place.reopen_if_closed()

    def settle(self) -> None:
        """Account for a write that an exception or an error left unfinished."""
        if self.file.is_rotating:
            self.file.settle_rotation(self.index.size)
        if self._intent is None and (self._batch is None or self._flusher is not None):
            return
        self.reopen_if_closed()
        try:
            end = self.file.end()
        except OSError as error:
            if is_from_signal(error):
                raise
            return
        if self._intent is not None:
            self._settle_intent(self._intent, end)
        elif self._batch is not None:
            self._settle_batch(self._batch, end)

    def _settle_intent(self, item: Item, actual: int) -> None:
        start = self._intent_start
        if actual >= start + len(item[0]):
            self._settled = item
            self._taken = item[3]
            if self.index.size == start:
                self.index.note(len(item[0]), item[1], item[2])
        elif actual > start:
            self.cut_back(start)
        self._intent = None

    def _settle_batch(self, batch: list[Item], actual: int) -> None:
        """Account for the items of a flush that the file holds, and cut off a part of one."""
        written, whole = whole_part(batch, self._batch_start, actual)
        self._conclude(written)
        if actual > whole:
            self.cut_back(whole)
        self._batch = None

    def _conclude(self, items: list[Item]) -> None:
        """Account for items that are in the file; carried out twice, it changes nothing more."""
        end = self._batch_start
        for item in items:
            size = len(item[0])
            end += size
            if self.index.size < end:
                self.index.note(len(item[0]), item[1], item[2])
            self._backlog.remove(item)
        self._backlog.oldest = self._clock.monotonic() if self._backlog.items else None

    def cut_back(self, size: int) -> None:
        """Remove a part of a line behind offset ``size``; the lock is held."""
        rest = self.file.cut_back(size)
        if rest:
            self.index.unreadable += 1
            self.index.note_marker({}, rest)

    # -- writing what waits ----------------------------------------------------------------------

    def flush(self, *, at_once: bool = True, timeout_seconds: float | None = None) -> bool:
        """Write what waits, outside of the lock; say whether nothing waits any more.

        Args:
            at_once: also during the pause after a failure.
            timeout_seconds: how long another thread's hold on the file is waited for; ``None`` is
                as long as it takes. A write of our own takes what it takes.
        """
        if timeout_seconds is not None and not are_free((self._io, self._lock), timeout_seconds):
            return False
        me = threading.get_ident()
        with self._io:
            if self._flusher == me:
                # A signal handler of the thread that flushes: the flush goes on behind it.
                return False
            try:
                while True:
                    with self._lock:
                        if self._is_closed:
                            return not self._backlog.items
                        self.reopen_if_closed()
                        self.settle()
                        if not self._backlog.items:
                            self._recovered()
                            return True
                        if not at_once and self._failure is not None and not self._may_retry():
                            return False
                        data = self._begin_batch()
                    began = self._monotonic()
                    error = self._write_all(data)
                    with self._lock:
                        self._end_batch(error)
                        if error is not None:
                            return False
                        self._weigh_flush(self._monotonic() - began, len(data))
                        if not self._backlog.items:
                            # Under the same hold: who sees that nothing waits sees no failure.
                            self._recovered()
            finally:
                if self._flusher == me:
                    self._flusher = None

    def flush_if_due(self) -> None:
        """Write what has waited long enough; the keeper calls this."""
        with self._lock:
            if not self._backlog.items and self._failure is None:
                return
            waited = self._clock.monotonic() - (self._backlog.oldest or 0.0)
            is_due = self._failure is not None or self._pace.is_due(waited)
        if is_due:
            self.flush(at_once=False)

    def _flush_here(self) -> None:
        """Write what waits on the caller's thread, the lock held; skip it if a flush is running."""
        if self._flusher is not None:
            return
        try:
            while self._backlog.items:
                data = self._begin_batch()
                began = self._monotonic()
                error = self._write_all(data)
                self._end_batch(error)
                if error is not None:
                    return
                self._weigh_flush(self._monotonic() - began, len(data))
            self._recovered()
        finally:
            self._flusher = None

    def _may_retry(self) -> bool:
        return self._clock.monotonic() >= self._retry_at

    def _begin_batch(self) -> bytes:
        if self._failure is not None:
            self.reopen_if_closed()
        room = _BATCH_BYTES_MAX
        if self.file.limit is not None:
            end = self.index.size
            self.file.rotate_before(len(self._backlog.items[0][0]), end, self.index.parts)
            self._place.note_parts()
            room = min(room, self.file.limit - (end - self.file.start))
        batch = self._backlog.first(room)
        flusher = threading.get_ident()
        self._batch_start = self.index.size
        self._batch = batch
        self._flusher = flusher
        return b"".join(item[0] for item in batch)

    def _end_batch(self, error: OSError | None) -> None:
        """Account for a batch whose write has come back, the lock held."""
        self._flusher = None
        if error is not None:
            is_reopened = self.reopen_if_closed()
            self.settle()
            if not is_reopened:
                self._fail(error)
        elif self._batch is not None:
            # Not by the file's size: another program may have cut the file meanwhile.
            self._conclude(self._batch)
            self._batch = None

    def _write_all(self, data: bytes) -> OSError | None:
        """Write ``data``; what a failure left in the file is found by `settle`."""
        try:
            while data:
                written = self._write(self.file.fd, data)
                if written <= 0:
                    return OSError(errno.EIO, os.strerror(errno.EIO))
                data = data[written:]
        except OSError as error:
            if is_from_signal(error):
                raise
            return error
        if self._fsync:
            self.file.sync()
        return None

    def _note_slow_append(self) -> None:
        text = self._pace.note_slow_append(self.index.lines, self._monotonic())
        if text is not None:
            self._direct = False
            self._troubles.say_pace(text)

    def _weigh_flush(self, seconds: float, size_bytes: int) -> None:
        if self._pace.note_flush(seconds, size_bytes, self._monotonic()):
            self._direct = not self._backlog.items and self._failure is None
            self._troubles.say_pace("is quick again: rows are durable at once.")

    # -- the file's place ------------------------------------------------------------------------

    def check_place(self) -> None:
        """Put the file back where someone removed it, and notice where someone changed it."""
        with self._io:
            try:
                self._place.check()
            except OSError as error:
                if is_from_signal(error):
                    raise
                with self._lock:
                    self._fail(error)

    @property
    def is_flushing_or_closed(self) -> bool:
        """Whether a thread writes the file outside of the lock, or nobody does any more."""
        return self._is_closed or self._flusher is not None

    # -- state and the end -----------------------------------------------------------------------

    def pending_lines(self) -> list[bytes]:
        """Return the lines that wait for the file, in order."""
        self.settle()
        return self._backlog.lines()

    @property
    def pending_bytes(self) -> int:
        """Bytes that wait for the file."""
        return self._backlog.size

    @property
    def durability(self) -> str:
        """What a row that was just taken survives: ``process``, ``fsync`` or ``buffered``."""
        if self._failure is not None or self._pace.buffers:
            return "buffered"
        return "fsync" if self._fsync else "process"

    @property
    def failure(self) -> str | None:
        """Why the file cannot be written at the moment."""
        return self._failure

    def save_index(self, run: Row) -> None:
        """Write the sidecar; a failure is counted, for readers can do without."""
        with self._lock:
            if self._is_closed or self._place.is_stale or not self._is_indexed:
                return
            index = self.index.copy()
            index.live_size = index.size - self.file.start
        try:
            with LineFile(self.path) as file:
                if file.size >= index.size:
                    save_index(index, file, run)
                    self._keep_checkpoints(index)
        except OSError as error:
            if is_from_signal(error):
                raise
            self._troubles.count_sidecar()

    def _keep_checkpoints(self, saved: StreamIndex) -> None:
        """Go on from what was just read, unless the file was changed by another program since."""
        with self._lock:
            known = self.index.checkpoints
            if self.index.size >= saved.size and (not known or known[-1] in saved.checkpoints):
                self.index.checkpoints = saved.checkpoints

    def close(self, run: Row, timeout_seconds: float | None = None) -> int:
        """Write what waits, the sidecar, and close; return how many rows could not be written.

        Rows that the file does not take go to a rescue file in the system's temporary folder, also
        where another thread hangs in a write for longer than ``timeout_seconds``.

        Args:
            run: the run's project and name, for the sidecar.
            timeout_seconds: by default the option ``finish_timeout``.
        """
        if timeout_seconds is None:
            timeout_seconds = self._options.finish_timeout
        is_free = self._io.acquire(timeout=timeout_seconds)
        if not is_free and self.file.is_copying:
            is_free = self._io.acquire()  # a removed file is being put back: its rows, or none
        try:
            if is_free:
                self.check_place()
                self.flush()
                self.save_index(run)
            with self._lock:
                self.settle()
                waiting, lost = self._backlog.lines(), 0
                if waiting:
                    reason = self._failure or "another thread hangs in a write"
                    lost = self._troubles.rescue(waiting, reason, self.index)
                self._is_closed = True
                self._direct = False
                self._backlog.clear()
                self.file.close()
        finally:
            if is_free:
                self._io.release()
        return lost

    def go_without_thread(self) -> None:
        """Take in that no thread calls `flush_if_due`: the calls that append do its work."""
        with self._lock:
            self._has_thread = False
            self._pace.stop_buffering()
            self._direct = not self._backlog.items and self._failure is None

    def take_over(self) -> None:
        """Let go of what frames of this thread hold that a signal interrupted for good.

        The process is about to end inside the handler. As after an exception, the file's size tells
        what became of their writes.
        """
        release_all(self._lock)
        release_all(self._io)
        if self._flusher == threading.get_ident():
            self._flusher = None

    def abandon_in_child(self) -> None:
        """Close the inherited descriptor after a fork, touching no lock and writing nothing."""
        self._is_closed = True
        self._direct = False
        self.file.close()
