"""What the platform has already of a file that is not the one that was delivered: that is not sent again.

Where a file begins a queue of its own, because the one before it was another (`mapi.follow.queues`), most
of its lines are often the same. Log lines and spans have nothing that makes them unique there, so each of
the platform's is taken for one of the file's, in the order of the file, and what finds none is sent.

Two that deliver such a file come to the same: what one of them sends is taken only where both would have
sent it, and whoever finds the queue elsewhere than expected asks anew.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mapi.follow.likeness import likeness
from mapi.wire.times import time_to_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mapi.follow.pieces import Piece
    from mapi.follow.queues import Queue
    from mapi.follow.texts import LogLine
    from mapi.sdk.calls import Producer
    from mapi.sdk.synchronous.runs import Runs
    from mapi.wire.notes import LogLineFacts

__all__ = ["Known", "Likeness", "likeness_of_line", "lines_of", "lines_there"]

_PAGE_LINES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Likeness:
    """What an item is known by."""

    content: int
    time_us: int | None = None
    """``None``: none, or of a file's one that the platform has at the time of its delivery."""


class Known:
    """The platform's items of one producer that none of the file's was found to be.

    Args:
        queue: of the file, as it is now.
    """

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self._offset: int | None = None
        self._left: Counter[Likeness] = Counter()
        self._contents: Counter[int] = Counter()

    def unknown(
        self,
        piece: Piece,
        items: Sequence[Likeness],
        *,
        there: Callable[[], Iterable[Likeness]],
        before: Callable[[int], Iterable[Likeness]],
    ) -> list[int]:
        """Return which of a piece's items the platform does not have, by their places.

        Args:
            piece: of the file; where the last one ended, or anywhere.
            items: what its lines become.
            there: asks for all that the platform has.
            before: returns the file's items up to an offset, in its order.
        """
        if self._offset != piece.start:
            found = [*there()]
            self._left = Counter(found)
            self._contents = Counter(one.content for one in found)
            for item in before(piece.start):
                self._is_met(item)
        self._offset = piece.stop
        return [at for at, item in enumerate(items) if not self._is_met(item)]

    def _is_met(self, item: Likeness) -> bool:
        if self._contents[item.content] <= 0:
            return False
        if item.time_us is not None:
            if self._left[item] <= 0:
                return False
            self._left[item] -= 1
        self._contents[item.content] -= 1
        return True


def likeness_of_line(line: LogLine) -> Likeness:
    """Return what a line of the log is known by, as it is sent: without a time that of its delivery."""
    time = line.get("time")
    content = likeness([line["message"]], line.get("fields"))
    return Likeness(content, None if time is None else time_to_us(time))


def lines_there(runs: Runs, run: str) -> Iterator[LogLineFacts]:
    """Yield all lines of the platform's log of a run, in the order in which they came."""
    after = 0
    while lines := runs.lines(run, after=after, limit=_PAGE_LINES):
        yield from lines
        after = lines[-1].id


def lines_of(runs: Runs, run: str, producer: Producer) -> Iterator[Likeness]:
    """Yield what the lines are known by that one producer has in the platform's log."""
    for line in lines_there(runs, run):
        if (line.stream, line.rank) == (producer.stream, producer.rank):
            content = likeness([line.message], line.fields)
            yield Likeness(content, time_to_us(line.time))
