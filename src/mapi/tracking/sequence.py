"""The order of a writer that sends a queue: each batch says which one it follows.

A file that is delivered line by line has one order, and whoever delivers it may be two programs at
once, one that was cut off, or a network that repeats what it sent an hour ago. So a batch may name the
number that it follows (``after``): it is taken only while its writer stands there, whole and in the
transaction that moves the writer on. What comes again, late or out of turn changes nothing, also where
a later value replaces an earlier one (`mapi.tracking.corrections`, `mapi.tracking.media`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mapi.errors import OutOfTurnError
from mapi.tracking.writing import Counts, open_writing, taken_seq

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.writing import Sender, Writing

__all__ = ["counts_of_late", "counts_of_taken", "is_taken", "late_seq"]


async def counts_of_taken(
    connection: Connection, run_id: UUID, size: int, *, sender: Sender
) -> Counts | None:
    """Return what is said of a batch that was taken before, or ``None``: it is to be written now.

    Args:
        connection: a transaction of the run's tenant, in which it is written then.
        run_id: the run.
        size: how many items it has.
        sender: who sends it, and which one it follows.

    Raises:
        NotFoundError: there is no such run.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash.
        OutOfTurnError: it follows another batch than the last.
        InvalidError: the run has too many writers.
    """
    if sender.after is None:
        return None
    writing = await open_writing(connection, run_id, sender)
    taken = await taken_seq(writing)
    return Counts(duplicates=size, accepted_seq=taken) if is_taken(sender, taken) else None


async def counts_of_late(
    connection: Connection, run_id: UUID, size: int, *, sender: Sender
) -> Counts | None:
    """Return what `counts_of_taken` does, also of a numbered batch that names none that it follows.

    For batches whose values replace others: of those a repetition is no harmless one.
    """
    if sender.seq is None:
        return None
    taken = await late_seq(await open_writing(connection, run_id, sender))
    return None if taken is None else Counts(duplicates=size, accepted_seq=taken)


async def late_seq(writing: Writing) -> int | None:
    """Return where the writer stands, if what has the sender's number was taken before; else ``None``.

    Raises:
        OutOfTurnError: it follows another batch than the last.
        InvalidError: the run has too many writers.
    """
    sender = writing.sender
    if sender.seq is None:
        return None
    taken = await taken_seq(writing)
    if sender.after is not None:
        return taken if is_taken(sender, taken) else None
    return taken if taken is not None and taken >= sender.seq else None


def is_taken(sender: Sender, taken: int | None) -> bool:
    """Return whether a batch that follows another was taken before.

    Args:
        sender: says which one it follows.
        taken: the highest number of its writer; ``None`` before its first.

    Raises:
        OutOfTurnError: it follows another batch than the last.
    """
    assert sender.after is not None
    assert sender.seq is not None
    stands = -1 if taken is None else taken
    if stands == sender.after:
        return False
    if stands >= sender.seq:
        return True
    raise OutOfTurnError(
        f"The batch follows number {sender.after} of writer {sender.writer!r}, which stands at "
        f"{stands}: send what comes behind that one.",
        taken,
    )
