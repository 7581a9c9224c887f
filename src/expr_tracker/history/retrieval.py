"""Which blocks of a stream a question needs, and the rows that answer it.

The zone map bounds the reading: the newest steps come from the tail, plus those older blocks whose
zone holds one of them. One late or repeated step costs one more block, never the whole file.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from expr_tracker.history.view import Key, View, merge_into, sorted_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from expr_tracker.history.question import Question
    from expr_tracker.history.source import Source
    from expr_tracker.row import Row

__all__ = ["highest_step", "rows_by_step", "rows_of"]

#: The first guess of the tail is this much longer than the lines it should hold.
_TAIL_SLACK: Final = 1.125
_TAIL_BYTES_MIN: Final = 1024
#: Rows handed over together by `rows_by_step`: large enough to be written as one table.
_BATCH_ROWS: Final = 16_384


def rows_of(source: Source, question: Question, view: View) -> list[Row]:
    """Return the merged rows that answer the question, ascending, every column in them."""
    if question.is_empty:
        return []
    if question.n is not None and not question.has_range:
        return _newest(source, question.n, view)
    if question.n is not None and not view.is_by_attempt:
        return _highest(source, view, question, n=question.n)
    rows = _range(source, question, view)
    return rows if question.n is None else rows[max(0, len(rows) - question.n) :]


def highest_step(source: Source) -> int | None:
    """Return the highest step that the default reading shows of committed rows, if there is any."""
    index = source.index
    cuts = [attempt.from_step for attempt in index.attempts if attempt.from_step is not None]
    if index.max_step is None or not cuts:
        return index.max_step
    # Where an attempt begins at a step and has no row yet, the index counts the step before it.
    if index.attempt_max_step is not None and index.attempt_max_step >= cuts[-1]:
        return index.attempt_max_step
    view = View(index.attempts, None)
    found: int | None = None
    for block in sorted(index.blocks(), key=lambda block: -block.high):
        if found is not None and block.high <= found:
            break
        for stretch in view.stretches(block.start, block.stop):
            for step, _ in view.keyed(source.rows(stretch.start, stretch.stop), stretch):
                found = step if found is None else max(found, step)
    return found


def _newest(source: Source, n: int, view: View) -> list[Row]:
    """Return the ``n`` steps that were written last."""
    wanted: dict[Key, None] = {}
    open_key = view.open_key(source.open_row) if source.open_row is not None else None
    if open_key is not None:
        wanted[open_key] = None
    end = source.size
    tail: list[list[tuple[Key, Row]]] = []
    size = _first_guess(source, n)
    while end > 0 and len(wanted) < n:
        start = source.line_start(max(0, end - size), end)
        if start is None:
            size *= 4  # one line longer than the piece
            continue
        for stretch in view.stretches_backward(start, end):
            rows = source.rows(stretch.start, stretch.stop)
            keyed = view.keyed(rows, stretch)
            tail.append(keyed)
            _want(wanted, keyed, n)
        end = start
        size *= 4
    has_older = end > 0 and _may_have_older_lines(source, open_key)
    if len(tail) == 1 and open_key is None and not has_older and not view.is_by_attempt:
        rows_by_key = dict(tail[0])
        if len(rows_by_key) == len(tail[0]):  # one line a step: nothing to merge
            return [rows_by_key[key] for key in sorted(wanted)]
    merged = _older(source, view, wanted, end=end) if has_older else {}
    _merge_tail(merged, tail, wanted)
    if open_key is not None and source.open_row is not None:
        merge_into(merged, open_key, source.open_row)
    return sorted_rows(merged, view, wanted.__contains__)


def _merge_tail(
    merged: dict[Key, Row], tail: list[list[tuple[Key, Row]]], wanted: dict[Key, None]
) -> None:
    """Add the wanted lines of the tail, whose newest piece comes first."""
    for keyed in reversed(tail):
        for key, row in keyed:
            if key in wanted:
                merge_into(merged, key, row)


def _may_have_older_lines(source: Source, open_key: Key | None) -> bool:
    """Say whether a step of the tail may have lines before it."""
    index = source.index
    if index.has_repeats:
        return True
    if open_key is None or source.open_row is None or index.max_step is None:
        return False
    open_step: int = source.open_row["_step"]
    return open_step <= index.max_step


def _first_guess(source: Source, n: int) -> int:
    lines = source.index.lines
    average = source.index.size / lines if lines else 0
    return max(_TAIL_BYTES_MIN, int(n * average * _TAIL_SLACK))


def _want(wanted: dict[Key, None], keyed: list[tuple[Key, Row]], n: int) -> None:
    for key, _ in reversed(keyed):
        if len(wanted) >= n:
            return
        wanted[key] = None


def _older(source: Source, view: View, wanted: dict[Key, None], *, end: int) -> dict[Key, Row]:
    """Return the merged lines of the wanted keys that stand before the tail at ``end``."""
    merged: dict[Key, Row] = {}
    steps = sorted({view.step_of(key) for key in wanted})
    if not steps:
        return merged
    for block in source.index.blocks_between(steps[0], steps[-1]):
        if block.start >= end:
            break
        first = bisect_left(steps, block.low)
        if first == len(steps) or steps[first] > block.high:
            continue
        for stretch in view.stretches(block.start, min(block.stop, end)):
            for key, row in view.keyed(source.rows(stretch.start, stretch.stop), stretch):
                if key in wanted:
                    merge_into(merged, key, row)
    return merged


def _in_range(question: Question, step: int) -> bool:
    return (question.low is None or step >= question.low) and (
        question.high is None or step < question.high
    )


def _highest(source: Source, view: View, question: Question, *, n: int) -> list[Row]:
    """Return the ``n`` highest steps of the range."""
    last = None if question.high is None else question.high - 1
    blocks = sorted(source.index.blocks_between(question.low, last), key=lambda block: -block.high)
    found: set[Key] = set()
    read: list[tuple[int, list[tuple[Key, Row]]]] = []
    open_key = view.open_key(source.open_row) if source.open_row is not None else None
    if open_key is not None and _in_range(question, open_key):
        found.add(open_key)
    threshold: int | None = None
    for block in blocks:
        if threshold is not None and block.high < threshold:
            break
        for stretch in view.stretches(block.start, block.stop):
            keyed = [
                (step, row)
                for step, row in view.keyed(source.rows(stretch.start, stretch.stop), stretch)
                if _in_range(question, step) and (threshold is None or step >= threshold)
            ]
            read.append((stretch.start, keyed))
            found.update(step for step, _ in keyed)
        if len(found) >= n:
            found = set(sorted(found)[-n:])
            threshold = min(found)
    read.sort(key=lambda part: part[0])
    merged: dict[Key, Row] = {}
    for _, keyed in read:
        for key, row in keyed:
            if key in found:
                merge_into(merged, key, row)
    if open_key is not None and open_key in found and source.open_row is not None:
        merge_into(merged, open_key, source.open_row)
    return sorted_rows(merged, view, found.__contains__)


def _range(source: Source, question: Question, view: View) -> list[Row]:
    """Return every step of the range, or of the stream."""
    merged: dict[Key, Row] = {}
    in_order: list[Row] = []
    for start, stop in _joined_blocks(source, question):
        for stretch in view.stretches(start, stop):
            for at, piece in source.pieces(stretch.start, stretch.stop):
                rows = source.decode(at, piece)
                if not merged and not view.is_by_attempt and not question.has_range:
                    if stretch.cut is None and _goes_on(in_order, rows):
                        in_order += rows
                        continue
                    # The first line out of order: from here on rows are found by their step.
                    merged = {row["_step"]: row for row in in_order}
                    in_order = []
                for key, row in view.keyed(rows, stretch):
                    merge_into(merged, key, row)
    if in_order:
        return _with_open(source, view, in_order)
    open_key = view.open_key(source.open_row) if source.open_row is not None else None
    if open_key is not None and source.open_row is not None:
        merge_into(merged, open_key, source.open_row)
    return sorted_rows(merged, view, lambda key: _in_range(question, view.step_of(key)))


def _goes_on(earlier: list[Row], rows: list[Row]) -> bool:
    """Say whether ``rows`` only add higher steps."""
    steps = [row["_step"] for row in rows]
    if not steps:
        return True
    if earlier and earlier[-1]["_step"] >= steps[0]:
        return False
    return all(map(int.__lt__, steps, steps[1:]))


def _with_open(source: Source, view: View, rows: list[Row]) -> list[Row]:
    row = source.open_row
    if row is None or view.open_key(row) is None:
        return rows
    if row["_step"] > rows[-1]["_step"]:
        return [*rows, row]
    merged = {each["_step"]: each for each in rows}
    merge_into(merged, row["_step"], row)
    return sorted_rows(merged, view, lambda _: True)


def _joined_blocks(source: Source, question: Question) -> list[tuple[int, int]]:
    """Return the ranges of bytes that may hold the question's steps."""
    if not question.has_range:
        return [(0, source.size)]
    last = None if question.high is None else question.high - 1
    joined: list[tuple[int, int]] = []
    for block in source.index.blocks_between(question.low, last):
        if joined and joined[-1][1] == block.start:
            joined[-1] = (joined[-1][0], block.stop)
        else:
            joined.append((block.start, block.stop))
    return joined


def rows_by_step(source: Source, view: View) -> Iterator[list[Row]]:
    """Yield all merged rows in batches, ascending by key, without holding the stream.

    Blocks are read in the order of their lowest step, and a row is handed over as soon as no
    unread block can hold another line of it. Memory holds the blocks that overlap: a file whose
    steps are in order needs one, a rewound one two; only steps in random order need them all.
    Reading ``attempt="all"`` goes attempt by attempt and is not offered here.
    """
    assert not view.is_by_attempt
    waiting: dict[int, list[tuple[int, int, Row]]] = {}
    steps: list[int] = []  # a heap of what waits
    batch: list[Row] = []
    blocks = sorted(source.index.blocks_between(None, None), key=lambda block: block.low)
    open_key = view.open_key(source.open_row) if source.open_row is not None else None
    if open_key is not None and source.open_row is not None:
        waiting[open_key] = [(source.size, 0, source.open_row)]
        steps.append(open_key)
    for block in blocks:
        batch += _ready(waiting, steps, block.low)
        while len(batch) >= _BATCH_ROWS:
            yield batch[:_BATCH_ROWS]
            batch = batch[_BATCH_ROWS:]
        for stretch in view.stretches(block.start, block.stop):
            keyed = view.keyed(source.rows(stretch.start, stretch.stop), stretch)
            for ordinal, (step, row) in enumerate(keyed):
                if step not in waiting:
                    waiting[step] = []
                    heappush(steps, step)
                waiting[step].append((stretch.start, ordinal, row))
    batch += _ready(waiting, steps, None)
    for start in range(0, len(batch), _BATCH_ROWS):
        yield batch[start : start + _BATCH_ROWS]


def _ready(
    waiting: dict[int, list[tuple[int, int, Row]]], steps: list[int], below: int | None
) -> list[Row]:
    """Take out and merge the rows whose step is below ``below`` (all of them for ``None``)."""
    rows = []
    while steps and (below is None or steps[0] < below):
        step = heappop(steps)
        lines = waiting.pop(step)
        if len(lines) > 1:
            lines.sort(key=lambda line: line[:2])
            merged: dict[Key, Row] = {}
            for _, _, row in lines:
                merge_into(merged, step, row)
            rows.append(merged[step])
        else:
            rows.append(lines[0][2])
    return rows
