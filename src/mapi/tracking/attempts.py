"""Attempts: a stream and rank goes at its run once more, and takes the place of what was before.

A continuation (`from_step`) supersedes the steps from there on of every series of its stream and
rank; a runner's attempt begins anew at 0, but only in the series that it writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError, StateError
from mapi.series.names import canonical_labels
from mapi.tracking.batch import Series
from mapi.tracking.summaries import rebuild
from mapi.tracking.writing import Added, close_writing, open_writing
from mapi.wire.enums import RunStatus, Source
from mapi.wire.runs import AttemptFacts

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.writing import Sender, Writing

__all__ = [
    "ATTEMPTS_MAX",
    "Newest",
    "ask_for_newest",
    "attempt_of",
    "end_attempt",
    "list_attempts",
    "register_attempt",
]

#: Attempts of one run, over its streams and ranks: 100 tries of 100 ranks.
ATTEMPTS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Newest:
    """The attempt that a batch is written as, and whether a newer one is known."""

    number: int
    is_newest: bool
    begins_anew: bool
    """Whether it is a runner's, which does not go on with older values of a series."""


async def ask_for_newest(connection: Connection, run_id: UUID, sender: Sender) -> Any:
    """Ask for the newest attempt of the sender's stream and rank; for `attempt_of`."""
    return await connection.execute(
        query("attempts.newest"),
        {"run": run_id, "stream": sender.stream, "rank": sender.rank},
    )


async def attempt_of(writing: Writing, asked: Any) -> Newest:
    """Return the attempt that a batch belongs to; one that nobody has registered is now.

    Args:
        writing: the open write.
        asked: what `ask_for_newest` returned.

    Raises:
        InvalidError: the run has as many attempts as it may have.
    """
    number, source = await asked.fetchone() or (1, writing.sender.source.value)
    wanted = writing.sender.attempt
    if wanted is None or wanted == number:
        return Newest(number, is_newest=True, begins_anew=source == Source.RUNNER)
    if wanted < number:
        return Newest(wanted, is_newest=False, begins_anew=False)
    await _insert(writing, wanted, from_step=None, started=None)
    is_runner = writing.sender.source is Source.RUNNER
    return Newest(wanted, is_newest=True, begins_anew=is_runner)


async def register_attempt(
    connection: Connection,
    run_id: UUID,
    *,
    sender: Sender,
    number: int,
    from_step: int | None = None,
    started: datetime | None = None,
) -> AttemptFacts:
    """Register an attempt of the sender's stream and rank; the same again changes nothing.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        sender: whose attempt it is; a runner's begins anew whatever ``from_step`` says.
        number: 1 for the first.
        from_step: from here on it takes the place of what older attempts wrote.
        started: when it began; by default now.

    Raises:
        NotFoundError: there is no such run.
        StateError: it is registered already, with another ``from_step``.
        InvalidError: the run has as many attempts as it may have.
    """
    writing = await open_writing(connection, run_id, sender)
    if sender.source is Source.RUNNER:
        from_step = 0
    is_new = await _insert(writing, number, from_step=from_step, started=started)
    found = await _get(writing, number)
    is_changed = is_new and from_step is not None
    if not is_new and from_step is not None and found.from_step != from_step:
        if found.from_step is not None:
            raise StateError(
                f"Attempt {number} is registered from step {found.from_step}, not {from_step}; "
                "what it went back over cannot change. Register the next one."
            )
        await connection.execute(
            query("attempts.set_from_step"),
            {**writing.about, "attempt": number, "from_step": from_step, "started": started},
        )
        found = await _get(writing, number)
        is_changed = True
    if is_changed:
        # Also of one that is new: an older attempt may have been written to without it.
        await _rebuild_superseded(writing, found)
    if is_new or is_changed:
        # What was gone back over is read otherwise now.
        await close_writing(writing, Added(), is_removal=is_changed)
    return found


async def end_attempt(
    connection: Connection,
    run_id: UUID,
    *,
    sender: Sender,
    number: int,
    status: RunStatus,
    finished: datetime | None = None,
) -> AttemptFacts:
    """Say how an attempt ended.

    Raises:
        NotFoundError: there is no such run, or no such attempt of the sender's stream and rank.
        InvalidError: the status is none that an attempt ends with.
    """
    if not status.is_final and status is not RunStatus.LOST:
        raise InvalidError(
            Fault(
                "/status",
                f"an attempt does not end as {status}",
                expected=sorted(one for one in RunStatus if one.is_final or one == RunStatus.LOST),
            )
        )
    writing = await open_writing(connection, run_id, sender)
    about = {**writing.about, "attempt": number, "status": status.value, "finished": finished}
    cursor = await connection.execute(query("attempts.finish"), about)
    if not cursor.rowcount:
        raise NotFoundError(f"The run has no attempt {number} of this stream and rank.")
    await close_writing(writing, Added())
    return await _get(writing, number)


async def list_attempts(connection: Connection, run_id: UUID) -> list[AttemptFacts]:
    """Return the registered attempts of a run, by stream, rank and number."""
    cursor = await connection.execute(query("attempts.list"), {"run": run_id})
    return [_facts(row) for row in await cursor.fetchall()]


async def _insert(
    writing: Writing, number: int, *, from_step: int | None, started: datetime | None
) -> bool:
    """Insert an attempt; say whether it is new."""
    if writing.sender.source is Source.RUNNER:
        from_step = 0
    cursor = await writing.connection.execute(
        query("attempts.insert"),
        {**writing.about, "attempt": number, "from_step": from_step, "started": started},
    )
    if await cursor.fetchone() is None:  # in a pipeline no count of rows is known
        return False
    cursor = await writing.connection.execute(query("attempts.count"), writing.about)
    row = await cursor.fetchone()
    if row is not None and row[0] > ATTEMPTS_MAX:
        raise InvalidError(Fault("/attempt", f"a run has {ATTEMPTS_MAX} attempts at most"))
    return True


async def _rebuild_superseded(writing: Writing, attempt: AttemptFacts) -> None:
    cursor = await writing.connection.execute(
        query("attempts.find_superseded"),
        {
            **writing.about,
            "attempt": attempt.number,
            "from_step": attempt.from_step,
            "begins_anew": attempt.source is Source.RUNNER,
        },
    )
    await rebuild(
        writing,
        [Series(key, canonical_labels(labels)) for key, labels in await cursor.fetchall()],
    )


async def _get(writing: Writing, number: int) -> AttemptFacts:
    cursor = await writing.connection.execute(
        query("attempts.get"), {**writing.about, "attempt": number}
    )
    row = await cursor.fetchone()
    assert row is not None
    return _facts(row)


def _facts(row: tuple[Any, ...]) -> AttemptFacts:
    stream, rank, number, from_step, source, started, finished, status = row
    return AttemptFacts(
        stream=stream,
        rank=rank,
        number=number,
        from_step=from_step,
        source=Source(source),
        started=started,
        finished=finished,
        status=None if status is None else RunStatus(status),
    )
