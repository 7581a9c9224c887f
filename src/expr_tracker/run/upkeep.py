"""What the keeper does for a run, round by round: flush, journal, index, and the files' places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from expr_tracker.store.documents import mend, write_once

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.run.parts import RunParts

__all__ = ["Upkeep"]

#: Between two sidecars: a reader scans at most the rows of this time.
_SIDECAR_SECONDS: Final = 2.0


class Upkeep:
    """Keeps the files of one run fresh and in their places.

    Args:
        parts: what the run is made of.
    """

    def __init__(self, parts: RunParts) -> None:
        self._parts = parts
        self._stream = parts.stream
        self._clock = parts.stream.clock
        self._sidecar_at = 0.0
        self._sidecar_size = -1

    @property
    def tasks(self) -> tuple[Callable[[], object], ...]:
        """What is done in every round, in this order."""
        return (
            self._clock.resync,
            self._flush_if_due,
            self._parts.journal.keep_if_old,
            self._keep_index,
            self._parts.save_unsaved_summary,
            self.keep_places,
        )

    def _flush_if_due(self) -> None:
        for writer in self._parts.writers():
            writer.flush_if_due()

    def _keep_index(self) -> None:
        now = self._clock.monotonic()
        writer = self._stream.writer
        size = writer.index.size
        if now - self._sidecar_at >= _SIDECAR_SECONDS and size != self._sidecar_size:
            self._sidecar_at, self._sidecar_size = now, size
            writer.save_index(self._stream.run_row)

    def keep_places(self) -> None:
        """Put back what someone removed from the run directory.

        Raises:
            OSError: it cannot be written.
        """
        stream, parts = self._stream, self._parts
        for writer in parts.writers():
            writer.check_place()
        parts.companions.keep_places()
        if stream.life.is_closed or stream.writer.failure is not None:
            return
        label = stream.files.key.label
        state = stream.stream_lock.keep_place(label)
        if state == "remade":
            # Whoever removed the lock removed the directory: what is written once goes with it.
            if write_once(stream.files.identity, stream.identity) is None:
                mend(stream.files.identity, stream.identity)
            parts.documents.write()
        elif state == "reopened":
            stream.notices.count("degraded", "locks that were closed")
            stream.notices.once(
                "closed lock",
                f"The program closed the descriptor of {stream.files.lock}, which gave the lock of "
                f"{label!r} up; it is taken again. No other process has begun to write meanwhile.",
            )
        elif state == "taken":
            stream.notices.count("degraded", "streams with a second writer")
            stream.notices.once(
                "second writer",
                f"{stream.files.lock} had been removed or closed and another process now writes {label!r} too: "
                "end one of the two, or the steps of both stay mixed.",
            )
