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
  (one row) or ``_batch`` (a flush) before the write, and `_settle` finds out from the file's size
  what became of it. Nothing is written twice and nothing that was taken is lost.
- While ``_flusher`` names a thread, that thread writes ``_batch``, maybe outside of the lock: nobody
  else writes the file or judges the batch by the file's size.
- The file is opened with ``O_APPEND``, and only while the stream's lock is held.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from expr_tracker.row import Row
from expr_tracker.store.index import StreamIndex, save_index
from expr_tracker.store.lines import encode_finite, encode_line
from expr_tracker.store.live_file import LiveFile
from expr_tracker.store.pace import SLOW_SECONDS, Pace
from expr_tracker.store.place import prepare, rescue
from expr_tracker.store.reader import LineFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from expr_tracker.clock import Clock
    from expr_tracker.notices import Notices
    from expr_tracker.options import Options

__all__ = ["LineWriter"]

#: Pause after a failed write: a full disk is not asked more than once a second.
_RETRY_SECONDS: Final = 1.0
#: Bytes handed over in one write of a flush.
_BATCH_BYTES_MAX: Final = 1 << 20


#: A line, the step of its row (``None``: no metric row), its marker, and the caller's row. A plain
#: tuple: a named one costs 200 ns, a tenth of a whole ``log``.
_Item = tuple[bytes, int | None, Row | None, Row | None]


class LineWriter:
    """The one writer of a line file.

    Every method but `flush`, `check_place` and `close` is called with ``lock`` held; those three
    take it themselves and do their slow work outside of it.
    """

    def __init__(
        self,
        path: Path,
        options: Options,
        *,
        lock: threading.RLock,
        clock: Clock,
        notices: Notices,
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        """Open ``path`` for appending and repair its tail.

        Args:
            path: the line file; its folder exists.
            options: limits and durability.
            lock: guards all state; shared with whoever decides what is appended.
            clock: for delays.
            notices: where faults are counted.
            write: the system call, replaceable so that tests can slow it down or make it fail.

        Raises:
            OSError: the file cannot be opened.
        """
        self.path = path
        self._options = options
        self._lock = lock
        self._io = threading.RLock()
        self._clock = clock
        self._monotonic = clock.monotonic
        self._notices = notices
        self._write = write
        self.index: StreamIndex = prepare(path, notices)
        self._file = LiveFile(path, options, notices=notices, write=write)
        self._line_bytes_max = options.max_record_bytes or (1 << 62)
        self._rotates = options.max_file_bytes is not None
        self._pace = Pace(options, clock.monotonic())
        self._fsync = self._pace.syncs
        self._direct = not self._pace.buffers
        self._pending: deque[_Item] = deque()
        self._pending_bytes = 0
        self._oldest_pending: float | None = None
        self._intent: _Item | None = None
        self._intent_start = 0
        self._taken: Row | None = None
        self._settled: _Item | None = None
        self._batch: list[_Item] | None = None
        self._batch_start = 0
        self._flusher: int | None = None
        self._failure: str | None = None
        self._retry_at = 0.0
        self._is_closed = False
        self._checked_size = self.index.size

    # -- appending -------------------------------------------------------------------------------

    def append_row(self, row: Row, step: int, is_finite: bool) -> bool:  # noqa: FBT001
        """Append a metric row; say whether it was taken.

        Args:
            row: ``_step``, ``_time`` and the values, all plain.
            step: the row's step.
            is_finite: the caller knows that no value is a non-finite float.
        """
        if is_finite:
            try:
                line = encode_finite(row) + b"\n"
            except UnicodeEncodeError:  # half a surrogate pair in a name
                line = encode_line(row)
        else:
            line = encode_line(row)
        size = len(line)
        if size > self._line_bytes_max:
            self._refuse(size)
            return False
        item = (line, step, None, row)
        if not self._direct or self._rotates or self._intent is not None:
            return self._append_slowly(item)
        began = self._monotonic()
        self._intent_start = self.index.size
        self._intent = item
        try:
            written = self._write(self._file.fd, line)
        except OSError as error:
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
            self._file.sync()
        if self._monotonic() - began > SLOW_SECONDS:
            self._note_slow_append()
        return True

    def append_line(
        self, line: bytes, *, step: int | None = None, marker: Row | None = None
    ) -> None:
        """Append one encoded line, its end included: a span, a console line or a marker."""
        size = len(line)
        if size > self._line_bytes_max:
            self._refuse(size)
            return
        item = (line, step, marker, None)
        if not self._direct or self._rotates or self._intent is not None:
            self._append_slowly(item)
            return
        self._intent_start = self.index.size
        self._intent = item
        try:
            written = self._write(self._file.fd, line)
        except OSError as error:
            self._queue_after_failure(item, error)
            return
        if written != size:
            failure = self._write_all(line[max(0, written) :])
            if failure is not None:
                self._queue_after_failure(item, failure)
                return
        self._note(item)
        self._intent = None
        if self._fsync:
            self._file.sync()

    def has_taken(self, row: Row) -> bool:
        """Say whether ``row`` was taken, also when `append_row` was left by an exception."""
        self._settle()
        return self._taken is row

    def _append_slowly(self, item: _Item) -> bool:
        if self._is_closed:
            self._count_late()
            return False
        self._settle()
        self._queue(item)
        now = self._monotonic()
        if self._oldest_pending is None:
            self._oldest_pending = now
        if self._failure is not None:
            self._drop_oldest_over_limit()
        elif self._pace.must_write(
            now,
            len(self._pending),
            is_first=self.index.lines == 0,
            is_full=self._is_over_limit(),
        ):
            self._flush_here()
        self._pace.newest_append = now
        return True

    def _queue(self, item: _Item) -> None:
        size = len(item[0])
        # No call lies between these lines but the last one, so they happen together or not at all.
        # What comes later must queue behind, also when an exception keeps us from writing it now.
        self._direct = False
        self._taken = item[3]
        self._pending_bytes += size
        self._pending.append(item)

    def _is_over_limit(self) -> bool:
        records, size = self._options.max_pending_records, self._options.max_pending_bytes
        return (records is not None and len(self._pending) > records) or (
            size is not None and self._pending_bytes > size
        )

    def _drop_oldest_over_limit(self) -> None:
        dropped = 0
        while len(self._pending) > 1 and self._is_over_limit():
            size = len(self._pending[0][0])
            # As in `_queue`: no call between the two.
            self._pending_bytes -= size
            self._pending.popleft()
            dropped += 1
        if dropped:
            kind = f"rows that waited for {self.path.name}"
            self._notices.count("dropped", kind, dropped)
            self._notices.once(
                ("overflow", self.path),
                f"{self.path} cannot be written ({self._failure}) and the waiting rows exceed "
                "max_pending_records or max_pending_bytes: the oldest are dropped and counted.",
            )

    def _refuse(self, size: int) -> None:
        self._notices.count("refused", "rows over max_record_bytes")
        self._notices.say(
            f"A row of {size} bytes was refused: the limit max_record_bytes is "
            f"{self._line_bytes_max}. Log arrays as artifacts or media, or raise the limit."
        )

    def _note(self, item: _Item) -> None:
        line, step, marker, _ = item
        if step is None and marker is None:
            self.index.note_line(len(line))
        elif step is None:
            self.index.note_marker(marker or {}, len(line))
        else:
            self.index.note_row(step, len(line))

    # -- trouble ---------------------------------------------------------------------------------

    def _queue_after_failure(self, item: _Item, error: OSError) -> None:
        if self._is_closed:
            # A signal handler finished the run while its own thread was about to write this.
            self._count_late()
            self._intent = None
            return
        self._settle()
        if self._settled is not item:
            self._queue(item)
        self._fail(error)

    def _count_late(self) -> None:
        self._notices.count("dropped", "rows that were logged while the run was finished")

    def _fail(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        self._direct = False
        self._retry_at = self._clock.monotonic() + _RETRY_SECONDS
        if self._failure is None:
            self._notices.say(
                f"{self.path} cannot be written: {reason}. Rows are kept in memory (up to "
                f"max_pending_records={self._options.max_pending_records}) and written as soon as "
                "it can be; training goes on."
            )
        self._failure = reason

    def _recovered(self) -> None:
        if self._failure is not None:
            self._notices.say(f"{self.path} can be written again; every waiting row is in it.")
            self._failure = None
        self._direct = not self._pace.buffers

    def _settle(self) -> None:
        """Account for a write that an exception or an error left unfinished."""
        if self._file.is_rotating:
            self._file.settle_rotation(self.index.size)
        if self._intent is None and (self._batch is None or self._flusher is not None):
            return
        try:
            end = self._file.end()
        except OSError:
            return
        if self._intent is not None:
            self._settle_intent(self._intent, end)
        elif self._batch is not None:
            self._settle_batch(self._batch, end)

    def _settle_intent(self, item: _Item, actual: int) -> None:
        start = self._intent_start
        if actual >= start + len(item[0]):
            self._settled = item
            self._taken = item[3]
            if self.index.size == start:
                self._note(item)
        elif actual > start:
            self._cut_back(start)
        self._intent = None

    def _settle_batch(self, batch: list[_Item], actual: int) -> None:
        """Account for the items of a flush that the file holds, and cut off a part of one."""
        end = whole = self._batch_start
        count = 0
        for item in batch:
            end += len(item[0])
            if end > actual:
                break
            whole = end
            count += 1
        self._conclude(batch[:count])
        if actual > whole:
            self._cut_back(whole)
        self._batch = None

    def _conclude(self, items: list[_Item]) -> None:
        """Account for items that are in the file; carried out twice, it changes nothing more."""
        end = self._batch_start
        for item in items:
            size = len(item[0])
            end += size
            if self.index.size < end:
                self._note(item)
            if self._pending and self._pending[0] is item:
                self._pending_bytes -= size
                self._pending.popleft()
        self._oldest_pending = self._clock.monotonic() if self._pending else None

    def _cut_back(self, size: int) -> None:
        rest = self._file.cut_back(size)
        if rest:
            self.index.unreadable += 1
            self.index.note_marker({}, rest)

    # -- writing what waits ----------------------------------------------------------------------

    def flush(self, *, at_once: bool = True) -> bool:
        """Write what waits, outside of the lock; say whether nothing waits any more.

        Args:
            at_once: also during the pause after a failure.
        """
        me = threading.get_ident()
        with self._io:
            if self._flusher == me:
                # A signal handler of the thread that flushes: the flush goes on behind it.
                return False
            try:
                while True:
                    with self._lock:
                        if self._is_closed:
                            return not self._pending
                        self._settle()
                        if not self._pending:
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
                        self._weigh_flush(self._monotonic() - began)
            finally:
                if self._flusher == me:
                    self._flusher = None

    def flush_if_due(self) -> None:
        """Write what has waited long enough; the keeper calls this."""
        with self._lock:
            if not self._pending and self._failure is None:
                return
            waited = self._clock.monotonic() - (self._oldest_pending or 0.0)
            is_due = self._failure is not None or self._pace.is_due(waited)
        if is_due:
            self.flush(at_once=False)

    def _flush_here(self) -> None:
        """Write what waits on the caller's thread, the lock held; skip it if a flush is running."""
        if self._flusher is not None:
            return
        try:
            while self._pending:
                began = self._monotonic()
                error = self._write_all(self._begin_batch())
                self._end_batch(error)
                if error is not None:
                    return
                self._weigh_flush(self._monotonic() - began)
            self._recovered()
        finally:
            self._flusher = None

    def _may_retry(self) -> bool:
        return self._clock.monotonic() >= self._retry_at

    def _begin_batch(self) -> bytes:
        room = _BATCH_BYTES_MAX
        if self._file.limit is not None:
            end = self.index.size
            self._file.rotate_before(len(self._pending[0][0]), end)
            room = min(room, self._file.limit - (end - self._file.start))
        batch: list[_Item] = []
        size = 0
        for item in self._pending:
            size += len(item[0])
            if batch and size > room:
                break
            batch.append(item)
        flusher = threading.get_ident()
        self._batch_start = self.index.size
        self._batch = batch
        self._flusher = flusher
        return b"".join(item[0] for item in batch)

    def _end_batch(self, error: OSError | None) -> None:
        """Account for a batch whose write has come back, the lock held."""
        self._flusher = None
        if error is not None:
            self._settle()
            self._fail(error)
        elif self._batch is not None:
            # Not by the file's size: another program may have cut the file meanwhile.
            self._conclude(self._batch)
            self._batch = None

    def _write_all(self, data: bytes) -> OSError | None:
        """Write ``data``; what a failure left in the file is found by `_settle`."""
        try:
            while data:
                written = self._write(self._file.fd, data)
                if written <= 0:
                    return OSError(errno.EIO, os.strerror(errno.EIO))
                data = data[written:]
        except OSError as error:
            return error
        if self._fsync:
            self._file.sync()
        return None

    def _note_slow_append(self) -> None:
        text = self._pace.note_slow_append(self.index.lines)
        if text is not None:
            self._direct = False
            self._notices.say(f"Appending to {self.path} {text}")

    def _weigh_flush(self, seconds: float) -> None:
        if self._pace.note_flush(seconds):
            self._direct = not self._pending and self._failure is None
            self._notices.say(
                f"Appending to {self.path} is quick again: rows are durable at once."
            )

    # -- the file's place ------------------------------------------------------------------------

    def check_place(self) -> None:
        """Put the file back where someone removed it, and notice where someone changed it."""
        with self._io, self._lock:
            if self._is_closed or self._flusher is not None:
                return
            self._settle()
            try:
                if self._file.is_in_place():
                    self._check_size()
                    return
                self._file.put_back(self._checked_size)
                self._notices.say(
                    f"{self.path} had been moved, removed or replaced while it was written; what "
                    "was missing has been put back and the run goes on there."
                )
                self._take_in_again()
            except OSError as error:
                self._fail(error)

    def _check_size(self) -> None:
        size = self._file.end()
        if size != self.index.size:
            self._notices.say(
                f"{self.path} was changed by another program (it has {size} bytes, "
                f"{self.index.size} were written); rows that it cut off are gone."
            )
            self._notices.count("degraded", f"changes of {self.path.name} by other programs")
            self._take_in_again()
        self._checked_size = self.index.size

    def _take_in_again(self) -> None:
        index = StreamIndex()
        with LineFile(self.path) as file:
            index.scan(file)
            self._file.start = file.live_start
            torn = file.torn_bytes
        self.index = index
        if torn:
            self._cut_back(index.size)
        self._checked_size = self.index.size

    # -- state and the end -----------------------------------------------------------------------

    def pending_lines(self) -> list[bytes]:
        """Return the lines that wait for the file, in order."""
        self._settle()
        return [item[0] for item in self._pending]

    @property
    def pending_bytes(self) -> int:
        """Bytes that wait for the file."""
        return self._pending_bytes

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
            if self._is_closed:
                return
            index = self.index.copy()
        try:
            with LineFile(self.path) as file:
                if file.size >= index.size:
                    save_index(index, file, run)
        except OSError:
            self._notices.count("degraded", "index files that could not be written")

    def close(self, run: Row) -> int:
        """Write what waits, the sidecar, and close; return how many rows could not be written.

        Rows that the file does not take go to a rescue file in the system's temporary folder, also
        where another thread hangs in a write for longer than ``finish_timeout``.
        """
        is_free = self._io.acquire(timeout=self._options.finish_timeout)
        try:
            if is_free:
                self.check_place()
                self.flush()
                self.save_index(run)
            with self._lock:
                self._settle()
                lost = list(self._pending)
                if lost:
                    self._notices.count(
                        "dropped", f"rows not written to {self.path.name}", len(lost)
                    )
                    reason = self._failure or "another thread hangs in a write"
                    lines = [item[0] for item in lost]
                    self._notices.say(rescue(self.path, lines, reason))
                self._is_closed = True
                self._direct = False
                self._pending.clear()
                self._pending_bytes = 0
                self._file.close()
        finally:
            if is_free:
                self._io.release()
        return len(lost)

    def take_over(self) -> None:
        """Let go of what frames of this thread hold that a signal interrupted for good.

        The process is about to end inside the handler. As after an exception, the file's size tells
        what became of their writes.
        """
        _release_all(self._lock)
        _release_all(self._io)
        if self._flusher == threading.get_ident():
            self._flusher = None

    def abandon_in_child(self) -> None:
        """Close the inherited descriptor after a fork, touching no lock and writing nothing."""
        self._is_closed = True
        self._direct = False
        self._file.close()


def _release_all(lock: threading.RLock) -> None:
    """Release a lock as often as this thread holds it."""
    with contextlib.suppress(RuntimeError):  # what an unowned lock raises
        while True:
            lock.release()
