"""One stream that this process writes: what every part of a run is handed, and never changes.

The parts of a run (its documents, companions, summary, upkeep, end) take this value and know neither
one another's insides nor the `Run` that users hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from expr_tracker.store.lines import encode_line
from expr_tracker.store.live import LiveSnapshot
from expr_tracker.store.markers import end_marker

if TYPE_CHECKING:
    import threading

    from expr_tracker.clock import Clock
    from expr_tracker.notices import Notices
    from expr_tracker.options import Options
    from expr_tracker.record.recorder import Recorder
    from expr_tracker.row import Row, RowEncoder
    from expr_tracker.run.life import Life
    from expr_tracker.run.place import Place
    from expr_tracker.store.files import RunFiles
    from expr_tracker.store.lock import StreamLock
    from expr_tracker.store.writer import LineWriter

__all__ = ["OpenStream", "drop_namesake", "warn_of_value"]


@dataclass(frozen=True, eq=False)
class OpenStream:
    """A stream whose lock this process holds, with all that records its rows."""

    place: Place
    """The run's directory, project and name."""
    rank: int
    """This process's rank, also where it shares the files of rank 0."""
    files: RunFiles
    """The paths of the stream's files."""
    options: Options
    """Every tunable, as checked at the beginning."""
    identity: Row
    """What ``run.json`` holds."""
    is_identity_written: bool
    """Whether it held that when the stream was opened: a full disk takes it later, from `Upkeep`."""
    run_row: Row
    """Project, name and start, for the sidecars."""
    notices: Notices
    """Where faults are counted and said."""
    clock: Clock
    """For the times of rows, and for ages."""
    lock: threading.RLock
    """The lock of the rows: of the recorder's state and the writer's."""
    stream_lock: StreamLock
    """The lock between processes."""
    writer: LineWriter
    """Appends to the rows' file."""
    encoder: RowEncoder
    """Makes values plain."""
    recorder: Recorder
    """Decides what a row is."""
    life: Life
    """What has become of the stream since."""

    def snapshot(self) -> LiveSnapshot:
        """Return index, waiting lines and open row of one moment.

        Raises:
            ForkedObjectError: this process is a forked child.
        """
        self.life.guard()
        with self.lock:
            return LiveSnapshot(
                self.writer.index.copy(), self.writer.pending_lines(), self.recorder.open_row()
            )

    def end(self, status: str) -> None:
        """Put the status behind the last row and take no more; a second call does nothing."""
        with self.lock:
            if not self.recorder.has_ended:
                self.writer.reopen_if_closed()  # a marker that went elsewhere would be missed most
                marker = end_marker(self.life.attempt, status, time=self.clock.wall())
                self.writer.append_line(encode_line(marker), marker=marker)
            self.recorder.end("finished")

    def abandon_in_child(self) -> None:
        """Become the parent's after a fork, touching no lock."""
        self.life.is_forked = True
        self.recorder.end("forked")
        self.writer.abandon_in_child()
        self.stream_lock.abandon_in_child()


def warn_of_value(notices: Notices, key: str, text: str) -> None:
    """Count a value that is not stored as it is, and say once a key what became of it."""
    notices.count("degraded", f"values of {key}")
    notices.once(("value", key), f"{key!r}: {text}")


def drop_namesake(notices: Notices, key: str, text: str) -> None:
    """Count a value whose key has the text of another one, and say once a key that it is lost."""
    notices.count("dropped", f"values of {key}, of two keys with one text", subject="values")
    notices.once(("namesake", key), f"{key!r} is {text}. Give them names that differ as text.")
