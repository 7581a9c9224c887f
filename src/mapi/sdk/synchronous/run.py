# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""A run while it is made: signs of life, points that are sent in batches, and how it ended."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, Final, Self, Unpack

from mapi.errors import MapiError, StateError
from mapi.sdk.arguments import text_of
from mapi.sdk.deadlines import Deadline
from mapi.sdk.ending import ending_of, limit_of_ending
from mapi.sdk.errors import (
    ApiError,
    ClientError,
    ConnectionFailedError,
    DeadlineError,
    QuotaExceededError,
    StateConflictError,
)
from mapi.sdk.pacing import Turn, Upkeep, acquire, let_go
from mapi.sdk.points import BATCH_POINTS, PointBuffer
from mapi.sdk.signals import unwatch_signals, watch_signals
from mapi.wire.enums import RunKind, RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from mapi.sdk.checks import Time
    from mapi.sdk.pictures import MediaAbout
    from mapi.sdk.points import Batch
    from mapi.sdk.synchronous.runs import Runs
    from mapi.wire.media import MediaFacts
    from mapi.wire.metrics import BatchAnswer
    from mapi.wire.runs import RunFacts

__all__ = ["FLUSH_SECONDS", "Run"]

#: How long a point waits at most, while the server answers.
FLUSH_SECONDS: Final = 5.0
#: How a run can have ended.
_ENDS: Final = tuple(one.value for one in RunStatus if one.is_final)
#: Of the time for an end in haste: the rest is for how the run ended.
_POINTS_SHARE: Final = 0.6

_logger: Final = logging.getLogger("mapi.sdk")


class Run:
    """A run that this program makes; ``with`` it, and it ends as the block does.

    Inside the block it sends a sign of life every 15 seconds, or as often as the server asks. At the end
    what waits is sent, and the status is set: ``succeeded``, ``failed`` with the exception's text, or
    ``cancelled`` for Ctrl-C, SIGTERM and SIGHUP. The latter two raise `SystemExit` in the main thread
    while a block is open, unless the program has handlers of its own; a second signal ends it at once.
    An end by a signal takes at most 5 seconds, whatever the server does: what is not sent by then is
    lost. With asyncio a task that is cancelled, by a ``timeout`` for example, ends as by a signal: that
    is how Ctrl-C comes to it.

    Signs of life come from a thread, so a step that computes for long does not look like the end of the
    program. A run that somebody else has cancelled stays so, however the block ends.

    `log` only puts points into memory: they are sent in the background every 5 seconds, or as soon as
    10 000 wait. While the server does not answer they wait, up to a million of them; what comes
    then is dropped and counted in ``dropped``.

    After a fork the run is its parent's: in the child `log`, `flush`, `finish` and another ``with`` are
    refused, the end of the block is none, and ``is_cancelled`` stays as it was. Everything else, and all
    of ``api.runs``, serves the child by connections of its own.

    Attributes:
        facts: what the server said of the run when it was made.
    """

    def __init__(self, runs: Runs, facts: RunFacts) -> None:
        self.facts = facts
        self._runs = runs
        self._buffer = PointBuffer()
        self._sending = Turn()
        self._upkeep = Upkeep(self._keep_up, every_seconds=FLUSH_SECONDS)
        self._pulse = runs._pulse_of(facts.id)  # noqa: SLF001 - one noun in two modules
        self._process = os.getpid()
        self._is_finished = False
        self._failure: ClientError | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.facts.name!r}>"

    @property
    def id(self) -> str:
        """The run's id."""
        return self.facts.id

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody cancelled the run: a program that reads it should stop."""
        return self._pulse.is_cancelled

    @property
    def dropped(self) -> int:
        """Points that were not kept: over a budget, refused, or too many while nobody answered."""
        return self._buffer.dropped + self._buffer.refused

    @property
    def waiting(self) -> int:
        """Points that were logged and not yet sent."""
        return len(self._buffer)

    def log(
        self,
        metrics: Mapping[str, Any],
        *,
        step: int | None = None,
        labels: Mapping[str, str] | None = None,
        time: Time | None = None,
    ) -> None:
        """Log one value of each of several metrics, in memory: this waits for nobody.

        Args:
            metrics: keys to numbers.
            step: 0 or more; without it they are scalars, of which the newest value stays.
            labels: what tells apart what has the same keys.
            time: by default now.

        Raises:
            InvalidError: a key, a label, a value, the step or the time breaks its rule.
            StateError: the run has been finished here, or belongs to the process before a fork:
                nobody would send the point. `Runs.log_metrics` writes to any run.
        """
        self._check_open()
        self._buffer.add(metrics, step=step, labels=labels, time=time)
        self._upkeep.start()
        self._pulse.start()
        if len(self._buffer) >= BATCH_POINTS:
            self._upkeep.wake()

    def _check_open(self) -> None:
        self._check_own()
        if self._is_finished:
            raise StateError(f"{self.id} is finished: write to it with api.runs.log_metrics.")

    def _check_own(self) -> None:
        """Refuse a child of a fork: what waits and how the run ends are its parent's.

        Locks may be held by threads that a child does not have, so this stands before any of them.
        """
        if self._process != os.getpid():
            raise StateError(
                f"{self.id} was made by another process, which sends its points and ends it: write "
                "to it with api.runs.log_metrics."
            )

    def flush(self) -> None:
        """Send what waits.

        Raises:
            ConnectionFailedError: the server does not answer; the points still wait.
            ApiError: it refused points for another reason than a budget; they are dropped.
            StateError: the run belongs to the process before a fork.
        """
        self._check_own()
        with self._sending:
            for batch in self._buffer.batches():
                self._send(batch, self._runs)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _send(self, batch: Batch, runs: Runs) -> None:
        """Send a batch; it waits on where this raises, and what comes twice is kept once."""
        refused = 0
        try:
            runs._send_batch(self.id, batch)  # noqa: SLF001 - one noun in two modules
        except QuotaExceededError as error:
            # A run never fails for a budget; what did not fit is counted.
            if not self._buffer.refused:
                _logger.warning("%s: %s", self.id, error)
            refused = error.counts.get("rejected", 0)
        except ApiError as error:
            if error.retryable or error.status >= 500:
                raise
            _logger.error("%s: %d points were refused: %s", self.id, len(batch), error)  # noqa: TRY400 - said, not traced
            refused = len(batch)
            self._failure = error
        self._buffer.done(batch, refused=refused)

    def _keep_up(self, limit: Deadline | None) -> None:
        """Send what waits; what fails is tried again, or at the end of the program lost.

        Args:
            limit: of that end. It moves on with each batch that arrives: a server that takes points is
                waited for.
        """
        try:
            if limit is None:
                with self._sending:
                    for batch in self._buffer.batches():
                        self._send(batch, self._runs)
                        if self._upkeep.is_ending:
                            break  # who ends it sends the rest, by a limit of its own
            elif self.waiting:
                self._send_within(limit, moves_on=True)
        except MapiError as error:
            _logger.warning("%s: %s", self.id, error)
        if limit is not None and self.waiting:
            _logger.warning("%s: the program ends, and %d points are lost", self.id, self.waiting)

    def _send_within(self, limit: Deadline, *, moves_on: bool = False) -> None:
        """Send what waits, no later than this; ``moves_on`` begins it anew with each batch."""
        has_turn = False
        seconds = limit.seconds
        try:
            has_turn = acquire(self._sending, seconds=limit.remaining())
            if not has_turn:
                raise DeadlineError(f"{self.id}: what it sent last found no answer in time.")
            with self._runs._within(limit) as runs:  # noqa: SLF001
                for batch in self._buffer.batches():
                    self._send(batch, runs)
                    if moves_on:
                        limit.extend(seconds)
        finally:
            let_go(self._sending, has_turn=has_turn)

    def log_params(self, params: Mapping[str, Any]) -> BatchAnswer:
        """Write params; as `Runs.log_params`."""
        return self._runs.log_params(self, params)

    def set_tags(self, tags: Mapping[str, str]) -> BatchAnswer:
        """Write tags; as `Runs.set_tags`."""
        return self._runs.set_tags(self, tags)

    def log_line(
        self, message: str, *, level: str = "info", fields: Mapping[str, Any] | None = None
    ) -> BatchAnswer:
        """Append a line to the log; as `Runs.log_line`."""
        return self._runs.log_line(self, message, level=level, fields=fields)

    def log_image(self, key: str, image: Any, **about: Unpack[MediaAbout]) -> MediaFacts:
        """Keep an image; as `Runs.log_image`."""
        return self._runs.log_image(self, key, image, **about)

    def log_figure(self, key: str, figure: Any, **about: Unpack[MediaAbout]) -> MediaFacts:
        """Keep a figure; as `Runs.log_figure`."""
        return self._runs.log_figure(self, key, figure, **about)

    def log_table(
        self,
        key: str,
        rows: Any,
        *,
        columns: Iterable[str] | None = None,
        **about: Unpack[MediaAbout],
    ) -> MediaFacts:
        """Keep a table; as `Runs.log_table`."""
        return self._runs.log_table(self, key, rows, columns=columns, **about)

    def finish(self, status: str = "succeeded", *, reason: str | None = None) -> None:
        """Send what waits and say how the run ended; again changes nothing.

        Args:
            status: ``succeeded``, ``failed`` or ``cancelled``.
            reason: why.

        Raises:
            InvalidError: the status or the reason is none; nothing was sent, and the run goes on.
            ClientError: not all could be sent. The status is set all the same, unless the server
                cannot be reached.
            StateError: the run belongs to the process before a fork: `Runs.update` ends any run.
        """
        self._check_own()
        text_of(status, at="/status", words=_ENDS)
        if reason is not None:
            text_of(reason, at="/reason")
        if self._is_finished:
            return
        failure: ClientError | None = None
        try:
            self._upkeep.stop()
            try:
                self.flush()
            except ConnectionFailedError:
                raise
            except ClientError as error:
                failure = error
        finally:
            self._pulse.stop()
        self._say_end(self._runs, status, reason)
        self._conclude(failure)

    def _finish_within(self, limit: Deadline, status: str, reason: str | None) -> None:
        """End as `finish` does, but no later than this: what is not sent by then is lost.

        How the run ended is said also where its points found nobody: it may be the points that a server
        has trouble with.
        """
        if self._is_finished:
            return
        self._pulse.stop()
        points_limit = Deadline(limit.remaining() * _POINTS_SHARE)
        failure: ClientError | None = None
        # A batch that is on its way may still arrive, with a server that is slow.
        self._upkeep.stop(seconds=points_limit.remaining() / 2)
        try:
            self._send_within(points_limit)
        except ClientError as error:
            failure = error
        with self._runs._within(limit) as runs:  # noqa: SLF001
            self._say_end(runs, status, reason)
        self._conclude(failure or self._failure)

    def _end_by(self, error: BaseException | None) -> None:
        self._check_own()
        status, reason = ending_of(error)
        limit = limit_of_ending(error)
        if limit is None:
            self.finish(status, reason=reason)
        else:
            self._finish_within(limit, status, reason)

    def _say_end(self, runs: Runs, status: str, reason: str | None) -> None:
        # Of a run that is executed, whoever executes it says so.
        if self.is_cancelled or self.facts.kind is not RunKind.EXTERNAL:
            return
        try:
            runs.update(self, status=status, reason=reason)
        except StateConflictError:
            facts = runs.get(self)
            if facts.status is not RunStatus.CANCELLED:
                raise
            self._pulse.hear_of_cancellation()
            _logger.warning(
                "%s: it ended as %s here, but was cancelled meanwhile (%s), and stays so.",
                self.id,
                status,
                facts.reason or "nobody said why",
            )

    def _conclude(self, failure: ClientError | None) -> None:
        self._is_finished = True
        if self.dropped:
            _logger.warning("%s: %d points were not kept", self.id, self.dropped)
        if failure is not None:
            raise failure

    def __enter__(self) -> Self:
        self._check_own()
        try:
            watch_signals(self)
            self._take_up()
            self._upkeep.start()
            self._pulse.start()
        except BaseException:
            # There is no block whose end would end them.
            self._pulse.stop()
            unwatch_signals(self)
            raise
        return self

    def _take_up(self) -> None:
        """Say that a run which had ended goes on: one that was begun again by its external id."""
        if self.facts.status.is_final and self.facts.kind is RunKind.EXTERNAL:
            self.facts = self._runs.update(self, status="running")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, trace
        try:
            try:
                if self._process != os.getpid():
                    return  # the end of a child is not the run's
                self._end_by(error)
            except BaseException as stop:
                # A signal while the rest is sent ends the run in haste, as one in the block does.
                if error is not None or limit_of_ending(stop) is None:
                    raise
                try:
                    self._end_by(stop)
                except MapiError as failure:
                    _logger.warning("%s: not all was sent: %s", self.id, failure)
                raise
        except MapiError as failure:
            if error is None:
                raise
            # What the program failed for must not hide behind what the log failed for.
            _logger.warning("%s: not all was sent: %s", self.id, failure)
        finally:
            unwatch_signals(self)
