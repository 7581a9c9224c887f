"""What the user pinned in the summary: numbers are scalars of the platform, anything else is a tag."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.store.summary_document import read_summary
from mapi.follow.instants import now_us
from mapi.follow.rows import ROUNDED, is_point, is_rounded
from mapi.follow.texts import name_to_keep, plain_value, storable
from mapi.sdk.errors import QuotaExceededError
from mapi.series.config_leaves import param_text
from mapi.series.name_map import series_from_name, without_writer, writer_from_labels
from mapi.series.names import TAG_LENGTH_MAX, canonical_labels, check_tag
from mapi.wire.metrics import SeriesColumns
from mapi.wire.times import TIME_US_MIN, time_to_us
from mapi.wire.values import value_from_wire, values_to_wire

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.store.summary_document import StoredSummary
    from mapi.follow.deliveries import Delivery
    from mapi.sdk.calls import Producer
    from mapi.series.names import Labels

__all__ = ["PINNED", "Pins", "pin_tags"]

#: The label of a scalar that the user pinned in the summary.
PINNED: Final = {"summary": "pinned"}


class Pins:
    """Sends the pins of one producer, each again only when it has changed.

    Args:
        path: of the summary.
        producer: whose it is.
        label: how reports name the producer.
    """

    def __init__(self, path: Path, producer: Producer, *, label: str) -> None:
        self._path = path
        self._producer = producer
        self._label = label
        self._sent: dict[str, float] = {}
        self._there: dict[tuple[str, Labels], tuple[float, int]] | None = None
        self._told: Counter[str] = Counter()

    def send(self, delivery: Delivery, *, time_us: int) -> None:
        """Send what is new or has changed of the summary.

        Args:
            delivery: of the run.
            time_us: when the summary was changed, in microseconds since 1970 UTC.
        """
        summary = read_summary(self._path)
        time_us = min(max(time_us, TIME_US_MIN), now_us())
        for labels, pins in self._changed(summary).items():
            self._send_numbers(delivery, labels, pins, time_us=time_us)
        tags, changes = pin_tags(summary)
        self._tell(delivery, Counter(changes))
        runs, run = delivery.runs, delivery.run
        if not tags:
            return
        there = delivery.call(lambda: runs.tags(run))
        missing = {key: text for key, text in tags.items() if there.get(key) != text}
        if not missing:
            return
        try:
            delivery.call(lambda: runs.set_tags(run, missing))
        except QuotaExceededError as error:
            self._over_budget(delivery, "tags", error.counts.get("rejected", len(missing)))

    def _changed(self, summary: StoredSummary) -> dict[Labels, dict[str, tuple[str, float]]]:
        """Return the pinned numbers that were not sent as they are: name and value, by labels and key."""
        found: dict[Labels, dict[str, tuple[str, float]]] = {}
        for name in sorted(summary.pins):
            value = summary.values[name]
            if is_point(value) and not _is_same(self._sent.get(name), value):
                series, labels = series_from_name(name)
                found.setdefault(labels, {})[series] = name, value
        return found

    def _send_numbers(
        self,
        delivery: Delivery,
        labels: Labels,
        pins: dict[str, tuple[str, float]],
        *,
        time_us: int,
    ) -> None:
        """Send pins of the same labels that the platform has not, in one request.

        The newest of a scalar stays there. A file that is older than what it replaces, as of a clock that
        was set back or a copy, comes at the same time.
        """
        there = self._known(delivery)
        missing: dict[str, float] = {}
        for series, (_, value) in pins.items():
            known = there.get((series, canonical_labels({**dict(labels), **PINNED})))
            if known is None or not _is_same(known[0], value):
                missing[series] = value
                time_us = time_us if known is None else max(time_us, known[1])
        for name, value in pins.values():
            if is_rounded(value):
                delivery.losses.note(f"{self._label}: the pin {name} is {ROUNDED}")
        sent = [
            SeriesColumns(
                **self._identity(series, labels, pins[series][0]),
                times=[time_us],
                values=values_to_wire([float(value)]),
            )
            for series, value in missing.items()
        ]
        runs, run, producer = delivery.runs, delivery.run, self._producer
        try:
            if sent:
                delivery.call(lambda: runs.log_columns(run, sent, producer=producer))
        except QuotaExceededError as error:
            self._over_budget(delivery, "series", error.counts.get("rejected", len(missing)))
        self._sent.update(pins.values())
        for series, value in missing.items():
            place = series, canonical_labels({**dict(labels), **PINNED})
            there[place] = value, time_us

    @staticmethod
    def _identity(key: str, labels: Labels, name: str) -> dict[str, Any]:
        """Return how a pin is sent: by key and labels, but by the name that these have no room for."""
        kept = name_to_keep(name, labels)
        if kept is None:
            return {"key": key, "labels": {**dict(labels), **PINNED}}
        return {"name": kept, "labels": dict(PINNED)}

    def _known(self, delivery: Delivery) -> dict[tuple[str, Labels], tuple[float, int]]:
        """Return value and time of each pinned number that the platform has of the producer."""
        if self._there is None:
            found = delivery.call(lambda: [*delivery.runs.metrics(delivery.run, labels=PINNED)])
            writer = self._producer.stream, self._producer.rank
            self._there = {
                (one.key, without_writer(one.labels)): (
                    value_from_wire(one.last_value),
                    time_to_us(one.last_time),
                )
                for one in found
                if one.is_scalar and writer_from_labels(one.labels) == writer
            }
        return self._there

    def _over_budget(self, delivery: Delivery, budget: str, count: int) -> None:
        reason = f"not taken: over the budget {budget}"
        self._tell(delivery, Counter({reason: count}))

    def _tell(self, delivery: Delivery, reasons: Counter[str]) -> None:
        """Count each thing once: the summary is read again whenever it changes."""
        for reason, count in reasons.items():
            more = count - self._told[reason]
            if more > 0:
                delivery.losses.add(self._label, "pin", reason, count=more)
                self._told[reason] = count


def pin_tags(summary: StoredSummary) -> tuple[dict[str, str], list[str]]:
    """Return the pins that are no numbers as tags, and what had to be changed, a reason each."""
    tags: dict[str, str] = {}
    told: list[str] = []
    for name in sorted(summary.pins):
        value, changes = summary.values[name], list[str]()
        if is_point(value):
            continue
        key = f"summary/{storable(name, changes)}"
        text = param_text(plain_value(value, changes))
        if len(text) > TAG_LENGTH_MAX:
            text = text[: TAG_LENGTH_MAX - 1] + "…"
            changes.append(f"cut: a tag has room for {TAG_LENGTH_MAX} characters")
        if check_tag(key, text) is None:
            tags[key] = text
            told += changes
        else:
            told.append("left out: no tag may be called so")
    return tags, told


def _is_same(one: float | None, other: float) -> bool:
    return one is not None and (one == other or (math.isnan(one) and math.isnan(other)))
