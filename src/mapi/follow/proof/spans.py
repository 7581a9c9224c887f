"""The spans: a file has them by their ends, the platform by their starts.

So both are compared as sets. Memory holds a number for each span of the file, not the span.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.reader import whole_rows
from mapi.follow.proof.differences import Difference, shown_text
from mapi.follow.spans import span_of_row
from mapi.sdk.checks import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mapi.follow.line_files import Item
    from mapi.follow.proof.differences import Differences
    from mapi.sdk.synchronous.runs import Runs

__all__ = ["compare_spans"]

#: Up to here floats are the integers that they seem to be.
_EXACT_INTEGERS: Final = 2**53
_NAMES: Final = ("name", "start_ns", "duration_ns", "depth", "track", "step", "fields")


def compare_spans(
    runs: Runs, run: str, directory: Path, *, keys: Iterable[StreamKey], differences: Differences
) -> None:
    """Compare the spans of all producers with those that the platform has.

    Args:
        runs: of a client.
        run: the platform's run.
        directory: of the files.
        keys: the producers that have spans there.
        differences: takes in what is found.
    """
    paths = {key: RunFiles(directory, key).spans for key in keys}
    left: Counter[tuple[StreamKey, int]] = Counter()
    for key, path in paths.items():
        for item, changes in _items(path):
            for reason in changes:
                differences.note("span", reason)
            if item is not None:
                differences.compare("span")
                left[key, _number(item)] += 1
    for there in runs.spans(run):
        key = StreamKey(there.stream or None, there.rank)
        item = {name: getattr(there, name) for name in _NAMES}
        place = key, _number(item)
        if left.get(place, 0) > 0:
            left[place] -= 1
            continue
        differences.compare("span")
        differences.add(
            Difference("span", "extra", key.label, there.name, there.step, platform=_text(item))
        )
    missing = +left
    for key in {key for key, _ in missing}:
        for item, _ in _items(paths[key]):
            if item is not None and missing[key, number := _number(item)] > 0:
                missing[key, number] -= 1
                name, step = item["name"], item.get("step")
                differences.add(
                    Difference("span", "missing", key.label, name, step, files=_text(item))
                )


def _items(path: Path) -> Iterator[tuple[Item | None, list[str]]]:
    try:
        for row in whole_rows(path):
            yield span_of_row(row)
    except FileNotFoundError:  # taken away meanwhile
        return


def _number(item: Item) -> int:
    """Return what is the same for the same span, whichever way it went."""
    fields = _canonical(plain(item.get("fields") or None))
    parts = [item.get(name) for name in _NAMES[:-1]]
    content = msgspec.json.encode([*parts, fields])
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")


def _canonical(value: Any) -> Any:
    """Return JSON with its names sorted, and numbers spelled one way."""
    if isinstance(value, dict):
        return [[name, _canonical(value[name])] for name in sorted(value)]
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
        exact = abs(number) <= _EXACT_INTEGERS and number.is_integer()
        return int(value) if exact else repr(number)
    return value


def _text(item: Item) -> str:
    started, took = item["start_ns"], item["duration_ns"]
    return shown_text(f"{took} ns from {started} ns on, {item.get('fields') or {}}")
