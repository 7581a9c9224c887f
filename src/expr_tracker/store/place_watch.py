"""Whether a line file is where its writer left it, and as it left it; and what is done if not.

People move, remove, cut and replace files that are being written, programs append to them or close
the descriptor that they are written through, and set-aside parts get lost. What can be put back is
put back, the rest is said and counted, and the index becomes that of what is there. The writer asks
once a second or so, off the caller's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.part_notes import PartNotes
from expr_tracker.store.parts import size_of_parts
from expr_tracker.store.place import read_on, say_lost
from expr_tracker.store.reader import LineFile
from expr_tracker.store.sidecar import missing_rows

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from expr_tracker.notices import Notices
    from expr_tracker.store.live_file import LiveFile, Reopening
    from expr_tracker.store.troubles import Troubles

__all__ = ["PlaceWatch", "WatchedWriter"]

#: Readings of a changed file before the one under the lock, which finds next to nothing left.
_FREE_READINGS: Final = 2


class WatchedWriter(Protocol):
    """What the watch asks of the writer, with the lock held."""

    path: Path
    index: StreamIndex
    file: LiveFile

    @property
    def is_flushing_or_closed(self) -> bool:
        """Whether a thread writes the file outside of the lock, or nobody does any more."""
        ...

    def settle(self) -> None:
        """Account for a write that an exception or an error left unfinished."""
        ...

    def cut_back(self, size: int) -> None:
        """Remove a part of a line behind offset ``size``."""
        ...


class PlaceWatch:
    """Looks after the place of one writer's file.

    Attributes:
        is_stale: whether the index has the right size but no zones: another program changed the
            file, and it has not been read yet.
    """

    def __init__(
        self,
        writer: WatchedWriter,
        *,
        lock: threading.RLock,
        notices: Notices,
        troubles: Troubles,
        is_indexed: bool,
    ) -> None:
        self._writer = writer
        self._lock = lock
        self._notices = notices
        self._troubles = troubles
        self._is_indexed = is_indexed
        self._parts = PartNotes(writer.path, writer.index, writer.file.start)
        self._checked_size = writer.index.size
        self._is_astray = False
        self.is_stale = False

    def note_parts(self) -> None:
        """Take in what the writer has set aside; the lock is held."""
        self._parts.catch_up(self._writer.index, self._writer.file.start)

    def reopen_if_closed(self) -> bool:
        """Open the file again if the program closed its descriptor; say whether it had.

        The lock is held. Where the file cannot be opened, the next write fails as any other does.
        """
        file = self._writer.file
        try:
            file.reopen_if_closed()
            if file.reopening is not None:
                self._account_for(file.reopening)
        except OSError as error:
            if is_from_signal(error):
                raise
            return False
        is_reopened, file.reopening = file.reopening is not None, None
        return is_reopened

    def _account_for(self, reopening: Reopening) -> None:
        """Take in what became of what was written since the program closed the descriptor.

        It went to whoever got the number: the file is as much shorter than what was counted. Which
        rows that were, `check` finds.
        """
        writer = self._writer
        missing = writer.index.size - writer.file.end()
        is_astray = missing > 0 and reopening.is_same
        self._troubles.count_reopening(reopening.stranger, missing if is_astray else 0)
        if missing and not is_astray:
            self._troubles.count_change(-missing)
        if missing or not reopening.is_same:
            self._is_astray = self._is_astray or is_astray
            self._adopt()
        self._checked_size = writer.index.size

    def check(self) -> None:
        """Put the file back where someone removed it, and notice where someone changed it.

        Raises:
            OSError: it can be neither put back nor read.
        """
        writer = self._writer
        # Thousands of parts take milliseconds to look at: not while `log` waits.
        are_parts_in_place = self._are_parts_in_place()
        try:
            with self._lock:
                if not writer.is_flushing_or_closed:
                    self.reopen_if_closed()
                copy = writer.file.begin_copy(writer.index.size)
            if copy is not None:
                copy.fill()  # without the lock: 300 MB take 0.2 s
            with self._lock:
                if writer.is_flushing_or_closed:
                    return
                writer.settle()
                self._look(are_parts_in_place=are_parts_in_place or self._are_parts_in_place())
                self._checked_size = writer.index.size
                if not self.is_stale:
                    return
            self._take_in()
        finally:
            writer.file.drop_copy()

    def _are_parts_in_place(self) -> bool:
        start = self._writer.file.start
        return start == 0 or size_of_parts(self._writer.path) == start

    def _look(self, *, are_parts_in_place: bool) -> None:
        writer = self._writer
        file = writer.file
        if file.is_in_place():
            more = file.end() - writer.index.size
            if more == 0 and are_parts_in_place:
                return
            if more:
                self._troubles.count_change(more)
        else:
            file.put_back(self._checked_size)
            self._troubles.say_put_back()
        if not are_parts_in_place:
            say_lost(writer.path, writer.index.parts, self._notices)
        self._adopt()

    def _adopt(self) -> None:
        """Go on from what is in the file, whatever that is."""
        writer = self._writer
        file = writer.file
        self.is_stale = True
        with LineFile(writer.path) as found:
            file.start = found.live_start
            writer.index = writer.index.without_zones(found.size)
            torn = found.torn_bytes
        self._parts.begin_anew(writer.index, file.start)
        if torn:
            writer.cut_back(writer.index.size)

    def _take_in(self) -> None:
        """Read a changed file into a new index: 300 000 rows take 0.3 s, so without the lock."""
        writer = self._writer
        index = StreamIndex()
        for _ in range(_FREE_READINGS):
            read_on(writer.path, index, is_indexed=self._is_indexed)
        with self._lock:
            if writer.is_flushing_or_closed:
                return
            writer.settle()
            read_on(writer.path, index, is_indexed=self._is_indexed)
            known = writer.index
            index.missing_rows, index.changed_lines = known.missing_rows, known.changed_lines
            if self._is_astray:
                self._is_astray = False
                self._troubles.count_astray(known, index)
            elif self._is_indexed:
                with LineFile(writer.path) as file:
                    index.missing_rows = missing_rows(known, index, file)
            index.parts = known.parts
            self._parts.begin_anew(index, writer.file.start)
            writer.index = index
            self.is_stale = False
