"""Line files beside the metrics: each line becomes an item of its own, in file order, once.

What the items are says who derives from `LineFileSource`: `spans` and `console`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from expr_tracker.notices import counted
from expr_tracker.store.files import RunFiles
from expr_tracker.store.joined import joined_objects
from expr_tracker.store.lines import decode_line
from expr_tracker.store.reader import LineFile, part_paths
from mapi.follow.pieces import Pieces, halves
from mapi.follow.queues import Queue, RefusedError, current_name, current_queue
from mapi.sdk.calls import Producer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from expr_tracker.row import Row
    from expr_tracker.store.files import LineKind, StreamKey
    from mapi.follow.deliveries import Delivery
    from mapi.follow.pieces import Piece
    from mapi.sdk.queueing import Place
    from mapi.wire.metrics import BatchAnswer

__all__ = ["Item", "LineFileSource", "rows_of_lines"]

#: As the platform takes it.
Item: TypeAlias = dict[str, Any]

#: A queue without items is moved on when so much of the file would be read again for it.
_BEHIND_BYTES_MAX: Final = 256 << 10


class LineFileSource(ABC):
    """The file of one kind of one producer.

    Args:
        directory: of the run.
        key: the producer.
    """

    kind: ClassVar[LineKind]
    """As the file's name begins."""
    what: ClassVar[str]
    """How reports name one item."""
    items_max: ClassVar[int]
    """Of one request."""

    def __init__(self, directory: Path, key: StreamKey) -> None:
        self.key = key
        self._path = RunFiles(directory, key).lines_of(self.kind)
        self._producer = Producer(key.stream or "", key.rank)
        self._pieces = Pieces(self.items_max)
        self._queue: Queue | None = None

    @staticmethod
    @abstractmethod
    def item_of(row: Row) -> tuple[Item | None, list[str]]:
        """Return what a line becomes, and what had to be changed for it; ``None``: nothing, as it says."""

    @abstractmethod
    def send(
        self, delivery: Delivery, items: Sequence[Item], *, place: Place, producer: Producer
    ) -> BatchAnswer:
        """Send items to the platform, in one request."""

    def size_bytes(self) -> int:
        """Return how far the file goes now."""
        before, after = part_paths(self._path)
        size = 0
        for path in (*before, self._path, *after):
            try:
                size += path.stat().st_size
            except FileNotFoundError:  # set aside between the two looks
                continue
        return size

    def deliver(self, delivery: Delivery, told: Callable[[int], object]) -> None:
        """Deliver the lines behind where the queue stands."""
        try:
            file = LineFile(self._path)
        except FileNotFoundError:  # taken away meanwhile
            return
        with file:
            queue = self._queue_of(delivery, file)
            while queue.offset < file.size:
                piece = self._pieces.next(file.read, queue.offset, file.size)
                if piece is None:
                    break
                self._deliver_piece(delivery, queue, piece)
                told(piece.stop)
            if queue.offset - queue.stands > _BEHIND_BYTES_MAX:
                self._send(delivery, queue, [], stop=queue.offset)
            told(file.size)

    def _queue_of(self, delivery: Delivery, file: LineFile) -> Queue:
        """Return the queue of the file as it is now."""

        def fits(offset: int) -> bool:
            if offset <= 0:
                return True
            return offset <= file.size and file.read(offset - 1, offset) == b"\n"

        if self._queue is not None and not fits(self._queue.offset):
            self._queue = None
            delivery.begin(delivery.run)
        if self._queue is None:
            self._queue = current_queue(
                lambda name: Queue(delivery, name, label=self.key.label, what=self.what),
                lambda writers: current_name(self._path.name, writers, fits),
                delivery=delivery,
                request=lambda place: self.send(
                    delivery, [], place=place, producer=self._producer
                ),
            )
        return self._queue

    def _deliver_piece(self, delivery: Delivery, queue: Queue, piece: Piece) -> None:
        if queue.offset != piece.start:  # it was not the turn of what came before
            return
        rows, damaged = rows_of_lines(piece.lines)
        made = [self.item_of(row) for row in rows]
        items = [item for item, _ in made if item is not None]
        reasons = Counter(reason for _, changes in made for reason in changes)
        self._pieces.fit(piece, len(items))
        parts = halves(piece) if len(items) > self.items_max else None
        is_mine = False
        if parts is None:
            try:
                is_mine = self._take(delivery, queue, items, stop=piece.stop)
            except RefusedError as error:
                parts = halves(piece)
                if parts is None:
                    is_mine = self._send(delivery, queue, [], stop=piece.stop)
                    reasons = Counter([f"refused: {error}"])
            if parts is None and is_mine:
                self._count(delivery, reasons, damaged)
        for part in parts or ():
            self._deliver_piece(delivery, queue, part)

    def _take(self, delivery: Delivery, queue: Queue, items: Sequence[Item], *, stop: int) -> bool:
        if items:
            return self._send(delivery, queue, items, stop=stop)
        queue.pass_over(stop)
        return True

    def _send(self, delivery: Delivery, queue: Queue, items: Sequence[Item], *, stop: int) -> bool:
        """Send items of lines that end at an offset; say whether it was their turn."""
        answer = queue.send(
            stop,
            lambda place: self.send(delivery, items, place=place, producer=self._producer),
        )
        return answer is not None

    def _count(self, delivery: Delivery, reasons: Counter[str], damaged: int) -> None:
        losses = delivery.losses
        for reason, count in reasons.items():
            losses.add(self.key.label, self.what, reason, count=count)
        if damaged:
            verb = "was" if damaged == 1 else "were"
            losses.fail(f"{self._path}: {counted(damaged, 'damaged line')} {verb} left out")


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
