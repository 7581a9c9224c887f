"""Log lines: appended, immutable, read from the newest back or from a line on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw

from mapi.database.queries import query
from mapi.errors import Fault, InvalidError
from mapi.series.budgets import Drops, fit_sizes
from mapi.series.names import check_log_message
from mapi.tracking.sequence import is_taken
from mapi.tracking.texts import json_text
from mapi.tracking.writing import (
    API,
    Added,
    Counts,
    Sender,
    advance_writer,
    close_writing,
    open_writing,
    taken_seq,
)
from mapi.wire.decoding import FAULTS_MAX, pointer
from mapi.wire.enums import Budget, LogLevel, Source
from mapi.wire.notes import LogLineFacts
from mapi.wire.times import check_time, time_from_us

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.writing import Writing
    from mapi.wire.notes import LogLine

__all__ = [
    "LINE_MAX",
    "LOG_FIELDS_BYTES_MAX",
    "LogQuery",
    "append_lines",
    "checked_lines",
    "drops_of",
    "read_lines",
    "skip_taken",
]

#: What goes with a line is a few values; a document belongs beside the run.
LOG_FIELDS_BYTES_MAX: Final = 65_536
#: A page ends behind the line that fills it: a few hundred of the longest ones.
_PAGE_BYTES_MAX: Final = 8 << 20
#: Above the id of every line.
LINE_MAX: Final = 2**63 - 1
_LEVELS: Final = tuple(LogLevel)


@dataclass(frozen=True, slots=True)
class CheckedLine:
    """A line as it will stand in the log."""

    time: datetime
    level: LogLevel
    message: str
    fields: str | None
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """Which lines are wanted."""

    level: LogLevel = LogLevel.DEBUG
    """The least that matters."""
    text: str = ""
    """What the message holds somewhere, in any case of letters."""
    after: int | None = None
    """Behind which line; ``None`` are the newest."""
    before: int = LINE_MAX
    """Of the newest those before this line; nothing to lines behind one."""
    limit: int = 500


def checked_lines(lines: Sequence[LogLine], *, now_us: int) -> list[CheckedLine]:
    """Return lines that keep every rule.

    Raises:
        InvalidError: a message or its fields are too long, or a time is none.
    """
    found, faults = [], []
    now = time_from_us(now_us)
    for at, line in enumerate(lines):
        wrong = _fault_of(line, pointer("lines", at), now_us)
        if wrong is not None:
            faults.append(wrong)
            if len(faults) == FAULTS_MAX:
                break
            continue
        fields = None
        if line.fields:
            place = pointer("lines", at, "fields")
            fields = json_text(line.fields, place, bytes_max=LOG_FIELDS_BYTES_MAX)
        size = len(line.message.encode()) + len((fields or "").encode())
        found.append(CheckedLine(line.time or now, line.level, line.message, fields, size))
    if faults:
        raise InvalidError(faults)
    return found


def _fault_of(line: LogLine, at: str, now_us: int) -> Fault | None:
    wrong = check_log_message(line.message)
    if wrong is not None:
        return Fault(f"{at}/message", wrong)
    if line.time is not None:
        wrong = check_time(line.time, now_us=now_us)
        if wrong is not None:
            return Fault(f"{at}/time", wrong)
    return None


async def append_lines(
    connection: Connection, run_id: UUID, lines: Sequence[CheckedLine], *, sender: Sender = API
) -> Counts:
    """Append lines in their order.

    With a sequence number, which is that of the first line, lines that were taken before are
    duplicates.

    Raises:
        NotFoundError: there is no such run.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash.
        InvalidError: the run has too many writers.
    """
    writing = await open_writing(connection, run_id, sender)
    skipped, accepted_seq = await skip_taken(writing, len(lines))
    left = lines[skipped:]
    budgets, usage = writing.budgets, writing.usage
    is_kept, lacks_bytes = fit_sizes(
        (budgets.log_lines, budgets.log_bytes),
        stored=(usage.log_lines, usage.log_bytes),
        sizes=[one.size_bytes for one in left],
    )
    kept = [one for one, fits in zip(left, is_kept, strict=True) if fits]
    if kept:
        await connection.execute(
            query("logs.insert"),
            {
                **writing.about,
                "times": [one.time for one in kept],
                "levels": [one.level.value for one in kept],
                "messages": [one.message for one in kept],
                "fields": [one.fields for one in kept],
            },
        )
    rejected_by = {
        skipped + at: Budget.LOG_BYTES if lacks_bytes[at] else Budget.LOG_LINES
        for at, fits in enumerate(is_kept)
        if not fits
    }
    added = Added(log_lines=len(kept), log_bytes=sum(one.size_bytes for one in kept))
    warning = None
    if kept or rejected_by:
        warning = await close_writing(writing, added, drops=drops_of(rejected_by))
    return Counts(
        len(kept),
        skipped,
        rejected=len(rejected_by),
        accepted_seq=accepted_seq,
        rejected_by=rejected_by,
        warning=warning,
    )


async def skip_taken(writing: Writing, count: int) -> tuple[int, int | None]:
    """Return how many of the items were taken before, and up to where the writer is taken now."""
    sender = writing.sender
    seq = sender.seq
    if seq is None:
        return 0, None
    taken = await taken_seq(writing)
    if sender.after is not None:
        # Numbers may be left out between two batches of a queue, so each is taken whole.
        if is_taken(sender, taken):
            return count, taken
        last = seq + max(0, count - 1)
        await advance_writer(writing, last)
        return 0, last
    if not count:
        return 0, taken
    last = seq + count - 1
    if taken is not None and last <= taken:
        return count, taken
    await advance_writer(writing, last)
    return 0 if taken is None else max(0, taken + 1 - seq), last


def drops_of(rejected_by: dict[int, Budget]) -> Drops:
    """Return the drops of a call, in the order in which the budgets were hit."""
    counts: dict[Budget, int] = {}
    for place in sorted(rejected_by):
        counts[rejected_by[place]] = counts.get(rejected_by[place], 0) + 1
    return Drops.of(counts)


async def read_lines(connection: Connection, run_id: UUID, wanted: LogQuery) -> list[LogLineFacts]:
    """Return lines of a run, oldest first."""
    about = {
        "run": run_id,
        "levels": [level.value for level in _LEVELS[_LEVELS.index(wanted.level) :]],
        "text": wanted.text,
        "limit": wanted.limit,
    }
    if wanted.after is None:
        cursor = await connection.execute(
            query("logs.read_newest"), {**about, "before": wanted.before}
        )
        rows = _within_bytes(await cursor.fetchall())[::-1]
    else:
        cursor = await connection.execute(
            query("logs.read_after"), {**about, "after": wanted.after}
        )
        rows = _within_bytes(await cursor.fetchall())
    return [
        LogLineFacts(
            id=row[0],
            time=row[1],
            level=LogLevel(row[2]),
            message=row[3],
            fields=None if row[4] is None else Raw(row[4].encode()),
            source=Source(row[5]),
            stream=row[6],
            rank=row[7],
            user=row[8],
        )
        for row in rows
    ]


def _within_bytes(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    size = 0
    for at, row in enumerate(rows):
        size += len(row[3]) + len(row[4] or "")
        if size > _PAGE_BYTES_MAX:
            return rows[: at + 1]
    return rows
