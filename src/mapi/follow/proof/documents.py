"""What is no line of a file: configuration, environment, params, and what the user pinned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from expr_tracker.history.configuration import config_of
from expr_tracker.store.documents import read_document
from expr_tracker.store.enclosure import leads_out
from expr_tracker.store.files import RunFiles
from expr_tracker.store.summary_document import read_summary
from mapi.errors import InvalidError
from mapi.follow.documents import NotKeptError, kept_document
from mapi.follow.pins import PINNED, pin_tags
from mapi.follow.proof.differences import Difference, shown_text
from mapi.follow.proof.json_values import is_same_json
from mapi.follow.rows import ROUNDED, is_point, is_rounded
from mapi.follow.texts import plain_value
from mapi.sdk.calls import Producer
from mapi.sdk.errors import NotFoundError
from mapi.series.config_leaves import leaves_from_config
from mapi.series.name_map import series_from_name, with_writer, writer_from_labels
from mapi.series.names import canonical_labels, check_param
from mapi.wire.values import value_from_wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from expr_tracker.store.files import StreamKey
    from mapi.follow.proof.differences import Differences, Kind
    from mapi.sdk.synchronous.runs import Runs
    from mapi.series.names import Labels
    from mapi.wire.metrics import SeriesSummary

__all__ = ["compare_documents"]


def compare_documents(
    runs: Runs,
    run: str,
    directory: Path,
    *,
    keys: Sequence[StreamKey],
    scalars: Iterable[SeriesSummary],
    differences: Differences,
) -> None:
    """Compare documents, params and pins with what the platform has.

    Tags that others gave the run are none of its files', so more of them is no difference.

    Args:
        runs: of a client.
        run: the platform's run.
        directory: of the files.
        keys: the producers.
        scalars: values without a step that the platform has.
        differences: takes in what is found.
    """
    proof = _Proof(runs, run, differences)
    tags: dict[str, str] = {}
    pins: dict[tuple[str, Labels], tuple[StreamKey, str, float]] = {}
    for key in keys:
        files = RunFiles(directory, key)
        for name, path in (("config", files.config), ("environment", files.environment)):
            if leads_out(path):
                read_document(path)  # refused, and told so
                continue
            with differences.part(path.name):
                proof.compare_document(name, read_document(path), key)
        summary = read_summary(files.summary)
        for name in sorted(summary.pins):
            value = summary.values[name]
            if is_point(value):
                differences.note("pin", ROUNDED, count=is_rounded(value))
                series, labels = series_from_name(name)
                pinned = canonical_labels({**dict(labels), **PINNED})
                whose = with_writer(pinned, stream=key.stream or "", rank=key.rank)
                pins[series, whose] = key, name, float(value)
        of_pins, changes = pin_tags(summary)
        tags |= of_pins
        for reason in changes:
            differences.note("pin", reason)
    # What a summary says that is not read is not known: nothing of it is extra.
    unknown = {
        (key.stream or "", key.rank) for key in keys if leads_out(RunFiles(directory, key).summary)
    }
    known = [one for one in scalars if writer_from_labels(one.labels) not in unknown]
    with differences.part("pins"):
        proof.compare_pins(pins, known)
        proof.compare_tags(tags)
    with differences.part("params"):
        if any(leads_out(RunFiles(directory, key).config) for key in keys):
            return
        older = [one for key in keys for one in _replaced(RunFiles(directory, key).config)]
        proof.compare_params(config_of(directory), older)


def _replaced(config: Path) -> Iterator[dict[str, Any]]:
    """Yield the configurations that later attempts replaced."""
    for path in config.parent.glob(f"{config.name.removesuffix('.json')}._attempt*.json"):
        yield read_document(path) or {}


def _leaves(config: dict[str, Any]) -> dict[str, str]:
    try:
        return leaves_from_config(plain_value(config, []))
    except InvalidError:  # too many, or too deep
        return {}


class _Proof:
    """Compares one run's documents."""

    def __init__(self, runs: Runs, run: str, differences: Differences) -> None:
        self._runs = runs
        self._run = run
        self._differences = differences

    def compare_document(self, name: str, document: dict[str, Any] | None, key: StreamKey) -> None:
        producer = Producer(key.stream or "", key.rank)
        get = self._runs.config if name == "config" else self._runs.environment
        try:
            there: dict[str, Any] | None = get(self._run, producer=producer)
        except NotFoundError:
            there = None
        changes: list[str] = []
        try:
            mine = kept_document(document, changes) if document else None
        except NotKeptError as error:
            self._differences.note("", f"{key.label}: the {name} is not kept: {error}")
            return
        for reason in changes:
            self._differences.note(f"value of the {name}", reason)
        if mine is None and there is None:
            return
        self._differences.compare("document")
        if mine is None or there is None:
            kind: Kind = "extra" if mine is None else "missing"
            self._add("document", kind, name, mine=mine, theirs=there, key=key)
            return
        for member in sorted({*mine, *there}):
            ours, theirs = mine.get(member), there.get(member)
            if not is_same_json(ours, theirs):
                self._add(
                    "document", "value", f"{name}: {member}", mine=ours, theirs=theirs, key=key
                )

    def compare_pins(
        self,
        pins: dict[tuple[str, Labels], tuple[StreamKey, str, float]],
        scalars: Iterable[SeriesSummary],
    ) -> None:
        for there in scalars:
            self._differences.compare("scalar")
            mine = pins.pop((there.key, canonical_labels(there.labels)), None)
            value = value_from_wire(there.last_value)
            if mine is None:
                self._add("scalar", "extra", there.name, mine=None, theirs=value)
                continue
            key, name, pinned = mine
            if pinned != value and not (math.isnan(pinned) and math.isnan(value)):
                self._add("scalar", "value", name, mine=pinned, theirs=value, key=key)
        for key, name, pinned in pins.values():
            self._differences.compare("scalar")
            self._add("scalar", "missing", name, mine=pinned, theirs=None, key=key)

    def compare_tags(self, tags: Mapping[str, str]) -> None:
        there = self._runs.tags(self._run) if tags else {}
        for name, text in tags.items():
            self._differences.compare("tag")
            if there.get(name) != text:
                kind: Kind = "missing" if name not in there else "value"
                self._add("tag", kind, name, mine=text, theirs=there.get(name))

    def compare_params(self, config: dict[str, Any], older: Iterable[dict[str, Any]]) -> None:
        there = {name: one.text for name, one in self._runs.params(self._run).items()}
        before = {leaf for document in older for leaf in _leaves(document).items()}
        for name, text in _leaves(config).items():
            if check_param(name, text) is not None:
                self._differences.note(
                    "setting", "is no param: the platform takes none of its kind"
                )
                continue
            self._differences.compare("param")
            theirs = there.pop(name, None)
            if theirs != text and (name, theirs) in before:
                self._differences.note(
                    "param", "as an earlier attempt had it: what came first stays"
                )
            elif theirs != text:
                self._add(
                    "param",
                    "missing" if theirs is None else "value",
                    name,
                    mine=text,
                    theirs=theirs,
                )
        for name, text in there.items():
            self._differences.compare("param")
            if (name, text) in before:
                self._differences.note(
                    "param", "of an earlier attempt alone: what came first stays"
                )
                continue
            self._add("param", "extra", name, mine=None, theirs=text)

    def _add(
        self,
        what: str,
        kind: Kind,
        name: str,
        *,
        mine: object,
        theirs: object,
        key: StreamKey | None = None,
    ) -> None:
        self._differences.add(
            Difference(
                what,
                kind,
                "" if key is None else key.label,
                shown_text(name),
                files=None if mine is None else shown_text(mine),
                platform=None if theirs is None else shown_text(theirs),
            )
        )
