"""The documents of one producer: what it was configured with, what it ran in, what it pinned.

They have no queue: what the platform has is compared with what the files say, and what differs is sent.
Params are written once, so a configuration that a resume replaced stays in them, and the report says so;
the document itself is the newest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from expr_tracker.history.configuration import config_of
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import RunFiles
from expr_tracker.store.summary_document import read_summary
from mapi.errors import InvalidError
from mapi.follow.instants import now_us
from mapi.follow.rows import ROUNDED, is_point, is_rounded
from mapi.follow.texts import plain_value, storable
from mapi.sdk.calls import Producer
from mapi.sdk.errors import NotFoundError, QuotaExceededError
from mapi.series.config_leaves import leaves_from_config, param_text
from mapi.series.name_map import series_from_name
from mapi.series.names import TAG_LENGTH_MAX, check_param, check_tag

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from expr_tracker.row import Row
    from expr_tracker.store.files import StreamKey
    from expr_tracker.store.summary_document import StoredSummary
    from mapi.follow.deliveries import Delivery

__all__ = ["PINNED", "DocumentsSource", "pin_tags"]

#: The label of a scalar that the user pinned in the summary.
PINNED: Final = {"summary": "pinned"}


class DocumentsSource:
    """Configuration, environment and pins of one producer.

    Args:
        directory: of the run.
        key: the producer.
        is_first: whether the run's params are its configuration's.
    """

    def __init__(self, directory: Path, key: StreamKey, *, is_first: bool) -> None:
        self.key = key
        self._directory = directory
        self._files = RunFiles(directory, key)
        self.file = f"{self._files.config.name} and what stands beside it"
        self._producer = Producer(key.stream or "", key.rank)
        self._is_first = is_first
        self._seen: tuple[int, ...] = ()

    def size_bytes(self) -> int:
        """Return a number that changes with the documents; they are no part of what a bar shows."""
        return sum(self._look())

    def deliver(self, delivery: Delivery, told: Callable[[int], object]) -> None:
        """Send what differs from what the platform has, if a file has changed since the last look."""
        del told
        seen = self._look()
        if seen == self._seen:
            return
        config = read_document(self._files.config)
        self._put(delivery, "config", config)
        self._put(delivery, "environment", read_document(self._files.environment))
        if self._is_first:
            self._write_params(delivery, config_of(self._directory))
        self._send_pins(delivery, time_us=seen[-1] // 1_000)
        self._seen = seen

    def _look(self) -> tuple[int, ...]:
        """Return when each document was changed, in nanoseconds; the summary is the last."""
        files = self._files
        return tuple(map(_changed, (files.config, files.environment, files.summary)))

    def _put(self, delivery: Delivery, name: str, document: Row | None) -> None:
        if not document:
            return
        changes: list[str] = []
        wanted = plain_value(document, changes)
        runs, run, producer = delivery.runs, delivery.run, self._producer
        put = runs.put_config if name == "config" else runs.put_environment
        get = runs.config if name == "config" else runs.environment
        try:
            if delivery.call(lambda: get(run, producer=producer)) == wanted:
                return
        except NotFoundError:
            pass
        try:
            delivery.call(lambda: put(run, wanted, producer=producer))
        except InvalidError as error:
            delivery.losses.note(f"{self.key.label}: the {name} is not kept: {error}")
        for reason in changes:
            delivery.losses.add(self.key.label, f"value of the {name}", reason)

    def _write_params(self, delivery: Delivery, config: Row) -> None:
        """Write the leaves of the configuration that the platform does not have."""
        losses, runs, run = delivery.losses, delivery.runs, delivery.run
        changes: list[str] = []
        try:
            leaves = leaves_from_config(plain_value(config, changes))
        except InvalidError as error:
            losses.note(f"the configuration is in no params: {error}")
            return
        known = delivery.call(lambda: runs.params(run)) if leaves else {}
        missing = {}
        for name, text in leaves.items():
            if name in known:
                if known[name].text != text:
                    losses.note(
                        f"the param {name} stays {known[name].text[:80]!r}, which came first; the "
                        f"configuration says {text[:80]!r} now"
                    )
            elif (wrong := check_param(name, text)) is not None:
                losses.note(f"the setting {name[:80]} is no param: {wrong}")
            else:
                missing[name] = text
        if not missing:
            return
        try:
            delivery.call(lambda: runs.log_params(run, missing))
        except QuotaExceededError as error:
            rejected = error.counts.get("rejected", 0)
            losses.add(
                self.key.label, "param", "not taken: over the budget params", count=rejected
            )

    def _send_pins(self, delivery: Delivery, *, time_us: int) -> None:
        """Send what the user pinned: numbers as scalars, anything else as tags."""
        summary = read_summary(self._files.summary)
        runs, run, producer = delivery.runs, delivery.run, self._producer
        tags, refused = pin_tags(summary)
        time = min(max(time_us, 0), now_us())
        for name in sorted(summary.pins):
            value = summary.values[name]
            if not is_point(value):
                continue
            if is_rounded(value):
                delivery.losses.note(f"{self.key.label}: the pin {name} is {ROUNDED}")
            series, labels = series_from_name(name)
            pin = partial(
                runs.log_metric,
                run,
                series,
                value,
                labels={**dict(labels), **PINNED},
                time=time,
                producer=producer,
            )
            try:
                delivery.call(pin)
            except QuotaExceededError:
                delivery.losses.add(self.key.label, "pin", "not taken: over a budget")
        delivery.losses.add(
            self.key.label, "pin", "left out: no tag may be called so", count=refused
        )
        if tags and any(
            delivery.call(lambda: runs.tags(run)).get(key) != text for key, text in tags.items()
        ):
            delivery.call(lambda: runs.set_tags(run, tags))


def pin_tags(summary: StoredSummary) -> tuple[dict[str, str], int]:
    """Return the pins that are no numbers as tags, and how many of them no tag may be called after."""
    tags: dict[str, str] = {}
    refused = 0
    for name in sorted(summary.pins):
        value, changes = summary.values[name], list[str]()
        if is_point(value):
            continue
        key = f"summary/{storable(name, changes)}"
        text = param_text(plain_value(value, changes))[:TAG_LENGTH_MAX]
        if check_tag(key, text) is None:
            tags[key] = text
        else:
            refused += 1
    return tags, refused


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
