"""Lines of a span file → spans of the platform."""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING, Any, ClassVar, Final

from expr_tracker.row import STEP_MAX
from expr_tracker.spans.records import record_from
from mapi.follow.instants import now_us
from mapi.follow.items import ItemSource
from mapi.follow.known import Likeness
from mapi.follow.likeness import likeness
from mapi.follow.texts import fields_within, storable
from mapi.wire.times import check_time_ns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from expr_tracker.row import Row
    from expr_tracker.store.files import LineKind
    from mapi.follow.deliveries import Delivery
    from mapi.follow.items import Item
    from mapi.sdk.queueing import Place
    from mapi.wire.metrics import BatchAnswer
    from mapi.wire.notes import SpanFacts

__all__ = ["SpansSource", "likeness_of_span", "span_facts", "span_of_row"]

_NAME_LENGTH_MAX: Final = 500
_DEPTH_MAX: Final = 2**31 - 1
#: JSON of the attributes: the platform takes 16 KiB, and its spelling may be a little longer.
_FIELDS_BYTES_MAX: Final = 15_000
_NAMES: Final = ("name", "start_ns", "duration_ns", "depth", "track", "step")
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
    attributes = dict(record.attributes)
    name = storable(record.path, changes)
    if len(name) > _NAME_LENGTH_MAX:
        # An attribute of its own that is called so stays.
        numbered = (f"name {number}" for number in count(2))
        key = next(one for one in chain(("name",), numbered) if one not in attributes)
        attributes[key] = name
        name = name[: _NAME_LENGTH_MAX - 1] + "…"
        changes.append(
            f"with a name that was cut, at most 500 characters; all of it is its attribute {key}"
        )
    item: dict[str, Any] = {
        "name": name or _NO_NAME,
        "start_ns": record.start_ns,
        "duration_ns": record.duration_ns,
        "depth": min(record.depth or 0, _DEPTH_MAX),
        "track": record.track,
    }
    if record.step is not None and 0 <= record.step <= STEP_MAX:
        item["step"] = record.step
    elif record.step is not None:
        changes.append("without its step: the platform has steps from 0 to 2^63 - 1")
    if record.error is not None:
        attributes.setdefault("error", record.error)
    if attributes:
        item["fields"] = fields_within(attributes, changes, bytes_max=_FIELDS_BYTES_MAX)
    return item, changes


def likeness_of_span(span: Mapping[str, Any]) -> int:
    """Return what a span is known by, whichever way it went."""
    return likeness([span.get(name) for name in _NAMES], span.get("fields"))


def span_facts(span: SpanFacts) -> dict[str, Any]:
    """Return a span of the platform as it was sent."""
    return {name: getattr(span, name) for name in (*_NAMES, "fields")}


class SpansSource(ItemSource):
    """The span file of one producer."""

    kind: ClassVar[LineKind] = "spans"
    what: ClassVar[str] = "span"
    items_max: ClassVar[int] = 5_000

    @staticmethod
    def item_of(row: Row) -> tuple[Item | None, list[str]]:
        """Return the span of a line."""
        return span_of_row(row)

    @staticmethod
    def likeness_of(item: Item) -> Likeness:
        """Return what a span is known by."""
        return Likeness(likeness_of_span(item))

    def there(self, delivery: Delivery) -> Iterator[Likeness]:
        """Ask for the spans that the platform has of the producer."""
        producer = self._producer
        spans = delivery.runs.spans(delivery.run, stream=producer.stream, rank=producer.rank)
        for one in spans:
            yield Likeness(likeness_of_span(span_facts(one)))

    def send(self, delivery: Delivery, items: Sequence[Item], place: Place) -> BatchAnswer:
        """Send spans, in one request."""
        return delivery.runs.send_spans(delivery.run, items, place=place, producer=self._producer)
