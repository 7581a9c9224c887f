"""What a writer counts and says when rows wait, are lost, or its file is not as it left it.

The writer decides what happens; this is the wording and the figures, one sentence per trouble.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import counted
from expr_tracker.store.lines import decode_line
from expr_tracker.store.markers import is_marker
from expr_tracker.store.place import rescue

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.notices import Notices, Subject
    from expr_tracker.options import Options

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

    def rescue(self, lines: list[bytes], reason: str) -> int:
        """Put lines that the file never took elsewhere, and count those that are no markers."""
        rows = len(lines)
        if self._subject == "rows":
            rows -= sum(is_marker(decode_line(line) or {}) for line in lines)
        what = counted(rows, "row") if rows else f"{counted(len(lines), 'line')} without metrics"
        what += f" could not be written to {self._path} ({reason})"
        try:
            name = rescue(self._path, lines)
        except OSError as error:
            if is_from_signal(error):
                raise
            kind = f"rows not written to {self._path.name}"
            if rows:
                self._notices.count("dropped", kind, rows, subject=self._subject)
            self._notices.say(
                f"{what}, nor to the temporary folder ({error.strerror}): they are lost."
            )
            return rows
        if rows:
            self._notices.count("rescued", name, rows, subject=self._subject)
        text = f"{what}. They are in {name}; append that file to it once there is room"
        if self._subject == "rows":
            # Of two lines for a step the later one counts, and rows belong to the attempt before them.
            text += (
                ', but before the run is resumed. After that, insert it in front of the "_attempt" '
                "line that the resume began with: at the end, its rows would replace newer ones"
            )
        self._notices.say(f"{text}.")
        return rows

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

    def count_sidecar(self) -> None:
        """Count a sidecar that could not be written; readers can do without."""
        self._notices.count("degraded", "index files that could not be written")
