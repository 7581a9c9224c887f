"""What a writer counts and says when rows wait, are lost, or its file is not as it left it.

The writer decides what happens; this is the wording and the figures, one sentence per trouble.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import counted
from expr_tracker.store.lines import decode_line
from expr_tracker.store.markers import is_marker
from expr_tracker.store.rescue_file import rescue_command, write_rescue_file

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.notices import Notices, Subject
    from expr_tracker.options import Options
    from expr_tracker.store.index import StreamIndex

__all__ = ["Troubles"]


class Troubles:
    """The troubles of one line file.

    Args:
        path: the file.
        options: the limits that sentences name.
        notices: where they are counted and said.
        subject: what the file's lines are.
    """

    def __init__(
        self, path: Path, options: Options, *, notices: Notices, subject: Subject
    ) -> None:
        self._path = path
        self._options = options
        self._notices = notices
        self._subject: Subject = subject

    def count_refused(self, size: int, limit: int) -> None:
        """Count a line of more bytes than the limit; say it once, for it rarely comes alone."""
        self._notices.count("refused", "rows over max_record_bytes", subject=self._subject)
        self._notices.once(
            ("refused", self._path),
            f"A row of {size} bytes for {self._path.name} was refused: the limit max_record_bytes "
            f"is {limit}. Log arrays as artifacts or media, or raise the limit. Further ones are "
            "only counted.",
        )

    def count_late(self) -> None:
        """Count a line that came behind the end."""
        kind = "rows that were logged while the run was finished"
        self._notices.count("dropped", kind, subject=self._subject)

    def count_overflow(self, dropped: int, reason: str) -> None:
        """Count waiting lines that were dropped because too many wait."""
        kind = f"rows that waited for {self._path.name}"
        self._notices.count("dropped", kind, dropped, subject=self._subject)
        self._notices.once(
            ("overflow", self._path),
            f"{self._path} cannot be written ({reason}) and the waiting rows exceed "
            "max_pending_records or max_pending_bytes: the oldest are dropped and counted.",
        )

    def rescue(self, lines: list[bytes], reason: str, index: StreamIndex) -> int:
        """Put lines that the file never took elsewhere, and count those that are no markers.

        Args:
            lines: the lines, their ends included.
            reason: why the file did not take them.
            index: what it holds.
        """
        rows = self._rows_among(lines)
        what = counted(rows, "row") if rows else f"{counted(len(lines), 'line')} without metrics"
        what += f" could not be written to {self._path} ({reason})"
        attempt = index.attempts[-1] if self._subject == "rows" else None
        try:
            name, taken, failure = write_rescue_file(
                self._path, lines, attempt=attempt, size=index.size
            )
        except OSError as error:
            if is_from_signal(error):
                raise
            self._count_unwritten(rows)
            self._notices.say(
                f"{what}, nor to the temporary folder ({error.strerror}): they are lost."
            )
            return rows
        lost = self._rows_among(lines[taken:])
        if rows > lost:
            self._notices.count("rescued", name, rows - lost, subject=self._subject)
        which = "They are"
        if failure is not None:
            self._count_unwritten(lost)
            what += f", and {lost} of them not to the temporary folder ({failure.strerror}) and are lost"
            which = "The others, which came first, are"
        # Not "append it": behind the rows of a later attempt they would replace newer ones.
        self._notices.say(
            f"{what}. {which} in {name}; this puts them where they belong once there is room, "
            f"before or after the run is resumed: {rescue_command(name, self._path.parent)}"
        )
        return rows

    def _rows_among(self, lines: list[bytes]) -> int:
        """Return how many of the lines are no markers."""
        if self._subject != "rows":
            return len(lines)
        return len(lines) - sum(is_marker(decode_line(line) or {}) for line in lines)

    def _count_unwritten(self, rows: int) -> None:
        if rows:
            kind = f"rows not written to {self._path.name}"
            self._notices.count("dropped", kind, rows, subject=self._subject)

    def say_failure(self, reason: str) -> None:
        """Say that rows wait because the file cannot be written."""
        self._notices.say(
            f"{self._path} cannot be written: {reason}. Rows are kept in memory (up to "
            f"max_pending_records={self._options.max_pending_records}) and written as soon as "
            "it can be; training goes on."
        )

    def say_recovery(self) -> None:
        """Say that the file can be written again."""
        self._notices.say(f"{self._path} can be written again; every waiting row is in it.")

    def say_pace(self, text: str) -> None:
        """Say what became of appending when it turned slow or quick."""
        self._notices.say(f"Appending to {self._path} {text}")

    def say_put_back(self) -> None:
        """Say that the file was gone from its place."""
        self._notices.say(
            f"{self._path} had been moved, removed or replaced while it was written; what was "
            "missing has been put back and the run goes on there."
        )

    def count_change(self, more: int) -> None:
        """Count that another program made the file ``more`` bytes longer, or shorter.

        Each is said once: another program that writes on would be news every half second.
        """
        what = (
            f"it has {counted(more, 'byte')} that this run did not write; they are read with it"
            if more > 0
            else f"it has lost {counted(-more, 'byte')} and the rows in them"
        )
        self._notices.once(
            ("changed", self._path, more > 0),
            f"{self._path} was changed by another program: {what}. Further changes of that kind are "
            "only counted.",
        )
        self._notices.count("degraded", f"changes of {self._path.name} by other programs")

    def count_reopening(self, stranger: str | None, missing: int) -> None:
        """Count that the program had closed the descriptor that the file is written through.

        Args:
            stranger: the file that has its number now.
            missing: bytes that were written to whoever had the number.
        """
        self._notices.count("degraded", f"descriptors of {self._path.name} that were closed")
        self._notices.once(
            ("reopened", self._path),
            f"The program closed the descriptor that {self._path} is written through (one number "
            "closed twice, os.closerange, a step of becoming a daemon). The file is open again and "
            "the run goes on. Further times are only counted.",
        )
        if missing:
            whose = "whatever had its number then" if stranger is None else stranger
            which = "" if stranger is None else ", which has its number now"
            self._notices.say(
                f"{self._path} lacks {counted(missing, 'byte')}: they were written into {whose}"
                f"{which}, and are out of place there too."
            )

    def count_astray(self, counted_in: StreamIndex, found: StreamIndex) -> None:
        """Count what was written into another file while the descriptor was that one's.

        Args:
            counted_in: the index of what was written.
            found: that of what is in the file.
        """
        what = "rows" if self._subject == "rows" else "lines"
        if self._subject == "rows":
            number = counted_in.rows - found.rows
        # A line when it is written, a row with a step when it is read.
        elif self._subject == "spans":
            number = counted_in.lines - found.lines
        else:
            what, number = "pieces", 1  # nobody counts the lines
        if number > 0:
            kind = f"{what} of {self._path.name} written into another file"
            self._notices.count("dropped", kind, number, subject=self._subject)

    def count_sidecar(self) -> None:
        """Count a sidecar that could not be written; readers can do without."""
        self._notices.count("degraded", "index files that could not be written")
