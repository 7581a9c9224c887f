"""A write on its way into the log of one run: the run's row is locked, and its budgets are known.

Whatever writes to a run begins with `open_writing` and ends with `close_writing`, in one
transaction: so the writers of a run wait for each other in one place, its counters and its change
number are right, and what a budget dropped is told in the one warning of its family.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError, StateError
from mapi.series.budgets import Budgets, Drops, merged_budgets, warning_text
from mapi.wire.enums import RunKind, Scope, Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from psycopg.rows import TupleRow

    from mapi.access.rights import Principal
    from mapi.database.door import Connection
    from mapi.wire.enums import Budget

__all__ = [
    "API",
    "WRITERS_MAX",
    "Added",
    "Counts",
    "Sender",
    "Usage",
    "Writing",
    "advance_writer",
    "ask_for_run",
    "close_writing",
    "known_seq",
    "list_writers",
    "open_writing",
    "record_drops",
    "taken_seq",
]

#: Writers of one run whose sequence numbers are kept: a stream and rank of an attempt has a few.
WRITERS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who writes, and as what."""

    source: Source = Source.API
    principal: Principal | None = None
    """Whose right is asked for; ``None`` is the platform itself, which has asked before."""
    scope: Scope = Scope.WRITE
    stream: str = ""
    rank: int = 0
    attempt: int | None = None
    """Of the stream and rank; ``None`` is the newest."""
    writer: str | None = None
    """Whose sequence numbers `seq` is one of."""
    seq: int | None = None
    after: int | None = None
    """Where that writer must stand for anything to be taken; ``None`` is anywhere."""


#: The platform itself, which has asked for the right before.
API: Final = Sender()


@dataclass(frozen=True, slots=True)
class Usage:
    """What the log of a run holds."""

    points: int
    series: int
    log_lines: int
    log_bytes: int
    spans: int
    span_bytes: int
    media_items: int
    media_bytes: int


@dataclass(frozen=True, slots=True)
class Added:
    """What a write adds to the figures of a run."""

    points: int = 0
    series: int = 0
    log_lines: int = 0
    log_bytes: int = 0
    spans: int = 0
    span_bytes: int = 0
    media_items: int = 0
    media_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Writing:
    """One write into the log of one run, whose row is locked."""

    connection: Connection
    run_id: UUID
    sender: Sender
    project_id: int
    kind: RunKind
    change_seq: int
    """The change that this write is."""
    budgets: Budgets
    usage: Usage
    drops: Drops
    """What was dropped before."""

    @property
    def about(self) -> dict[str, Any]:
        """What nearly every statement of a write needs."""
        return {
            "run": self.run_id,
            "project": self.project_id,
            "source": self.sender.source.value,
            "stream": self.sender.stream,
            "rank": self.sender.rank,
            "change_seq": self.change_seq,
        }


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the items of a call."""

    accepted: int = 0
    """Items that changed the log."""
    duplicates: int = 0
    """Items that were there."""
    conflicts: int = 0
    """Duplicates that came with another value."""
    rejected: int = 0
    """Items that a budget had no room for."""
    accepted_seq: int | None = None
    """The highest sequence number taken of the writer."""
    rejected_by: Mapping[int, Budget] = field(default_factory=dict)
    """By place in the call: which budget that was."""
    warning: str | None = None
    """What is told of the items that a budget had no room for."""


async def ask_for_run(connection: Connection, run_id: UUID) -> Any:
    """Ask for the run's row, locked; the answer is for `open_writing`.

    Questions that do not need that answer can be asked beside it in one pipeline.
    """
    return await connection.execute(query("writing.lock"), {"run": run_id})


async def open_writing(
    connection: Connection, run_id: UUID, sender: Sender, *, asked: Any = None
) -> Writing:
    """Lock a run for a write.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        sender: who writes.
        asked: what `ask_for_run` returned, if it was called before.

    Raises:
        NotFoundError: the tenant has no such run, or the principal may not see it.
        ForbiddenError: the principal may not write there.
        StateError: the run is in the trash.
    """
    cursor = asked if asked is not None else await ask_for_run(connection, run_id)
    row: TupleRow | None = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such run.")
    project_id, change_seq, is_trashed, kind, dropped, *rest = row
    if sender.principal is not None:
        sender.principal.require(sender.scope, project_id, what="run")
    if is_trashed:
        raise StateError("The run is in the trash; restore it before you write to it.")
    return Writing(
        connection,
        run_id,
        sender,
        project_id=project_id,
        kind=RunKind(kind),
        change_seq=change_seq + 1,
        budgets=merged_budgets(*rest[:3]),
        usage=Usage(*rest[3:]),
        drops=Drops.from_json(dropped),
    )


async def close_writing(
    writing: Writing, added: Added, *, drops: Drops | None = None, is_removal: bool = False
) -> str | None:
    """Count a change of the run, and warn of what was dropped.

    Args:
        writing: the open write.
        added: what is more in the log, or less.
        drops: what this write dropped.
        is_removal: something is gone, so that no stamp is left of it.

    Returns:
        What this write's sender is told of what it dropped, if it did.
    """
    total = writing.drops + drops if drops else None
    await writing.connection.execute(
        query("writing.touch"),
        {
            "run": writing.run_id,
            "change_seq": writing.change_seq,
            "is_removal": is_removal,
            "points": added.points,
            "series": added.series,
            "log_lines": added.log_lines,
            "log_bytes": added.log_bytes,
            "spans": added.spans,
            "span_bytes": added.span_bytes,
            "media_items": added.media_items,
            "media_bytes": added.media_bytes,
            "dropped": None if total is None else json.dumps(total.to_json()),
        },
    )
    return None if drops is None or total is None else await record_drops(writing, drops, total)


async def record_drops(writing: Writing, drops: Drops, total: Drops) -> str | None:
    """Make or change the warnings of a run that tell of what was dropped.

    Args:
        writing: the open write.
        drops: what this write dropped.
        total: that and all before.

    Returns:
        What the sender is told: the budget that this write hit, which may be another one than the run
        hit first, and what of this write was not kept.
    """
    told = None
    for code in sorted(drops.first):
        text = warning_text(code, total, writing.budgets)
        told = told or warning_text(code, drops, writing.budgets)
        await writing.connection.execute(
            query("writing.warn_of_drops"),
            {
                "run": writing.run_id,
                "code": code.value,
                "message": text,
                "fields": json.dumps(total.to_json()),
                "change_seq": writing.change_seq,
            },
        )
    return told


async def known_seq(writing: Writing) -> int | None:
    """Return the highest sequence number that was taken of the sender's writer; ``None`` of a new one."""
    about = {"run": writing.run_id, "writer": writing.sender.writer}
    cursor = await writing.connection.execute(query("writing.find_writer"), about)
    row = await cursor.fetchone()
    return None if row is None else int(row[0])


async def taken_seq(writing: Writing) -> int | None:
    """Return what `known_seq` does, where a new writer may begin.

    Raises:
        InvalidError: the writer is new, and the run has as many as it may have.
    """
    if (found := await known_seq(writing)) is not None:
        return found
    about = {"run": writing.run_id}
    cursor = await writing.connection.execute(query("writing.count_writers"), about)
    row = await cursor.fetchone()
    if row is not None and row[0] >= WRITERS_MAX:
        raise InvalidError(
            Fault(
                "/writer",
                f"the run has {row[0]} writers, and may have {WRITERS_MAX}: a writer is one "
                "program at one stream and rank, which keeps its name",
            )
        )
    return None


async def advance_writer(writing: Writing, seq: int) -> None:
    """Remember that everything up to ``seq`` was taken of the sender's writer."""
    await writing.connection.execute(
        query("writing.advance_writer"),
        {"run": writing.run_id, "writer": writing.sender.writer, "seq": seq},
    )


async def list_writers(connection: Connection, run_id: UUID) -> list[tuple[str, int]]:
    """Return the writers of a run by name, and how far each was taken."""
    cursor = await connection.execute(query("writing.list_writers"), {"run": run_id})
    return [(row[0], row[1]) for row in await cursor.fetchall()]
