"""Files of lines that are a queue each: read behind where it stands, a piece at a time.

What becomes of a piece says who derives from `LineFileSource`: `items` and `media`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.joined import joined_objects
from expr_tracker.store.lines import decode_line
from expr_tracker.store.reader import LineFile, part_paths
from mapi.follow.numbers import fits
from mapi.follow.pieces import Pieces
from mapi.follow.queues import Queue, current_name, current_queue
from mapi.sdk.calls import Producer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from expr_tracker.row import Row
    from expr_tracker.store.files import StreamKey
    from mapi.follow.deliveries import Delivery
    from mapi.follow.pieces import Piece
    from mapi.sdk.queueing import Place
    from mapi.wire.metrics import BatchAnswer

__all__ = ["BEHIND_BYTES_MAX", "LineFileSource", "file_size", "rows_of_lines"]

#: A queue without items is moved on when so much of the file would be read again for it.
BEHIND_BYTES_MAX: Final = 256 << 10
#: Files that took each other's place in one look; the next one goes on.
_ROUNDS_MAX: Final = 5


class LineFileSource(ABC):
    """One file of one producer.

    Args:
        path: of the file.
        key: the producer.
        writer: the queue's name.
        again: whether all is sent from the first line.
    """

    what: ClassVar[str]
    """How reports name one item."""
    items_max: ClassVar[int]
    """About how many a piece should come to."""

    def __init__(self, path: Path, key: StreamKey, *, writer: str, again: bool = False) -> None:
        self.key = key
        self._path = path
        self._writer = writer
        self._again = again
        self.file = writer
        self.problems: list[str] = []
        self._producer = Producer(key.stream or "", key.rank)
        self._pieces = Pieces(self.items_max)
        self._queue: Queue | None = None

    @abstractmethod
    def move(self, delivery: Delivery, place: Place) -> BatchAnswer:
        """Move the queue on in one request, without an item."""

    @abstractmethod
    def deliver_piece(
        self, delivery: Delivery, queue: Queue, piece: Piece, *, file: LineFile
    ) -> None:
        """Deliver what whole lines hold, which begin where the queue is: it goes on or is elsewhere."""

    def size_bytes(self) -> int:
        """Return how far the file goes now."""
        return file_size(self._path)

    def deliver(self, delivery: Delivery, told: Callable[[int], object]) -> None:
        """Deliver the lines behind where the queue stands."""
        try:
            file = LineFile(self._path)
        except FileNotFoundError:  # taken away meanwhile
            return
        with file:
            queue = self._queue_of(delivery, file)
            for _ in range(_ROUNDS_MAX):
                while queue.offset < file.size:
                    piece = self._pieces.next(file.read, queue.offset, file.size)
                    if piece is None:
                        break
                    self.deliver_piece(delivery, queue, piece, file=file)
                    told(piece.stop)
                if not queue.is_ended:
                    break
                queue = self._queue_of(delivery, file)
            if queue.behind_bytes > BEHIND_BYTES_MAX:
                self.move_to(delivery, queue, queue.reached)
            told(file.size)

    def _begin_anew(self) -> None:
        """Forget what was wrong with a file that another one has taken the place of."""
        self.problems = []

    def move_to(self, delivery: Delivery, queue: Queue, number: int) -> bool:
        """Move the queue on to a place; say whether it was the turn of that."""
        return queue.send(number, lambda place: self.move(delivery, place)) is not None

    def _queue_of(self, delivery: Delivery, file: LineFile) -> Queue:
        """Return the queue of the file as it is now."""
        if self._queue is not None and not self._queue.fits(file.read, size=file.size):
            self._queue = None
            self._begin_anew()
            delivery.begin(delivery.run)
        if self._queue is None:
            self._queue = current_queue(
                lambda name: Queue(delivery, name, label=self.key.label, what=self.what),
                lambda writers: current_name(
                    self._writer,
                    writers,
                    lambda one: fits(file.read, one, size=file.size),
                    again=self._again,
                ),
                delivery=delivery,
                request=lambda place: self.move(delivery, place),
            )
            self._again = False
        return self._queue


def file_size(path: Path) -> int:
    """Return how many bytes a line file has now, parts included."""
    before, after = part_paths(path)
    size = 0
    for one in (*before, path, *after):
        try:
            size += one.stat().st_size
        except OSError as error:
            # Set aside between the two looks, or of no use: whoever reads it says why.
            if is_from_signal(error):
                raise
    return size


def rows_of_lines(lines: bytes) -> tuple[list[Row], int]:
    """Return the objects of whole lines, and how many lines hold none."""
    rows: list[Row] = []
    damaged = 0
    for line in lines.split(b"\n"):
        # Zeros where lines were: what a power loss leaves of a page that was not written.
        text = line.lstrip(b"\0")
        if not text:
            continue
        row = decode_line(text)
        found = joined_objects(text) if row is None else [row]
        rows += found
        damaged += not found
    return rows, damaged
