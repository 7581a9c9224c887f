"""The lines of the log: what the files of each producer make of them, and what the platform has.

The platform gives the lines of all producers in the order in which they came; those of one file are in
its order. So one pass over the platform's goes along with one over each file.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from expr_tracker.history.source import Source
from expr_tracker.store.reader import LineFile
from mapi.follow.console import line_of_output
from mapi.follow.instants import now_us, was_ahead
from mapi.follow.known import lines_there
from mapi.follow.line_files import rows_of_lines
from mapi.follow.proof.differences import Difference, shown_text
from mapi.follow.proof.json_values import is_same_json
from mapi.follow.proof.lineup import Lineup
from mapi.follow.rows import has_odd_time, points_of_rows
from mapi.follow.texts import line_of_row
from mapi.sdk.checks import plain
from mapi.wire.times import time_from_us, time_to_us

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Collection, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from expr_tracker.history.location import Producer
    from expr_tracker.row import Row
    from mapi.follow.proof.differences import Differences
    from mapi.sdk.synchronous.runs import Runs
    from mapi.wire.notes import LogLineFacts

__all__ = ["Line", "compare_lines", "output_lines", "row_lines", "rows_in"]


@dataclass(frozen=True)
class Line:
    """A line of the log, from either side."""

    message: str
    fields: Any
    time_us: int | None
    """``None``: of the files, where the platform has another one."""
    level: str = "info"
    since_us: int = 0
    """When the platform heard of the run."""

    def is_same(self, other: Line) -> bool:
        """Say whether two lines differ in nothing."""
        return (
            self.message == other.message
            and self.level == other.level
            and (
                self.time_us is None
                or other.time_us is None
                or self.time_us == other.time_us
                or was_ahead(self.time_us, delivered_us=other.time_us, since_us=other.since_us)
            )
            and is_same_json(self.fields, other.fields)
        )

    def is_alike(self, other: Line) -> bool:
        """Say whether it is the same line with other fields or at another time."""
        return self.message == other.message


def row_lines(producer: Producer, differences: Differences) -> Iterator[Line]:
    """Yield what a metrics file makes of the values that are no numbers, in file order."""
    with Source.offline(producer) as source:
        for at, piece in source.pieces(0, source.size):
            yield from _of_rows(source.decode(at, piece), differences)


def rows_in(path: Path, damaged: Counter[str]) -> Iterator[Row]:
    """Yield the objects of a line file, and count the lines that hold none."""
    with contextlib.suppress(FileNotFoundError), LineFile(path) as file:
        for _, piece in file.chunks():
            rows, count = rows_of_lines(piece)
            damaged[path.name] += count
            yield from rows


def output_lines(path: Path, differences: Differences) -> Iterator[Line]:
    """Yield what a console file makes of lines, in file order."""
    for row in rows_in(path, differences.damaged):
        item, changes = line_of_output(row)
        for reason in changes:
            differences.note("line", reason)
        if item is not None:
            time = item.get("time")
            time_us = None if time is None else time_to_us(time)
            yield Line(item["message"], item["fields"], time_us)


def _of_rows(rows: Sequence[Row], differences: Differences) -> Iterator[Line]:
    now = now_us()
    is_odd = any(has_odd_time(row, now_us=now) for row in rows)
    # One by one only where it matters: a row without a time has that of the row before.
    for part in ([row] for row in rows) if is_odd else [rows]:
        has_time = not is_odd or not has_odd_time(part[0], now_us=now)
        for text in points_of_rows(part, now_us=now).texts:
            line, changes = line_of_row(text)
            for reason in changes:
                differences.note("value", reason)
            yield Line(line["message"], plain(line["fields"]), text.time_us if has_time else None)


def compare_lines(
    runs: Runs,
    run: str,
    expected: dict[tuple[str, int], list[Iterator[Line]]],
    *,
    unread: Collection[tuple[str, int]],
    labels: Callable[[str, int], str],
    differences: Differences,
) -> None:
    """Compare the lines of all producers with those of the platform.

    Args:
        runs: of a client.
        run: the platform's run.
        expected: by stream (empty: the default one) and rank, what each file makes of lines.
        unread: streams and ranks with a file that cannot be read: of theirs none is extra.
        labels: how messages name a stream and rank.
        differences: takes in what is found.
    """
    left = {writer: [Lineup(one) for one in found] for writer, found in expected.items()}
    with contextlib.ExitStack() as stack:
        for found in expected.values():
            for one in found:
                stack.callback(getattr(one, "close", lambda: None))
        for there in lines_there(runs, run):
            writer = there.stream, there.rank
            line = _line_of(there, differences)
            is_met = _is_met(left.get(writer, []), line, label=labels(*writer), found=differences)
            if is_met or writer not in unread:
                differences.compare("line")
            if not is_met and writer not in unread:
                _add_extra(line, labels(*writer), differences)
        for (stream, rank), lineups in left.items():
            for lineup in lineups:
                for line in lineup.rest():
                    differences.compare("line")
                    _add_missing(line, labels(stream, rank), differences)


def _line_of(there: LogLineFacts, found: Differences) -> Line:
    return Line(
        there.message,
        there.fields or {},
        time_to_us(there.time),
        there.level.value,
        since_us=found.since_us,
    )


def _is_met(lineups: list[Lineup[Line]], line: Line, *, label: str, found: Differences) -> bool:
    """Say whether a line of the platform is one of the files', and take in what that shows."""
    for look in (Lineup.find, Lineup.find_alike):
        for lineup in lineups:
            match = look(lineup, line)
            if match is None:
                continue
            for passed in match.passed:
                found.compare("line")
                _add_missing(passed, label, found)
            if not match.is_same and match.mine is not None:
                _add_different(match.mine, line, label=label, found=found)
            return True
    return False


def _add_extra(line: Line, label: str, found: Differences) -> None:
    found.add(Difference("line", "extra", label, shown_text(line.message), platform=_text(line)))


def _add_missing(line: Line, label: str, found: Differences) -> None:
    found.add(Difference("line", "missing", label, shown_text(line.message), files=_text(line)))


def _add_different(mine: Line, theirs: Line, *, label: str, found: Differences) -> None:
    name = shown_text(mine.message)
    if not is_same_json(mine.fields, theirs.fields) or mine.level != theirs.level:
        found.add(
            Difference("line", "value", label, name, files=_text(mine), platform=_text(theirs))
        )
        return
    found.add(
        Difference(
            "line", "time", label, name,
            files=str(_time(mine)), platform=str(_time(theirs)),
        )
    )  # fmt: skip


def _time(line: Line) -> datetime | None:
    return None if line.time_us is None else time_from_us(line.time_us)


def _text(line: Line) -> str:
    level = "" if line.level == "info" else f"{line.level}: "
    return shown_text(f"{level}{line.fields or line.message!r}")
