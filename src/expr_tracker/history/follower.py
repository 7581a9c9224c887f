"""`follow`: the rows that were appended to a stream since the last look.

A `Follower` keeps a place in the file and reads from there. It survives a file that does not exist
yet, a torn tail (read once it is whole), rotation (offsets count over all parts), a file cut short
(reading goes on where the two still agree) and one that was replaced (reading begins again). It
opens the file only while it looks, and warns of set-aside parts that are gone.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import QueryError
from expr_tracker.history.source import Source
from expr_tracker.notices import logger
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.names import check_stream
from expr_tracker.store.parts import LostPart, lost_parts, lost_parts_text
from expr_tracker.store.paths import absolute, path_given
from expr_tracker.store.reader import LineFile
from expr_tracker.store.sidecar import parts_said, tail_checksum

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from expr_tracker.row import Row

__all__ = ["Follower", "follow"]

#: One look reads about this much, so that a late follower of a long run needs bounded memory.
_LOOK_BYTES_MAX: Final = 16 << 20
#: The beginning of a file that is remembered: it tells one that was cut from one that is another.
_HEAD_BYTES: Final = 64
#: Places remembered, to find where a file that was cut and grew again still agrees.
_PLACES_MAX: Final = 256


def follow(
    run: str | os.PathLike[str],
    stream: str | None = None,
    *,
    rank: int = 0,
    from_end: bool = False,
) -> Follower:
    """Return a follower of one stream of a run.

    Args:
        run: the run's directory, or a metrics file (``stream`` and ``rank`` are then ignored). It
            need not exist yet.
        stream: the stream; ``None`` is the default producer.
        rank: the rank.
        from_end: whether what is already there is passed over.

    Raises:
        NameRefusedError: the stream's name cannot be one.
        QueryError: ``run`` can be no path.
    """
    # It is opened again at every look, wherever the process stands then.
    path = absolute(path_given(run, "run", QueryError, expected="the path of a run"))
    if not path.name.endswith(".jsonl"):
        path = RunFiles(path, StreamKey(check_stream(stream), rank)).metrics
    follower = Follower(path)
    if from_end:
        follower.skip()
    return follower


class Follower:
    """A place in a stream; `poll` moves it.

    Attributes:
        offset: how many bytes were read, over all parts of the file.
        restarts: how often the file was found cut or replaced.
        unreadable: lines that were skipped as damaged.
        joined: lines whose end was damaged; the rows that it joins were returned.
        is_behind: whether the last look left something for the next one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self.restarts = 0
        self.unreadable = 0
        self.joined = 0
        self.is_behind = False
        self._places: deque[tuple[int, int]] = deque(maxlen=_PLACES_MAX)
        self._head = b""
        self._lost: list[LostPart] | None = None

    def skip(self) -> None:
        """Pass over everything that is there now."""
        try:
            with LineFile(self.path) as file:
                self._move(file, file.size)
        except FileNotFoundError:
            return

    def poll(self) -> list[Row]:
        """Return the metric rows appended since the last look, in file order.

        Lines of one step are not merged: a later one patches what was returned before. At most
        about 16 MiB are read at once; `is_behind` says that there is more.
        """
        self.is_behind = False
        try:
            file = LineFile(self.path)
        except FileNotFoundError:
            return []
        rows: list[Row] = []
        with Source(self.path, file, StreamIndex(size=file.size)) as source:
            restarts = self.restarts
            start = self._place_in(file)
            if self._lost is None or self.restarts > restarts:
                self._report_lost()
            end = start
            for at, piece in source.pieces(start, file.size):
                rows += source.decode(at, piece)
                end = at + len(piece)
                if end - start >= _LOOK_BYTES_MAX and end < file.size:
                    self.is_behind = True
                    break
            self.unreadable += len(source.unreadable) + len(source.foreign)
            self.joined += len(source.damage.joined)
            self._move(file, end)
        return rows

    def _report_lost(self) -> None:
        """Warn of parts that are gone: at the first look and whenever the file is not as it was."""
        parts, live_size = parts_said(self.path)
        lost = lost_parts(self.path, parts, live_size=live_size)
        if lost and lost != self._lost:
            logger.warning("%s: rows are lost: %s.", self.path, lost_parts_text(lost))
        self._lost = lost

    def _move(self, file: LineFile, offset: int) -> None:
        self._places = deque(
            (place for place in self._places if place[0] < offset), maxlen=_PLACES_MAX
        )
        self._places.append((offset, tail_checksum(file, offset)))
        self._head = file.read(0, min(offset, _HEAD_BYTES))
        self.offset = offset

    def _place_in(self, file: LineFile) -> int:
        """Return where to read on: the newest place at which the file is still the same."""
        length = len(self._head)
        is_cut = file.size < self.offset and length <= file.size
        if is_cut and file.read(0, length) == self._head:
            self.restarts += 1
            return file.size  # what is left was read before
        while self._places:
            offset, checksum = self._places[-1]
            if offset <= file.size and tail_checksum(file, offset) == checksum:
                break
            self._places.pop()
        place = self._places[-1][0] if self._places else 0
        if place != self.offset:
            self.restarts += 1
        return place
