"""What the keeper does for a run, round by round: flush, journal, index, and the files' places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from expr_tracker.store.documents import write_once
from expr_tracker.store.journal import write_journal

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from expr_tracker.clock import Clock
    from expr_tracker.row import Row
    from expr_tracker.run.run import Run
    from expr_tracker.store.lock import StreamLock

__all__ = ["Upkeep"]

#: Between two sidecars: a reader scans at most the rows of this time.
_SIDECAR_SECONDS: Final = 2.0
#: An open row younger than this is not worth a file.
_JOURNAL_SECONDS: Final = 1.0


class Upkeep:
    """Keeps the files of one run fresh and in their places.

    Args:
        run: the run.
        lock: the lock of its rows.
        stream_lock: the lock of its stream.
        identity: what ``run.json`` holds.
        clock: for ages.
    """

    def __init__(
        self,
        run: Run,
        *,
        lock: threading.RLock,
        stream_lock: StreamLock,
        identity: Row,
        clock: Clock,
    ) -> None:
        self._run = run
        self._lock = lock
        self._stream_lock = stream_lock
        self._identity = identity
        self._clock = clock
        self._journal_of: tuple[int, int] | None = None
        self._sidecar_at = 0.0
        self._sidecar_size = -1

    @property
    def tasks(self) -> tuple[Callable[[], object], ...]:
        """What is done in every round, in this order."""
        return (
            self._clock.resync,
            self._flush_if_due,
            self.keep_journal,
            self._keep_index,
            self._run.save_unsaved_summary,
            self.keep_places,
        )

    def _flush_if_due(self) -> None:
        for writer in self._run.writers():
            writer.flush_if_due()

    def keep_journal(self, *, at_once: bool = False) -> None:
        """Write the open row beside the file, once it is old enough or ``at_once``."""
        run = self._run
        with self._lock:
            row = run.recorder.open_row()
            size, ordinal = run.writer.index.size, run.writer.index.lines
            is_behind = bool(run.writer.pending_bytes)
        if row is None or is_behind:
            return
        if not at_once and self._clock.wall() - row["_time"] < _JOURNAL_SECONDS:
            return
        mark = (size, hash(str(row)))
        if mark == self._journal_of:
            return
        try:
            write_journal(run.files.journal, row, ordinal=ordinal, data_size=size)
            self._journal_of = mark
        except OSError:
            run.notices.count("degraded", "journals that could not be written")

    def _keep_index(self) -> None:
        now = self._clock.monotonic()
        size = self._run.writer.index.size
        if now - self._sidecar_at >= _SIDECAR_SECONDS and size != self._sidecar_size:
            self._sidecar_at, self._sidecar_size = now, size
            self._run.writer.save_index(self._run.run_row)

    def keep_places(self) -> None:
        """Put back what someone removed from the run directory.

        Raises:
            OSError: it cannot be written.
        """
        run = self._run
        for writer in run.writers():
            writer.check_place()
        run.companions.keep_places()
        if run.is_finished or run.writer.failure is not None:
            return
        label = run.files.key.label
        state = self._stream_lock.keep_place(label)
        if state == "remade":
            # Whoever removed the lock removed the directory: what is written once goes with it.
            write_once(run.files.identity, self._identity)
            run.companions.write_documents()
        elif state == "taken":
            run.notices.count("degraded", "streams with a second writer")
            run.notices.once(
                "second writer",
                f"{run.files.lock} had been removed and another process now writes {label!r} too: "
                "end one of the two, or the steps of both stay mixed.",
            )
