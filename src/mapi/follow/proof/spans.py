"""The spans: a file has them by their ends, the platform by their starts.

So both are compared as sets. Memory holds a number for each span of the file, not the span.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING

from expr_tracker.store.files import RunFiles, StreamKey
from mapi.follow.proof.differences import Difference, shown_text
from mapi.follow.proof.lines import rows_in
from mapi.follow.spans import likeness_of_span, span_facts, span_of_row
from mapi.wire.times import check_time_ns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from mapi.follow.items import Item
    from mapi.follow.proof.differences import Differences
    from mapi.sdk.synchronous.runs import Runs

__all__ = ["compare_spans"]


def compare_spans(
    runs: Runs,
    run: str,
    directory: Path,
    *,
    keys: Iterable[StreamKey],
    unread: Collection[StreamKey],
    differences: Differences,
) -> None:
    """Compare the spans of all producers with those that the platform has.

    Args:
        runs: of a client.
        run: the platform's run.
        directory: of the files.
        keys: the producers that have spans there.
        unread: those of them whose files cannot be read.
        differences: takes in what is found.
    """
    paths = {key: RunFiles(directory, key).spans for key in keys if key not in unread}
    left: Counter[tuple[StreamKey, int]] = Counter()
    for key, path in paths.items():
        for item, changes in _items(path, differences.damaged):
            for reason in changes:
                differences.note("span", reason)
            if item is not None:
                differences.compare("span")
                left[key, likeness_of_span(item)] += 1
    for there in runs.spans(run):
        key = StreamKey(there.stream or None, there.rank)
        if key in unread:
            continue
        item = span_facts(there)
        place = key, likeness_of_span(item)
        if left.get(place, 0) > 0:
            left[place] -= 1
            continue
        differences.compare("span")
        differences.add(
            Difference("span", "extra", key.label, there.name, there.step, platform=_text(item))
        )
    _add_missing(+left, paths, differences)


def _add_missing(
    missing: Counter[tuple[StreamKey, int]],
    paths: Mapping[StreamKey, Path],
    differences: Differences,
) -> None:
    """Take in the spans of the files that the platform has not."""
    for key in {key for key, _ in missing}:
        for item, _ in _items(paths[key], Counter()):
            if item is not None and missing[key, number := likeness_of_span(item)] > 0:
                missing[key, number] -= 1
                if _was_ahead(item, paths[key]):
                    differences.note("span", "left out: no clock can have shown when it began")
                    continue
                name, step = item["name"], item.get("step")
                differences.add(
                    Difference("span", "missing", key.label, name, step, files=_text(item))
                )


def _items(path: Path, damaged: Counter[str]) -> Iterator[tuple[Item | None, list[str]]]:
    return map(span_of_row, rows_in(path, damaged))


def _was_ahead(item: Item, path: Path) -> bool:
    """Say whether a span began later than the platform takes it, as seen when its file was written last."""
    with contextlib.suppress(FileNotFoundError):
        return check_time_ns(item["start_ns"], now_us=path.stat().st_mtime_ns // 1_000) is not None
    return False


def _text(item: Item) -> str:
    started, took = item["start_ns"], item["duration_ns"]
    return shown_text(f"{took} ns from {started} ns on, {item.get('fields') or {}}")
