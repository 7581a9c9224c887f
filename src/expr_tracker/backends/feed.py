"""One backend's thread: it asks, waits, tries again, and says what a person has to know.

An outage is told by one warning, as soon as a second try has failed too, and its end by one line. How
often is tried grows to once in 15 seconds, of what only a person can change to once a minute.

At the end the thread is given the rest of the run's time, and less of it where nothing gets through. It
is a daemon: one that hangs is left behind, and sends nothing any more once its call comes back.
"""

from __future__ import annotations

import random
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from expr_tracker.backends.backend import BackendDownError, BackendRefusedError
from expr_tracker.capture.redaction import redact
from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import counted
from expr_tracker.texts import cut, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.backends.backend import Backend
    from expr_tracker.notices import Notices
    from expr_tracker.row import Row

__all__ = ["Feed"]

#: Between two looks at the files.
_LOOK_SECONDS: Final = 1.0
#: What a look costs of the processor is rested for so many times as long: reading and packing holds the
#: interpreter, for which a thread that logs then waits.
_REST: Final = 20.0
_REST_SECONDS_MAX: Final = 30.0

_PAUSE_SECONDS_MIN: Final = 0.2
_PAUSE_SECONDS_MAX: Final = 15.0
#: Of what a person has to change.
_REFUSED_SECONDS: Final = 60.0
#: A first failure may be a server that is being started anew.
_TOLD_AT: Final = 2
#: To the first sign of life: its answer says how often they are due.
_FIRST_BEAT_SECONDS: Final = 1.0
_BEAT_SECONDS_MIN: Final = 0.1

#: How long a join is, at an end that is waited for: what gets through prolongs it.
_JOIN_SECONDS: Final = 0.05
#: How long an end waits for what took nothing before.
_PATIENCE_SECONDS_OUTAGE: Final = 2.0
_TEXT_LENGTH_MAX: Final = 500
_REMARKS_MAX: Final = 10


class _LeftBehindError(BaseException):
    """Nobody waits for this thread any more.

    No error: it passes whoever takes those of one file in.
    """


class Feed:
    """Feeds one backend from the run's files until the run ends.

    Args:
        backend: which.
        rows: returns how many rows the streams of this process have on disk.
        notices: where an outage is said.
        monotonic: returns seconds of a clock that only measures differences.

    Attributes:
        url: the address of the run there; ``None`` as long as it was not reached.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        rows: Callable[[], int],
        notices: Notices,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url: str | None = None
        self._backend = backend
        self._rows = rows
        self._notices = notices
        self._monotonic = monotonic
        self._last_error: str | None = None
        self._failures = 0
        self._is_told = False
        self._is_refused = False
        self._is_open = False
        self._is_whole = False
        self._is_finishing = False
        self._is_left_behind = False
        self._is_reported = False
        self._beat_due = 0.0
        self._got_through = self._monotonic()
        # Unlike an event, it may be told again inside a signal handler that cut such a call off.
        self._orders: SimpleQueue[None] = SimpleQueue()
        self._thread = threading.Thread(
            target=self._run, name=f"expr-tracker-{backend.name}", daemon=True
        )

    @property
    def name(self) -> str:
        """The backend's name."""
        return self._backend.name

    def start(self) -> None:
        """Begin; a process that may have no more threads delivers nothing now, and is told so."""
        try:
            self._thread.start()
        except RuntimeError as error:
            if is_from_signal(error):
                raise
            self._last_error = f"no thread can be started ({error})"
            self._notices.say(
                f"{self.name}: {self._last_error}, so nothing is delivered while the run goes on; "
                f"{self._backend.later} brings it there."
            )

    def figures(self) -> Row:
        """Return how far the backend is, in rows of this process's streams."""
        waiting = self._waiting()
        return {
            "delivered": None if waiting is None else max(0, self._rows() - waiting),
            "waiting": waiting,
            "dropped": sum(self._backend.losses().values()),
            "last_error": self._last_error,
            "url": self.url,
        }

    def losses(self) -> dict[str, int]:
        """Return what the backend has not as it stands in the files, by what it names."""
        return {f"{self.name}: {what}": count for what, count in self._backend.losses().items()}

    def finish(self, seconds: float, *, patience_seconds: float) -> None:
        """Deliver the rest and the end of the run, and say what was not delivered.

        A second call goes on with what an exception cut off.

        Args:
            seconds: how long it may take.
            patience_seconds: how long nothing may get through.
        """
        self._got_through = self._monotonic()
        if self._is_told:
            # What has not answered for long is not worth a long end.
            patience_seconds = min(patience_seconds, _PATIENCE_SECONDS_OUTAGE)
        self._is_finishing = True
        self._orders.put(None)
        end = self._monotonic() + seconds
        while self._thread.is_alive() and self._thread is not threading.current_thread():
            now = self._monotonic()
            left = min(end, self._got_through + patience_seconds) - now
            if left <= 0:
                break
            self._thread.join(min(left, _JOIN_SECONDS))
        self.leave_behind()
        self._report()

    def leave_behind(self) -> None:
        """Let the thread end by itself, and send nothing more."""
        self._is_left_behind = True
        self._orders.put(None)

    # -- the thread ----------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._is_left_behind:
                # Asked first: what is committed before it is said is in the files.
                is_last = self._is_finishing
                began = time.thread_time()
                try:
                    self._round(is_last=is_last)
                except _LeftBehindError:
                    return
                except BaseException as error:  # noqa: BLE001 - whatever it is, the run goes on
                    pause = self._failed(error)
                else:
                    self._worked()
                    if is_last:
                        self._is_whole = True
                        return
                    cost = time.thread_time() - began
                    pause = min(_REST_SECONDS_MAX, max(_LOOK_SECONDS, cost * _REST))
                self._notices.emit()
                if is_last and self._is_refused:
                    return
                self._wait(pause)
        finally:
            self._close()

    def _round(self, *, is_last: bool) -> None:
        backend = self._backend
        if not self._is_open:
            url = backend.open()
            self._is_open = True
            self._say_address(url)
            self._beat_due = self._monotonic() + _FIRST_BEAT_SECONDS
        elif self._failures:
            # The cheapest question first: packing rows for a server that is gone costs the program.
            self._beat()
        self._told()
        backend.deliver(self._told)
        if is_last:
            backend.end()

    def _told(self) -> None:
        """Take in that something got through."""
        self._got_through = now = self._monotonic()
        if self._is_left_behind:
            raise _LeftBehindError
        if now >= self._beat_due:
            self._beat()

    def _beat(self) -> None:
        due_seconds = max(_BEAT_SECONDS_MIN, self._backend.beat())
        self._beat_due = self._monotonic() + due_seconds

    def _say_address(self, url: str | None) -> None:
        is_first, self.url = self.url is None, url
        if is_first and url is not None:
            self._notices.say(f"{self.name}: the run is at {url}.", level=20)

    def _whose(self, text: str) -> str:
        where = self._backend.where
        return self.name if where in text else f"{self.name} at {where}"

    def _wait(self, seconds: float) -> None:
        if self._is_finishing:
            seconds = min(seconds, _PAUSE_SECONDS_MIN)
        elif not self._failures:
            seconds = min(seconds, max(0.0, self._beat_due - self._monotonic()))
        try:
            self._orders.get(timeout=seconds)
        except Empty:
            return

    def _worked(self) -> None:
        if self._is_told:
            self._notices.say(
                f"{self.name} at {self._backend.where}: rows are taken again; those that waited are there."
            )
        self._failures, self._is_told, self._is_refused = 0, False, False

    def _failed(self, error: BaseException) -> float:
        """Take in that a round failed; return after how many seconds the next one is due."""
        backend = self._backend
        self._failures += 1
        self._is_refused = isinstance(error, BackendRefusedError)
        is_known = self._is_refused or isinstance(error, BackendDownError)
        text = str(error) if is_known else f"{type(error).__name__}: {error}"
        self._last_error = cut(redact(" ".join(text.split())), _TEXT_LENGTH_MAX)
        if self._is_refused:
            self._is_open = False
        if not self._is_told and (self._is_refused or self._failures >= _TOLD_AT):
            self._is_told = True
            self._notices.say(
                f"{self._whose(self._last_error)}: {_sentence(self._last_error)} The run goes on and its rows wait "
                f"in its directory; it is tried again, and later {backend.later} brings them there."
            )
        if self._is_refused:
            return _REFUSED_SECONDS
        longest = min(_PAUSE_SECONDS_MAX, _PAUSE_SECONDS_MIN * 2.0 ** min(self._failures - 1, 16))
        wait = random.uniform(longest / 2, longest)  # noqa: S311 - no secret
        if isinstance(error, BackendDownError):
            wait = max(wait, min(error.wait_seconds, _REFUSED_SECONDS))
        return wait

    def _close(self) -> None:
        try:
            self._backend.close()
        except Exception as error:  # noqa: BLE001 - it is over either way
            self._last_error = shown(error)

    # -- the end -------------------------------------------------------------------------------------

    def _waiting(self) -> int | None:
        """Return how many rows are not known to be there; ``None`` where that cannot be told."""
        try:
            return self._backend.rows_waiting()
        except Exception as error:  # a file that is gone or cannot be read: the run goes on
            if is_from_signal(error):
                raise
            if not self._failures:
                self._last_error = f"its files cannot be read: {error}"
            return None

    def _report(self) -> None:
        """Say what of the run is not there; once."""
        if self._is_reported:
            return
        self._is_reported = True
        backend, notices = self._backend, self._notices
        if not self._is_whole:
            waiting = self._waiting()
            what = (
                f"{counted(waiting, 'row')} and the end of the run wait"
                if waiting
                else "the end of the run waits"
            )
            why = f" ({self._last_error})" if self._last_error and self._failures else ""
            notices.say(
                f"{self.name} at {backend.where}: {what}{why}; {backend.later} brings them there."
            )
        remarks = backend.remarks()
        for remark in remarks[:_REMARKS_MAX]:
            notices.say(f"{self.name} at {backend.where}: {redact(cut(remark, _TEXT_LENGTH_MAX))}")
        if len(remarks) > _REMARKS_MAX:
            more = counted(len(remarks) - _REMARKS_MAX, "more remark")
            notices.say(f"{self.name} at {backend.where}: {more}; {backend.later} shows all.")


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
