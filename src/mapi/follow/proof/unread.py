"""Line files that cannot be opened: each is named, and of what it would say nothing is missing or extra."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from expr_tracker.errors import TrackerError
from expr_tracker.history.location import Producer
from expr_tracker.history.source import Source
from expr_tracker.interruption import is_from_signal
from expr_tracker.store.files import RunFiles, stream_keys
from expr_tracker.store.reader import LineFile
from mapi.follow.faults import said

if TYPE_CHECKING:
    from expr_tracker.store.enclosure import LeadsOutError
    from expr_tracker.store.files import LineKind, StreamKey
    from mapi.follow.proof.differences import Differences

__all__ = ["Unread", "not_compared", "unread_files"]


class Unread:
    """Whose files cannot be read, by what they hold."""

    def __init__(self, keys: dict[LineKind, frozenset[StreamKey]]) -> None:
        self.metrics = keys["metrics"]
        self.spans = keys["spans"]
        self.console = keys["console"]

    @property
    def lines(self) -> frozenset[StreamKey]:
        """Whose lines of the log are not all known."""
        return self.metrics | self.console


def unread_files(directory: Path, differences: Differences) -> Unread:
    """Return what of a run cannot be read now; each file is a problem of the comparison."""
    found: dict[LineKind, frozenset[StreamKey]] = {}
    for kind in ("metrics", "spans", "console"):
        refused = set()
        for key in stream_keys(directory, kind):
            path = RunFiles(directory, key).lines_of(kind)
            try:
                _open(path, key, kind)
            except FileNotFoundError:  # taken away meanwhile
                continue
            except (OSError, TrackerError) as error:
                if is_from_signal(error):
                    raise
                refused.add(key)
                differences.problems.append(f"{path.name}: not compared: {said(error)}")
        found[kind] = frozenset(refused)
    return Unread(found)


def not_compared(error: LeadsOutError) -> str:
    """Return how the comparison tells of a file that is not the run's, so that nothing of it was read."""
    return f"{Path(error.filename).name}: not compared: {said(error)}"


def _open(path: Path, key: StreamKey, kind: LineKind) -> None:
    if kind == "metrics":
        Source.offline(Producer(path, key)).__exit__(None, None, None)
    else:
        with LineFile(path):
            pass
