"""Lines of a span file → spans of the platform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from expr_tracker.spans.records import record_from
from mapi.follow.instants import now_us
from mapi.follow.line_files import LineFileSource
from mapi.follow.texts import fields_within, storable
from mapi.wire.times import check_time_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from expr_tracker.row import Row
    from expr_tracker.store.files import LineKind
    from mapi.follow.deliveries import Delivery
    from mapi.follow.line_files import Item
    from mapi.sdk.calls import Producer
    from mapi.sdk.queueing import Place
    from mapi.wire.metrics import BatchAnswer

__all__ = ["SpansSource", "span_of_row"]

_NAME_LENGTH_MAX: Final = 500
_DEPTH_MAX: Final = 2**31 - 1
#: JSON of the attributes: the platform takes 16 KiB, and its spelling may be a little longer.
_FIELDS_BYTES_MAX: Final = 15_000
_NO_NAME: Final = "(no name)"


def span_of_row(row: Row) -> tuple[Item | None, list[str]]:
    """Return the span of a line as the platform takes it, and what had to be changed, a reason each.

    An error of the span is its attribute ``error``. ``None``: the line is no span, or none that the
    platform takes; the reason says it.
    """
    record = record_from(row)
    if record is None:
        return None, ["left out: the line is no span"]
    if check_time_ns(record.start_ns, now_us=now_us()) is not None:
        return None, ["left out: no clock can have shown when it began"]
    changes: list[str] = []
    name = storable(record.path, changes)
    if len(name) > _NAME_LENGTH_MAX:
        name = name[: _NAME_LENGTH_MAX - 1] + "…"
        changes.append("with a name that was cut: at most 500 characters")
    item: dict[str, Any] = {
        "name": name or _NO_NAME,
        "start_ns": record.start_ns,
        "duration_ns": record.duration_ns,
        "depth": min(record.depth or 0, _DEPTH_MAX),
        "track": record.track,
    }
    if record.step is not None and record.step >= 0:
        item["step"] = record.step
    elif record.step is not None:
        changes.append("without its step: the platform has no steps below 0")
    attributes = dict(record.attributes)
    if record.error is not None:
        attributes.setdefault("error", record.error)
    if attributes:
        item["fields"] = fields_within(attributes, changes, bytes_max=_FIELDS_BYTES_MAX)
    return item, changes


class SpansSource(LineFileSource):
    """The span file of one producer."""

    kind: ClassVar[LineKind] = "spans"
    what: ClassVar[str] = "span"
    items_max: ClassVar[int] = 5_000

    @staticmethod
    def item_of(row: Row) -> tuple[Item | None, list[str]]:
        """Return the span of a line."""
        return span_of_row(row)

    def send(
        self, delivery: Delivery, items: Sequence[Item], *, place: Place, producer: Producer
    ) -> BatchAnswer:
        """Send spans, in one request."""
        return delivery.runs.send_spans(delivery.run, items, place=place, producer=producer)
