"""Lines of a console file → lines of the log: raw, carriage returns and colours included."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from mapi.follow.instants import is_taken, now_us, time_us_of
from mapi.follow.items import ItemSource
from mapi.follow.known import likeness_of_line, lines_of
from mapi.follow.texts import storable
from mapi.wire.times import time_from_us

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from expr_tracker.row import Row
    from expr_tracker.store.files import LineKind
    from mapi.follow.deliveries import Delivery
    from mapi.follow.items import Item
    from mapi.follow.known import Likeness
    from mapi.sdk.queueing import Place
    from mapi.wire.metrics import BatchAnswer

__all__ = ["ConsoleSource", "line_of_output"]

_MESSAGE_BYTES_MAX: Final = 16 << 10
_MARK: Final = "… [cut]"


def line_of_output(row: Row) -> tuple[Item | None, list[str]]:
    """Return what a program printed as a line of the log, and what had to be changed, a reason each.

    Its message is the text as it was printed, its field ``source`` is ``stdout`` or ``stderr``. Without a
    time of the file that the platform takes it has none, which is that of its delivery. ``None``: the line is
    none of the kind, as the reason says.
    """
    text, source = row.get("text"), row.get("source")
    if not isinstance(text, str):
        return None, ["left out: the line is no output"]
    changes: list[str] = []
    message = storable(text, changes)
    content = message.encode()
    if len(content) > _MESSAGE_BYTES_MAX:
        head = content[: _MESSAGE_BYTES_MAX - len(_MARK.encode())].decode(errors="ignore")
        message = head + _MARK
        changes.append("cut: a line of the log has room for 16 KiB")
    item: Item = {"message": message, "fields": {"source": storable(str(source), changes)[:100]}}
    time_us = time_us_of(row.get("_time"))
    if time_us is None or not is_taken(time_us, now_us=now_us()):
        changes.append("with the time of its delivery: the file has none that the platform takes")
    else:
        item["time"] = time_from_us(time_us)
    return item, changes


class ConsoleSource(ItemSource):
    """The console file of one producer."""

    kind: ClassVar[LineKind] = "console"
    what: ClassVar[str] = "line"
    items_max: ClassVar[int] = 5_000

    @staticmethod
    def item_of(row: Row) -> tuple[Item | None, list[str]]:
        """Return the line of the log of what was printed."""
        return line_of_output(row)

    @staticmethod
    def likeness_of(item: Item) -> Likeness:
        """Return what a line of the log is known by."""
        return likeness_of_line(item)

    def there(self, delivery: Delivery) -> Iterator[Likeness]:
        """Ask for the lines that the platform has of the producer."""
        return lines_of(delivery.runs, delivery.run, self._producer)

    def send(self, delivery: Delivery, items: Sequence[Item], place: Place) -> BatchAnswer:
        """Send lines, in one request."""
        return delivery.runs.send_lines(delivery.run, items, place=place, producer=self._producer)
