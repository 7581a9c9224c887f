"""Line files beside the metrics: each line becomes an item of its own, in file order, once.

What the items are says who derives from `ItemSource`: `spans` and `console`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from expr_tracker.notices import counted
from expr_tracker.store.files import RunFiles
from mapi.follow.known import Known
from mapi.follow.line_files import LineFileSource, rows_of_lines
from mapi.follow.pieces import halves
from mapi.follow.queues import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from expr_tracker.row import Row
    from expr_tracker.store.files import LineKind, StreamKey
    from expr_tracker.store.reader import LineFile
    from mapi.follow.deliveries import Delivery
    from mapi.follow.known import Likeness
    from mapi.follow.pieces import Piece
    from mapi.follow.queues import Queue
    from mapi.sdk.queueing import Place
    from mapi.wire.metrics import BatchAnswer

__all__ = ["Item", "ItemSource"]

#: As the platform takes it.
Item: TypeAlias = dict[str, Any]


class ItemSource(LineFileSource):
    """The file of one kind of one producer.

    Args:
        directory: of the run.
        key: the producer.
    """

    kind: ClassVar[LineKind]
    """As the file's name begins."""

    def __init__(self, directory: Path, key: StreamKey) -> None:
        path = RunFiles(directory, key).lines_of(self.kind)
        super().__init__(path, key, writer=path.name)
        self._known: Known | None = None
        self._damaged = 0

    @staticmethod
    @abstractmethod
    def item_of(row: Row) -> tuple[Item | None, list[str]]:
        """Return what a line becomes, and what had to be changed for it; ``None``: nothing, as it says."""

    @staticmethod
    @abstractmethod
    def likeness_of(item: Item) -> Likeness:
        """Return what an item is known by."""

    @abstractmethod
    def there(self, delivery: Delivery) -> Iterable[Likeness]:
        """Ask what the platform has of the producer."""

    @abstractmethod
    def send(self, delivery: Delivery, items: Sequence[Item], place: Place) -> BatchAnswer:
        """Send items to the platform, in one request."""

    def move(self, delivery: Delivery, place: Place) -> BatchAnswer:
        """Move the queue on in one request, without an item."""
        return self.send(delivery, [], place)

    def deliver_piece(
        self, delivery: Delivery, queue: Queue, piece: Piece, *, file: LineFile
    ) -> None:
        """Deliver the items of whole lines."""
        if queue.offset != piece.start:  # it was not the turn of what came before
            return
        rows, damaged = rows_of_lines(piece.lines)
        made = [self.item_of(row) for row in rows]
        items = [item for item, _ in made if item is not None]
        reasons = Counter(reason for _, changes in made for reason in changes)
        self._pieces.fit(piece, len(items))
        parts = halves(piece) if len(items) > self.items_max else None
        is_mine, known = False, 0
        if parts is None:
            if queue.is_later:
                found = self._unknown(delivery, queue, piece, items=items, file=file)
                items, known = found, len(items) - len(found)
            try:
                is_mine = self._take(delivery, queue, items, number=piece.number)
            except RefusedError as error:
                parts = halves(piece)
                if parts is None:
                    is_mine = self.move_to(delivery, queue, piece.number)
                    reasons = Counter([f"refused: {error}"])
            if parts is None and is_mine:
                delivery.there[self.what] += known
                self._count(delivery, reasons, damaged)
        for part in parts or ():
            self.deliver_piece(delivery, queue, part, file=file)

    def _unknown(
        self,
        delivery: Delivery,
        queue: Queue,
        piece: Piece,
        *,
        items: Sequence[Item],
        file: LineFile,
    ) -> list[Item]:
        """Return the items that the platform does not have of a file that was another before."""

        def before(offset: int) -> Iterator[Likeness]:
            for _, lines in file.chunks(0, offset):
                for row in rows_of_lines(lines)[0]:
                    item, _ = self.item_of(row)
                    if item is not None:
                        yield self.likeness_of(item)

        if self._known is None or self._known.queue is not queue:
            self._known = Known(queue)
        places = self._known.unknown(
            piece,
            [self.likeness_of(item) for item in items],
            there=lambda: delivery.call(lambda: [*self.there(delivery)]),
            before=before,
        )
        return [items[at] for at in places]

    def _take(
        self, delivery: Delivery, queue: Queue, items: Sequence[Item], *, number: int
    ) -> bool:
        """Send items of lines that end at a place, if there are some; say whether it was their turn."""
        if not items:
            queue.pass_over(number)
            return True
        return queue.send(number, lambda place: self.send(delivery, items, place)) is not None

    def _count(self, delivery: Delivery, reasons: Counter[str], damaged: int) -> None:
        losses = delivery.losses
        for reason, count in reasons.items():
            losses.add(self.key.label, self.what, reason, count=count)
        self._damaged += damaged
        if self._damaged:
            verb = "was" if self._damaged == 1 else "were"
            lines = counted(self._damaged, "damaged line")
            self.problems = [f"{self._path}: {lines} {verb} left out"]

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._damaged = 0
