"""The documents of one producer: what it was configured with, what it ran in, what it pinned.

They have no queue: what the platform has is compared with what the files say, and what differs is sent.
Params are written once, so a configuration that a resume replaced stays in them, and the report says so;
the document itself is the newest.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from expr_tracker.history.configuration import config_of
from expr_tracker.interruption import is_from_signal
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import RunFiles
from mapi.errors import InvalidError
from mapi.follow.deliveries import DeliveryError
from mapi.follow.faults import said
from mapi.follow.pins import Pins
from mapi.follow.texts import plain_value
from mapi.sdk.calls import Producer
from mapi.sdk.errors import NotFoundError, QuotaExceededError
from mapi.series.config_leaves import leaves_from_config
from mapi.series.names import check_param
from mapi.wire.notes import DOCUMENT_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from expr_tracker.row import Row
    from expr_tracker.store.files import StreamKey
    from mapi.follow.deliveries import Delivery

__all__ = ["DocumentsSource", "NotKeptError", "kept_document"]


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
        self._pins = Pins(self._files.summary, self._producer, label=key.label)
        self._seen: tuple[int, ...] = ()
        self.problems: list[str] = []

    def size_bytes(self) -> int:
        """Return a number that changes with the documents; they are no part of what a bar shows."""
        return sum(self._look())

    def deliver(self, delivery: Delivery, told: Callable[[int], object]) -> None:
        """Send what differs from what the platform has, if a file has changed since the last look."""
        del told
        seen = self._look()
        if seen == self._seen:
            return
        steps: list[Callable[[], None]] = [
            partial(self._put, delivery, "config", self._files.config),
            partial(self._put, delivery, "environment", self._files.environment),
            partial(self._write_params, delivery),
            partial(self._pins.send, delivery, time_us=seen[-1] // 1_000),
        ]
        failed: list[Exception] = []
        for step in steps:
            try:
                step()
            except DeliveryError:
                raise
            except Exception as error:
                # One of them costs the others nothing.
                if is_from_signal(error):
                    raise
                failed.append(error)
        self.problems = [f"{self.key.label}: {said(other)}" for other in failed[1:]]
        if failed:
            raise failed[0]
        self._seen = seen

    def _look(self) -> tuple[int, ...]:
        """Return when each document was changed, in nanoseconds; the summary is the last."""
        files = self._files
        return tuple(map(_changed, (files.config, files.environment, files.summary)))

    def _put(self, delivery: Delivery, name: str, path: Path) -> None:
        document = read_document(path)
        if not document:
            return
        changes: list[str] = []
        try:
            wanted = kept_document(document, changes)
        except NotKeptError as error:
            delivery.losses.note(f"{self.key.label}: the {name} is not kept: {error}")
            return
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

    def _write_params(self, delivery: Delivery) -> None:
        """Write the leaves of the configuration that the platform does not have."""
        if not self._is_first:
            return
        config = config_of(self._directory)
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


class NotKeptError(Exception):
    """The platform keeps no such document; the text says why."""


def kept_document(document: Row, changes: list[str]) -> Row:
    """Return a document as the platform keeps it; what had to be changed is told, a reason each.

    Raises:
        NotKeptError: it keeps none of it.
    """
    wanted: Row = plain_value(document, changes)
    size = len(json.dumps(wanted, ensure_ascii=False, separators=(",", ":")).encode())
    if size > DOCUMENT_BYTES_MAX:
        raise NotKeptError(f"it has {size} bytes of JSON, and the platform keeps at most 1 MiB")
    return wanted


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
