"""Batches of a queue before they are sent: where they stand, and the server's own rules. No I/O here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import asdict

from mapi.errors import Fault, InvalidError
from mapi.sdk.arguments import items_of, mapping_of, rows_of, shown, text_of, whole_or_none
from mapi.sdk.calls import encoded
from mapi.sdk.checks import checked, checked_time, now_us, plain, raise_any, time_text
from mapi.series.names import check_key, check_labels, check_log_message
from mapi.wire.decoding import BATCH_BYTES_MAX, decode, pointer
from mapi.wire.metrics import MetricsBody, SeriesColumns, check_numbering
from mapi.wire.notes import SpanRow
from mapi.wire.times import check_time_ns, check_time_us, time_from_us

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mapi.sdk.calls import Producer

__all__ = [
    "Place",
    "checked_line",
    "checked_lines",
    "checked_points",
    "checked_spans",
    "columns_of",
    "place_and_producer",
    "query_of_place",
]

#: Of one call of spans, which is checked whole: as much as a run keeps by default.
_SPANS_BYTES_MAX: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a batch stands in what its writer sends."""

    writer: str
    """Who sends: 1 to 500 characters."""
    after: int
    """Where the writer must stand: the ``seq`` of the batch before; -1 for the first."""
    seq: int
    """Where it stands afterwards, 0 or more; as far on as the batch has lines or spans."""


def place_and_producer(
    place: Place, producer: Producer, *, items: int = 0, attempt: bool = False
) -> dict[str, Any]:
    """Return the members of a body that say who sends what.

    Args:
        place: of the batch.
        producer: checked.
        items: how many lines or spans; of those, ``seq`` on the wire is that of the first.
        attempt: whether the route takes one.

    Raises:
        InvalidError: the place is none.
    """
    sent = _numbers_of(place)
    sent["seq"] -= max(0, items - 1)
    sent |= {"stream": producer.stream, "rank": producer.rank}
    if attempt and producer.attempt is not None:
        sent["attempt"] = producer.attempt
    return sent


def query_of_place(place: Place) -> list[tuple[str, str]]:
    """Return the parameters of a query that say where in a queue the body stands.

    Raises:
        InvalidError: the place is none.
    """
    numbers = _numbers_of(place)
    writer = text_of(numbers["writer"], at="/writer")
    check_numbering(writer, numbers["seq"], numbers["after"])
    return [("writer", writer), ("seq", str(place.seq)), ("after", str(place.after))]


def _numbers_of(place: Place) -> dict[str, Any]:
    if not isinstance(place, Place):
        raise InvalidError(
            Fault("/place", f"{shown(place)} is no mapi.Place(writer=..., after=..., seq=...)")
        )
    raise_any(
        Fault(f"/{name}", f"{shown(number)} is no whole number")
        for name, number in (("after", place.after), ("seq", place.seq))
        if whole_or_none(number) is None
    )
    return {"writer": place.writer, "seq": place.seq, "after": place.after}


def checked_points(series: Sequence[SeriesColumns], about: Mapping[str, Any]) -> bytes:
    """Return the body of a batch of points that the server takes.

    Raises:
        InvalidError: with the faults that the server would answer.
    """
    raise_any(fault for at, one in enumerate(series) if (fault := _series_fault(at, one)))
    sent = [
        {
            **({"key": one.key} if one.name is None else {"name": one.name}),
            "labels": one.labels,
            "steps": one.steps,
            "times": one.times,
            "values": one.values,
        }
        for one in series
    ]
    body = encoded({"series": sent, **about})
    decode(body, MetricsBody, bytes_max=BATCH_BYTES_MAX)
    return body


def columns_of(series: object) -> list[SeriesColumns]:
    """Return series in columns, of which each may be written as a mapping.

    Raises:
        InvalidError: something in them is of another kind; with the faults that the server would answer.
    """
    items = items_of(series)
    if items is None:
        what = f"{shown(series)} is no list of series: write [{{'key': ..., 'values': [...]}}]"
        raise InvalidError(Fault("/series", what))
    rows = [
        asdict(one) if isinstance(one, SeriesColumns) else mapping_of(one, at=f"/series/{at}")
        for at, one in enumerate(items)
    ]
    body = checked({"series": rows}, MetricsBody, bytes_max=BATCH_BYTES_MAX)
    return decode(body, MetricsBody, bytes_max=BATCH_BYTES_MAX).series or []


def _series_fault(at: int, one: SeriesColumns) -> Fault | None:
    if one.name is not None:
        if one.key is not None:
            message = "a series has either a key or a name of another tool"
            return Fault(pointer("series", at, "key"), message)
    elif (wrong := check_key(one.key)) is not None:
        return Fault(pointer("series", at, "key"), wrong)
    if (wrong := check_labels(one.labels)) is not None:
        return Fault(pointer("series", at, "labels"), wrong)
    count = len(one.values)
    for name, column in (("steps", one.steps), ("times", one.times)):
        if column is not None and len(column) != count:
            message = f"{len(column)} {name} stand against {count} values: one for each"
            return Fault(pointer("series", at, name), message)
    now = now_us()
    for time_us in (min(one.times), max(one.times)) if one.times else ():
        if (wrong := check_time_us(time_us, now_us=now)) is not None:
            place = one.times.index(time_us) if one.times else 0
            return Fault(pointer("series", at, "times", place), wrong)
    return None


def checked_lines(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return lines of the log as they travel.

    Raises:
        InvalidError: a part breaks its rule.
    """
    rows = [
        checked_line(one, f"/lines/{at}") for at, one in enumerate(rows_of(lines, at="/lines"))
    ]
    raise_any(
        Fault(f"/lines/{at}/message", wrong)
        for at, row in enumerate(rows)
        if (wrong := check_log_message(row.get("message"))) is not None
    )
    return rows


def checked_line(found: Mapping[str, Any], at: str) -> dict[str, Any]:
    """Return a line of the log as it travels.

    Raises:
        InvalidError: its time is none.
    """
    row = dict(found)
    if row.get("fields") is not None:
        row["fields"] = plain(row["fields"])
    time_us = checked_time(row.get("time"), at=f"{at}/time")
    # Said here: a line that is sent again later was logged now.
    row["time"] = row["time"] if row.get("time") is not None else time_from_us(time_us)
    row["time"] = time_text(row["time"], at=f"{at}/time")
    return row


def checked_spans(spans: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return spans as they travel.

    Raises:
        InvalidError: a part breaks its rule.
    """
    rows = rows_of(spans, at="/spans")
    for row in rows:
        if row.get("fields") is not None:
            row["fields"] = plain(row["fields"])
    checked(rows, list[SpanRow], bytes_max=_SPANS_BYTES_MAX)
    now = now_us()
    raise_any(
        Fault(f"/{at}/start_ns", wrong)
        for at, row in enumerate(rows)
        if (wrong := check_time_ns(row["start_ns"], now_us=now)) is not None
    )
    return rows
