"""`compare`: whether two runs hold the same rows in the default reading, and where they do not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import TrackerError
from expr_tracker.history.location import Producer, producers_of
from expr_tracker.history.retrieval import rows_by_step
from expr_tracker.history.source import Source
from expr_tracker.history.view import View
from expr_tracker.interruption import is_from_signal
from expr_tracker.store.lines import encode_canonical_line
from expr_tracker.texts import refusal_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from expr_tracker.row import Row

__all__ = ["compare"]

#: Differing steps that are named per stream.
_STEPS_LISTED: Final = 5


def compare(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> list[str]:
    """Return what differs between the default readings of two runs; empty if nothing does.

    Raises:
        RunNotFoundError: one of them is no run.
    """
    ours = {producer.key: producer for producer in producers_of(one, "*")}
    theirs = {producer.key: producer for producer in producers_of(other, "*")}
    found = []
    for key in sorted({*ours, *theirs}, key=lambda key: key.order):
        if key not in theirs:
            found.append(f"{key.label}: only in {os.fspath(one)}")
        elif key not in ours:
            found.append(f"{key.label}: only in {os.fspath(other)}")
        else:
            found += [f"{key.label}: {line}" for line in _found(ours[key], theirs[key])]
    return found


def _found(one: Producer, other: Producer) -> list[str]:
    """Return what differs between two streams, or why that cannot be said: it costs the others nothing."""
    try:
        return _differences(one, other)
    except (OSError, TrackerError) as error:
        if is_from_signal(error):
            raise
        where = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        return [f"not compared: {where}{refusal_of(error)}"]


def _differences(one: Producer, other: Producer) -> list[str]:
    listed: list[str] = []
    count = 0
    with Source.offline(one) as left, Source.offline(other) as right:
        left.report_lost()
        right.report_lost()
        for step, mine, theirs in _paired(_rows(left), _rows(right)):
            if (
                mine is not None
                and theirs is not None
                and encode_canonical_line(mine) == encode_canonical_line(theirs)
            ):
                continue
            count += 1
            if count <= _STEPS_LISTED:
                listed.append(f"step {step}: {_difference(mine, theirs)}")
    if count > _STEPS_LISTED:
        listed.append(f"and {count - _STEPS_LISTED} more steps")
    return listed


def _rows(source: Source) -> Iterator[Row]:
    for batch in rows_by_step(source, View(source.index.attempts, None)):
        yield from batch


def _paired(
    left: Iterator[Row], right: Iterator[Row]
) -> Iterator[tuple[int, Row | None, Row | None]]:
    """Yield the rows of both sides by step; ``None`` where one side has no such step."""
    mine, theirs = next(left, None), next(right, None)
    while mine is not None or theirs is not None:
        if theirs is None or (mine is not None and mine["_step"] < theirs["_step"]):
            assert mine is not None
            yield mine["_step"], mine, None
            mine = next(left, None)
        elif mine is None or theirs["_step"] < mine["_step"]:
            yield theirs["_step"], None, theirs
            theirs = next(right, None)
        else:
            yield mine["_step"], mine, theirs
            mine, theirs = next(left, None), next(right, None)


def _difference(mine: Row | None, theirs: Row | None) -> str:
    if mine is None:
        return "only on the other side"
    if theirs is None:
        return "missing on the other side"
    parts = []
    for name in dict.fromkeys([*mine, *theirs]):
        if name not in theirs:
            parts.append(f"{name!r} is missing on the other side")
        elif name not in mine:
            parts.append(f"{name!r} only on the other side")
        elif encode_canonical_line({name: mine[name]}) != encode_canonical_line(
            {name: theirs[name]}
        ):
            parts.append(f"{name!r} {mine[name]!r:.60} != {theirs[name]!r:.60}")
    return "; ".join(parts)
