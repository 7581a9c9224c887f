"""The recorder: when a row opens, what joins it, when it is committed, and who hears of it.

One short critical section under one re-entrant lock. Its rules:

- An exception from a signal handler (a ``KeyboardInterrupt``, a time-out) may fall between any two
  calls. A commit under way is named in ``_inflight`` first; the next caller asks the writer what
  became of it (`_recover`). No caller ever waits for a state that another one has to reach.
- A finaliser or a signal handler may log while its own thread is inside: ``_busy`` tells, and the
  call is carried out when the outer one is through.
- Sinks (printing, and later alerts) run behind the lock, in commit order; one that fails is counted.
- Values become plain before the lock is taken: user code (``__repr__``, ``tolist``) never runs
  inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from expr_tracker.errors import StepError
from expr_tracker.interruption import is_from_signal
from expr_tracker.record.deferral import Deferral
from expr_tracker.record.delivery import Delivery
from expr_tracker.record.open_row import Join, OpenRow
from expr_tracker.record.refusals import (
    drop_backward,
    drop_late,
    merge_span,
    raise_backward,
    raise_forked,
    warn_of_repeats,
)
from expr_tracker.record.values import PlainValues, are_numbers
from expr_tracker.row import STEP_MAX, STEP_MIN, Row, RowEncoder, step_from

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from expr_tracker.clock import Clock
    from expr_tracker.notices import Notices
    from expr_tracker.options import Options

__all__ = ["Recorder", "RowWriter"]

End = Literal["finished", "forked"]

_NO_JOINS: Final[Mapping[str, Join]] = {}


class RowWriter(Protocol):
    """What the recorder asks of the file."""

    def append_row(self, row: Row, step: int) -> bool:
        """Take a row; False where it was refused."""
        ...

    def has_taken(self, row: Row) -> bool:
        """Say whether this very row was taken by an `append_row` that an exception left."""
        ...


class Recorder:
    """Records the rows of one stream.

    Attributes:
        latest: the last committed value of every metric.
        rows: committed rows, resumed ones included.
    """

    def __init__(
        self,
        writer: RowWriter,
        options: Options,
        *,
        lock: threading.RLock,
        clock: Clock,
        notices: Notices,
        encoder: RowEncoder,
    ) -> None:
        self._writer = writer
        self._options = options
        self._policy = options.step_policy
        self._span_metrics = options.span_metrics
        self._span_count = options.span_count
        self._lock = lock
        self._clock = clock
        self._wall = clock.wall
        self._monotonic = clock.monotonic
        self._notices = notices
        self._values = PlainValues(encoder, notices)
        self._append_row = writer.append_row
        self._end: End | None = None
        self._busy = False
        self._inflight: tuple[Row, bool] | None = None
        self._rewind: tuple[int, Callable[[], None]] | None = None
        self._due: OpenRow | None = None
        self._deferral = Deferral(notices)
        self._deferred = self._deferral.calls
        self._open: OpenRow | None = None
        self._highest: int | None = None
        self._newest: int | None = None
        self._next = 0
        self._known = self._values.known
        self._delivery = Delivery(notices)
        self.latest: Row = {}
        self.rows = 0

    # -- set-up ----------------------------------------------------------------------------------

    def continue_from(self, *, highest: int | None, newest: int | None, rows: int) -> None:
        """Continue behind existing rows.

        Args:
            highest: the highest step of the attempt; the next step follows it.
            newest: the step committed last.
            rows: rows in the file.
        """
        with self._lock:
            self._highest = highest
            self._newest = newest
            self._next = 0 if highest is None else highest + 1
            self.rows = rows

    def add_sink(self, sink: Callable[[Row], object]) -> None:
        """Call ``sink`` with every committed row from now on."""
        self._delivery.add(sink)

    # -- logging ---------------------------------------------------------------------------------

    # fmt: off
    def log(  # noqa: C901, PLR0912 - one body: every call that it does not make is 50 ns less
        self, data: Any, step: Any = None, commit: bool | None = None  # noqa: FBT001 - as users call it
    ) -> None:
        # fmt: on
        """Record ``data`` at a step; see `expr_tracker.log`."""
        if self._end is not None:
            self._refuse("log")
            return
        if step is None and commit is None and type(data) is dict:
            try:
                is_plain = are_numbers(map(type, data.values()))
            except RuntimeError as error:  # another thread added a name meanwhile
                if is_from_signal(error):
                    raise
                is_plain = False
            if is_plain:
                with self._lock:
                    # The one call first: nothing may change between the other looks and `_busy`.
                    if (
                        self._known.issuperset(data)
                        and self._open is None
                        and not self._busy
                        and self._inflight is None
                        and self._end is None  # type: ignore[redundant-expr]  # another thread
                        and self._next <= STEP_MAX
                    ):
                        self._busy = True
                        try:
                            at = self._next
                            row = {
                                "_step": at,
                                "_time": self._clock.offset + self._monotonic(),
                                **data,
                            }
                            self._inflight = (row, False)
                            if self._append_row(row, at):
                                # `_conclude`, without its call and its questions.
                                self.latest.update(row)
                                if self._delivery.sinks:
                                    self._delivery.put(row)
                                self._highest = self._newest = at
                                self._next = at + 1
                                self.rows += 1
                                self._inflight = None
                            else:
                                self._discard(row, is_open=False)
                        except (TypeError, ValueError) as error:
                            if not self._is_encoders(error):
                                raise
                            self._inflight = None
                            is_plain = False
                        finally:
                            self._busy = False
                    else:
                        is_plain = False
                if is_plain:
                    if self._delivery.outbox or self._deferred:
                        self._deliver()
                    return
        self._log_any(data, step, commit)

    def _is_encoders(self, error: Exception) -> bool:
        """Say whether the row under way has no JSON form as it is: the slow way finds one.

        An int of too many digits, or half a surrogate pair in a name.
        """
        inflight = self._inflight
        return (
            not is_from_signal(error)
            and inflight is not None
            and not self._writer.has_taken(inflight[0])
        )

    def _log_any(self, data: Any, step: Any, commit: bool | None) -> None:  # noqa: FBT001
        wanted = None if step is None else step_from(step)
        values = self._values.row(data)
        commits = (wanted is None) if commit is None else bool(commit)
        if not self._within(lambda: self._take(values, wanted, commits=commits)):
            self._refuse("log")

    def _within(self, action: Callable[[], object], *, delivers: bool = True) -> bool:
        """Run ``action`` in the critical section, or right behind it if this thread is in it.

        Returns:
            False where the recorder takes nothing more.
        """
        is_inside = False
        try:
            with self._lock:
                is_inside = self._busy
                if is_inside:
                    self._deferral.put(lambda: self._within(action, delivers=False))
                    return True
                self._busy = True
                try:
                    self._recover()
                    if self._end is not None:
                        return False
                    action()
                finally:
                    self._busy = False
        finally:
            # Also behind a refused step: a signal may have deferred the end of the process.
            if delivers and not is_inside:
                self._deliver()
        return True

    # -- the critical section: every method below is called with the lock held --------------------

    def _take(self, values: Row | None, wanted: int | None, *, commits: bool) -> None:
        row = self._row_at(wanted, values or {})
        if row is None:
            return
        if values is None:
            self._pass_over(row, commits=commits)
            return
        warn_of_repeats(row, values, self._notices)
        # Named first: after an exception from here on, the next call must not join this row.
        self._due = row if commits else None
        row.merge(values)
        self._open = row
        if commits:
            self._commit_open()

    def _pass_over(self, row: OpenRow, *, commits: bool) -> None:
        """Do what a call whose values were refused does besides: its step counts as used."""
        if row is not self._open:
            self._next = max(self._next, min(row.step, STEP_MAX) + 1)
        elif commits:
            self._commit_open()

    def _row_at(self, wanted: int | None, values: Row) -> OpenRow | None:
        """Return the open row that takes a call's values; ``None`` if the policy drops them."""
        row = self._open
        if wanted is None:
            return self._row_without_step()
        if row is not None and row.step == wanted:
            return row
        is_logged = row is not None and row.is_logged
        limit = row.step if row is not None and is_logged else self._newest
        if limit is not None and wanted < limit and self._policy != "allow":
            if self._policy == "strict":
                raise_backward(wanted, limit)
            drop_backward(wanted, values, limit=limit, notices=self._notices)
            return None
        if row is not None and not is_logged:
            # Spans ended since the last row: their times belong to the step that is logged now.
            row.step = wanted
            return row
        if row is not None:
            self._commit_open()
        return self._new_row(wanted)

    def _row_without_step(self) -> OpenRow:
        """Return the open row for values without a step: a row below the highest is not joined."""
        row = self._open
        if row is not None and self._highest is not None and row.step <= self._highest:
            self._commit_open()
            row = None
        return row if row is not None else self._new_row(self._next)

    def _new_row(self, step: int) -> OpenRow:
        if not STEP_MIN <= step <= STEP_MAX:
            raise StepError(
                f"The next step would be {step}; steps end at 2**63 - 1. Pass step= from here on."
            )
        return OpenRow(step, self._wall())

    def _commit_open(self) -> None:
        row = self._open
        if row is not None:
            self._commit_row(row.row(), is_open=True)

    def _commit_row(self, row: Row, *, is_open: bool) -> None:
        self._inflight = (row, is_open)
        if self._append_row(row, row["_step"]):
            self._conclude(row, is_open=is_open)
        else:
            self._discard(row, is_open=is_open)

    def _conclude(self, row: Row, *, is_open: bool) -> None:
        """Make the state say that ``row`` is committed; repeating it changes nothing."""
        self.latest.update(row)
        if self._delivery.sinks:
            self._delivery.put(row)
        # No call from here on: an exception falls before all of it or behind all of it.
        step = row["_step"]
        if is_open:
            self._open = self._due = None
        highest = self._highest
        if highest is None or step > highest:
            self._highest = step
            self._next = step + 1
        self._newest = step
        self.rows += 1
        self._inflight = None

    def _discard(self, row: Row, *, is_open: bool) -> None:
        """Forget a refused row; its step counts as used, as a later patch may name it."""
        if is_open:
            self._open = self._due = None
        if row["_step"] >= self._next:
            self._next = row["_step"] + 1
        self._inflight = None

    def _recover(self) -> None:
        """Finish what an exception left: a commit happened in the file, or did not happen."""
        if self._rewind is not None:
            self._finish_rewind(*self._rewind)
        elif self._inflight is not None:
            row, is_open = self._inflight
            if self._writer.has_taken(row):
                self._conclude(row, is_open=is_open)
            else:
                self._inflight = None
        due, self._due = self._due, None
        if due is not None and due is self._open and due.values:
            self._commit_open()

    # -- behind the critical section ---------------------------------------------------------------

    def _deliver(self) -> None:
        """Carry out what was deferred, hand committed rows to the sinks, say what is to be said."""
        self._deferral.carry_out()
        self._delivery.hand_over()
        if self._notices.has_queued:
            self._notices.emit()

    def when_free(self, action: Callable[[bool], object], timeout_seconds: float) -> None:
        """Run ``action`` outside of the critical section: now, or when this thread leaves it.

        A signal handler calls this: it may have interrupted its own thread inside. Where another
        thread keeps the lock for longer than ``timeout_seconds``, the action runs all the same; its
        argument says whether the lock could be had.
        """
        is_free = self._lock.acquire(timeout=timeout_seconds)
        if is_free:
            try:
                is_inside = self._busy
            finally:
                self._lock.release()
            if is_inside:
                self._deferred.append(lambda: action(True))  # noqa: FBT003 - a callback's only one
                return
        action(is_free)

    def take_over(self) -> None:
        """Treat the call that this thread is in, if any, as left by an exception.

        A signal handler that finishes the run calls this: the call it interrupted may never go on.
        """
        with self._lock:
            self._busy = False

    @property
    def is_delivering_here(self) -> bool:
        """Whether the caller runs inside a sink, on the thread that delivers."""
        return self._delivery.is_here

    # -- spans -------------------------------------------------------------------------------------

    def add_span(  # noqa: C901, PLR0912 - as `log`
        self,
        path: str,
        duration_ms: float,
        metrics: Row | None,
        *,
        joins: Mapping[str, Join] = _NO_JOINS,
    ) -> int | None:
        """Add a finished span to the open row.

        Args:
            path: names of the span and its parents, joined by ``/``.
            duration_ms: milliseconds.
            metrics: what its plugins measured; plain values.
            joins: how a metric joins its value before, where the path ends twice in a row; those
                that are left out are added up.

        Returns:
            The step it counts at; ``None`` where nothing more is taken.
        """
        with self._lock:
            if self._end is not None:
                return None
            if self._busy:
                self._deferral.put(lambda: self.add_span(path, duration_ms, metrics, joins=joins))
                return self._next
            self._busy = True
            rows = self.rows
            try:
                if self._inflight is not None or self._due is not None:
                    self._recover()
                if not self._span_metrics:
                    return self.step
                if self._open is None and self._next <= STEP_MAX:
                    row = OpenRow(self._next, self._clock.offset + self._monotonic())
                else:
                    try:
                        row = self._row_without_step()
                    except StepError:
                        kind = "span metrics behind the highest step"
                        self._notices.count("dropped", kind, subject="values")
                        return STEP_MAX
                kept = row.add_duration(path, duration_ms)
                self._open = row
                if self._span_count:
                    row.add_count(kept)
                if metrics:
                    for metric, value in metrics.items():
                        name, join = f"{metric}/{kept}", joins.get(metric, "sum")
                        row.add_meter(name, value, duration_ms=duration_ms, join=join)
                if kept is not path and kept != path:
                    merge_span(path, self._notices)
                step = row.step
            finally:
                self._busy = False
        if self._deferred or self.rows != rows:
            self._deliver()
        return step

    # -- control -----------------------------------------------------------------------------------

    def commit_open(self, *, delivers: bool = True) -> None:
        """Commit the open row, if there is one.

        Args:
            delivers: whether sinks hear of it; a signal handler cannot wait for them.
        """
        self._within(self._commit_open, delivers=delivers)

    def begin_attempt(self, from_step: int, marker: Callable[[], None]) -> None:
        """Commit the open row, call ``marker`` and continue at ``from_step``."""

        def begin() -> None:
            self._commit_open()
            # Left by an exception, it is begun by the next call: a marker without the steps behind
            # it would supersede rows for nothing. The marker may then stand there twice.
            self._rewind = (from_step, marker)
            self._inflight = ({}, False)
            self._finish_rewind(from_step, marker)

        self._within(begin)

    def _finish_rewind(self, from_step: int, marker: Callable[[], None]) -> None:
        marker()
        self._highest = self._newest = from_step - 1
        self._next = from_step
        self._rewind = self._inflight = None

    @property
    def step(self) -> int:
        """The open step, else the next one."""
        if self._inflight is not None or self._due is not None:
            self._within(lambda: None)  # what an exception left decides which one is next
        row = self._open
        return row.step if row is not None else self._next

    @property
    def highest(self) -> int | None:
        """The highest committed step of the attempt."""
        return self._highest

    def open_row(self) -> Row | None:
        """Return a copy of the open row, ``_step`` and ``_time`` first."""
        with self._lock:
            return None if self._open is None else self._open.row()

    def end(self, end: End) -> None:
        """Take nothing more; with ``"forked"`` no lock is touched."""
        self._end = end

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is taken."""
        return self._end is not None

    def _refuse(self, call: str) -> None:
        if self._end == "forked":
            raise_forked()
        drop_late(call, self._notices)
