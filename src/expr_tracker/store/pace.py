"""When a writer buffers: by choice, by the buffering rules, or because the file system is slow.

The latter two are one and the same, but that a slow file's rows are written in every round of the
keeper as well: what may be lost is as little as the rules allow, and half a second at the most.

The pace knows durations and counts, no file: the writer asks it and does what it says.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from expr_tracker.options import Options

__all__ = ["SLOW_SECONDS", "Pace"]

#: An append slower than this at the median turns buffering on.
SLOW_SECONDS: Final = 1e-3
#: ... and a flush quicker than this at the median turns it off again.
_QUICK_SECONDS: Final = 3e-4
#: ... and so for every so many bytes: copying them takes a tenth of that.
_QUICK_BYTES: Final = 64 * 1024
#: Writes that a median is taken over: more than half of so many in a row decide.
_WRITES_WEIGHED: Final = 64
#: While rows are few, 64 flushes take minutes: nothing but quick ones for so many seconds, and at
#: least so many of them, end the buffering as well. A trouble of a tenth of a second must not cost
#: more than a few seconds of durability.
_CALM_SECONDS: Final = 2.0
_CALM_FLUSHES: Final = 4
#: On a file system that turns slow again and again each calm has to be twice as long, up to this;
#: one that holds for as long begins anew. So neither callers nor the log hear of it all the time.
_CALM_SECONDS_MAX: Final = 64.0


class Pace:
    """How one line file is written.

    Attributes:
        buffers: whether rows wait for a flush instead of being written at once.
        is_slow: whether they do because appends were slow.
        syncs: whether every write is followed by an fsync.
        newest_append: when the newest row came; ``None`` before the first.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._is_chosen = options.durability is not None
        self.buffers = options.durability == "buffered"
        self.is_slow = False
        self.syncs = options.durability == "fsync"
        self.newest_append: float | None = None
        self._slow_writes: deque[int] = deque(maxlen=_WRITES_WEIGHED // 2 + 1)
        self._flushes = 0
        self._quick_flushes: deque[int] = deque(maxlen=_WRITES_WEIGHED // 2 + 1)
        self._calm_needed = _CALM_SECONDS
        self._calm_since: float | None = None
        self._calm_flushes = 0
        self._quick_again_at: float | None = None

    def stop_buffering(self) -> None:
        """Write every line at once from now on, however long it takes: no thread writes what waits."""
        self._is_chosen = True
        self.buffers = self.is_slow = False

    def must_write(self, now: float, count: int, *, is_full: bool) -> bool:
        """Say whether the caller itself writes what waits, after its own row joined it.

        Args:
            now: monotonic seconds.
            count: lines that wait.
            is_full: the limits of what may wait are reached.
        """
        if not self.buffers or is_full:
            return True
        options = self._options
        if options.buffer_size is not None and count >= options.buffer_size:
            return True
        if options.buffer_interval is None or self.newest_append is None:
            return False
        return now - self.newest_append >= options.buffer_interval

    def is_due(self, waited_seconds: float) -> bool:
        """Say whether what has waited so long must be written now, whoever does it."""
        limit = self._options.max_buffer_seconds
        return not self.buffers or self.is_slow or (limit is not None and waited_seconds >= limit)

    def note_slow_append(self, ordinal: int, now: float) -> str | None:
        """Take in that append number ``ordinal`` was slow; turn buffering on if most are.

        Args:
            ordinal: counts the file's lines.
            now: monotonic seconds.

        Returns:
            What is to be said of it, the first time.
        """
        slow = self._slow_writes
        slow.append(ordinal)
        if self._is_chosen or not _is_most(slow):
            return None
        slow.clear()
        self.is_slow = self.buffers = True
        self._calm_since = None
        before = self._quick_again_at
        is_again = before is not None and now - before < _CALM_SECONDS_MAX
        longer = self._calm_needed * 2
        self._calm_needed = min(longer, _CALM_SECONDS_MAX) if is_again else _CALM_SECONDS
        return (
            f"takes more than {SLOW_SECONDS * 1e3:g} ms (a slow file system, or threads that hold "
            "the interpreter): rows are now buffered, and a thread writes them twice a second. "
            "durability='process' keeps every row durable at that price; durability='buffered' "
            "says it is meant."
        )

    def note_flush(self, seconds: float, size_bytes: int, now: float) -> bool:
        """Take in a flush; turn buffering off again, and say so, if most are quick.

        Args:
            seconds: how long it took.
            size_bytes: how much it wrote: many rows at once may take longer than one.
            now: monotonic seconds, behind it.
        """
        if not self.is_slow:
            return False
        self._flushes += 1
        quick = self._quick_flushes
        is_quick = seconds < _QUICK_SECONDS * max(1.0, size_bytes / _QUICK_BYTES)
        if is_quick:
            quick.append(self._flushes)
        if not _is_most(quick) and not self._is_calm(now, is_quick=is_quick):
            return False
        quick.clear()
        self._quick_again_at = now
        self.is_slow = self.buffers = False
        return True

    def _is_calm(self, now: float, *, is_quick: bool) -> bool:
        """Say whether every flush has been quick for long enough."""
        if not is_quick:
            self._calm_since = None
            return False
        if self._calm_since is None:
            self._calm_since = now
            self._calm_flushes = 0
        self._calm_flushes += 1
        is_long = now - self._calm_since >= self._calm_needed
        return is_long and self._calm_flushes >= _CALM_FLUSHES


def _is_most(ordinals: deque[int]) -> bool:
    """Say whether more than half of the last writes are among ``ordinals``: the median is."""
    return len(ordinals) > _WRITES_WEIGHED // 2 and ordinals[-1] - ordinals[0] < _WRITES_WEIGHED
