"""What the keeper does for a run, round by round: flush, journal, index, and the files' places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.documents import NO_ROOM, mend, write_once

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
        self._waits_for_room = False

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

    def write_documents(self) -> None:
        """Write what the run begins with; on a full disk it waits for room, and training goes on.

        Raises:
            OSError: the run directory cannot be written, for another reason.
        """
        try:
            if not self._stream.is_identity_written:
                self._write_identity()
            self._parts.documents.write()
        except OSError as error:
            if is_from_signal(error) or error.errno not in NO_ROOM:
                raise
            self._waits_for_room = True
            files, notices = self._stream.files, self._stream.notices
            notices.count("degraded", "documents that waited for room", subject="other")
            notices.say(
                f"{error.filename or files.directory} cannot be written: {error.strerror}. What is "
                "said about the run, and rows that find no room, are kept in memory and written as soon "
                "as there is some; training goes on."
            )

    def write_waiting(self) -> None:
        """Write what found no room before, if there is some now.

        Raises:
            OSError: the run directory cannot be written, for another reason.
        """
        if not self._waits_for_room:
            return
        try:
            self._write_identity()
            self._parts.documents.write()
        except OSError as error:
            if is_from_signal(error) or error.errno not in NO_ROOM:
                raise
            return
        self._waits_for_room = False

    def _write_identity(self) -> None:
        stream = self._stream
        found = write_once(stream.files.identity, stream.identity)
        if found is None:
            found = mend(stream.files.identity, stream.identity)
        # Another process of the run may have been the first to find room.
        stream.identity.update(found)

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
        self.write_waiting()
        label = stream.files.key.label
        state = stream.stream_lock.keep_place(label)
        if state == "remade":
            # Whoever removed the lock removed the directory: what is written once goes with it.
            self._write_identity()
            parts.documents.write()
        elif state == "reopened":
            stream.notices.count("degraded", "locks that were closed")
            stream.notices.once(
                "closed lock",
                f"The program closed the descriptor of {stream.files.lock}, which gave the lock of "
                f"{label!r} up; it is taken again, and no other process holds it now.",
            )
        elif state == "regained":
            holder = stream.stream_lock.holder_before
            stream.notices.count("degraded", "streams with a second writer")
            stream.notices.once(
                "closed lock",
                f"The program closed the descriptor of {stream.files.lock}, which gave the lock of "
                f"{label!r} up; it is taken again. Meanwhile process {holder.get('pid')} on "
                f"{holder.get('host')} had it: what that one wrote stays in the same file, and the steps of "
                "both are mixed.",
            )
        elif state == "taken":
            stream.notices.count("degraded", "streams with a second writer")
            stream.notices.once(
                "second writer",
                f"{stream.files.lock} had been removed or closed and another process now writes {label!r} too: "
                "end one of the two, or the steps of both stay mixed.",
            )
