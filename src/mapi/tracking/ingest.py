"""The one way into the log: every writer of points ends here, in one transaction a batch.

The run's row is locked first. A batch that lies behind everything that is known of its series, and
that no budget could touch, goes the short way (`mapi.tracking.appending`): nearly every batch does.
Any other is told apart here, into what is new and what the log has: of a step the first value
stays, of a scalar the newest by time, and only what is new costs a budget anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mapi.database.arrays import FloatArray, IntArray, TimeArray
from mapi.database.door import together
from mapi.database.queries import query
from mapi.series.budgets import Drops, fit_points
from mapi.tracking.appending import Append
from mapi.tracking.attempts import ask_for_newest, attempt_of
from mapi.tracking.batch import (
    HUGE,
    SCALAR_STEP,
    Deduplicated,
    PointBatch,
    Series,
    summary_parts,
    without_repeats,
)
from mapi.tracking.full_names import has_full_names, keep_names
from mapi.tracking.resolving import (
    Resolved,
    ask_for_series,
    count_points,
    make_series,
    resolve,
)
from mapi.tracking.sequence import counts_of_taken
from mapi.tracking.summaries import merge, rebuild
from mapi.tracking.writing import (
    API,
    Added,
    Counts,
    Sender,
    Writing,
    advance_writer,
    ask_for_run,
    close_writing,
    open_writing,
    taken_seq,
)

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection, Database, Reach
    from mapi.tracking.attempts import Newest
    from mapi.wire.enums import Budget

__all__ = ["Opened", "insert_points", "open_batch", "write_batch", "write_points"]

_Bools = npt.NDArray[np.bool_]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Opened:
    """A write of points whose run is locked and whose series are looked up."""

    writing: Writing
    attempt: Newest
    resolved: Resolved

    @property
    def connection(self) -> Connection:
        """The transaction."""
        return self.writing.connection


async def write_points(
    connection: Connection, run_id: UUID, batch: PointBatch, *, sender: Sender = API
) -> Counts:
    """Write a checked batch of points into the log of a run.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        batch: the points, in any order, repeats included.
        sender: who writes; of a sequence number that was taken before, scalars are not taken again.

    Raises:
        NotFoundError: the tenant has no such run.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash, or it is not this batch's turn.
        InvalidError: there are too many writers or attempts.
    """
    known = await counts_of_taken(connection, run_id, len(batch), sender=sender)
    if known is not None:
        return known
    found = without_repeats(batch)
    counts = None
    if _may_be_new(found):
        counts = await Append(run_id, found.kept, sender).within(connection)
    if counts is None:
        counts = await _write(connection, run_id, found, sender=sender)
    await keep_names(connection, run_id, batch.series)
    return counts


async def write_batch(
    database: Database, reach: Reach, run_id: UUID, *, batch: PointBatch, sender: Sender
) -> Counts:
    """Write a batch as `write_points` does, in a transaction of its own."""
    if sender.after is not None or has_full_names(batch.series):

        async def work_whole(connection: Connection) -> Counts:
            return await write_points(connection, run_id, batch, sender=sender)

        return await database.run(reach, work_whole)
    found = without_repeats(batch)
    if _may_be_new(found):
        appended = await Append(run_id, found.kept, sender).alone(database, reach)
        if appended is not None:
            return appended

    async def work(connection: Connection) -> Counts:
        return await _write(connection, run_id, found, sender=sender)

    return await database.run(reach, work)


def _may_be_new(found: Deduplicated) -> bool:
    """Whether it is worth asking. Sums of huge values are made from the points themselves."""
    size = np.abs(found.kept.values)
    is_huge = bool(((size >= HUGE) & (size < np.inf)).any())
    return len(found.kept) > 0 and not len(found.repeats) and not is_huge


async def _write(
    connection: Connection, run_id: UUID, found: Deduplicated, *, sender: Sender
) -> Counts:
    """Write a batch of which something may be known, or over a budget."""
    size = len(found.kept) + len(found.repeats)
    opened = await open_batch(connection, run_id, found.kept.series, sender=sender)
    accepted_seq = None
    if sender.seq is not None:
        taken = await taken_seq(opened.writing)
        if taken is not None and taken >= sender.seq:
            found = found.only(found.kept.steps != SCALAR_STEP)
        accepted_seq = sender.seq if taken is None else max(taken, sender.seq)
        if taken != accepted_seq:
            await advance_writer(opened.writing, accepted_seq)
    outcome = await _sort_in(opened, found) if len(found.kept) else Counts()
    return Counts(
        accepted=outcome.accepted,
        duplicates=size - outcome.accepted - len(outcome.rejected_by),
        conflicts=outcome.conflicts,
        rejected=len(outcome.rejected_by),
        accepted_seq=accepted_seq,
        rejected_by=outcome.rejected_by,
        warning=outcome.warning,
    )


async def open_batch(
    connection: Connection, run_id: UUID, series: list[Series], *, sender: Sender
) -> Opened:
    """Lock a run and look up the series of a batch, in one way there and back."""
    async with together(connection):
        run = await ask_for_run(connection, run_id)
        newest = await ask_for_newest(connection, run_id, sender)
        known = await ask_for_series(connection, run_id, series, sender=sender)
    writing = await open_writing(connection, run_id, sender, asked=run)
    return Opened(writing, await attempt_of(writing, newest), await resolve(known))


def _has_room(writing: Writing, known: Resolved, sizes: npt.NDArray[np.int64]) -> bool:
    """Whether no budget can be hit by so many new points in each of the series."""
    budgets, usage = writing.budgets, writing.usage
    return (
        _fits(budgets.points, usage.points + int(sizes.sum()))
        and _fits(budgets.series, usage.series + int((~known.is_known).sum()))
        # The summary has all points of the newest attempt, and older ones beside.
        and _fits(budgets.points_per_series, int((known.counts + sizes).max()))
    )


def _fits(limit: int | None, wanted: int) -> bool:
    return limit is None or wanted <= limit


async def _sort_in(opened: Opened, found: Deduplicated) -> Counts:
    """Write what is new of a batch, and count the rest."""
    resolved, writing = opened.resolved, opened.writing
    is_new, stored = await _compare(opened, found.kept)
    rejected_by, drops = await _reject(opened, found, is_new)
    if rejected_by:
        is_kept = ~np.isin(found.kept.places, list(rejected_by))
        found, is_new, stored = found.only(is_kept), is_new[is_kept], stored[is_kept]
    new = found.kept.where(is_new)
    made = 0
    replaced = await _replace_scalars(opened, found.kept.where(~is_new))
    if len(new):
        made = await make_series(writing, new, resolved, attempt=opened.attempt.number)
        await insert_points(opened.connection, new, resolved)
    await _summarise(opened, new, replaced)
    warning = None
    if len(new) or replaced or drops:
        warning = await close_writing(writing, Added(points=len(new), series=made), drops=drops)
    return Counts(
        accepted=len(new) + len(replaced),
        conflicts=found.conflicts(stored),
        rejected_by=rejected_by,
        warning=warning,
    )


async def _reject(
    opened: Opened, found: Deduplicated, is_new: _Bools
) -> tuple[dict[int, Budget], Drops]:
    """Return what the budgets have no room for, by place in the call, and as counts."""
    first = await _fit(opened, found.kept, is_new)
    if not first:
        return {}, Drops()
    rejected_by = dict(first)
    # A repeat of what was not kept was not kept either.
    for place, at in zip(found.repeats.places.tolist(), found.kept_at.tolist(), strict=True):
        budget = first.get(int(found.kept.places[at]))
        if budget is not None:
            rejected_by[place] = budget
    # In the order in which they were hit.
    counts = dict.fromkeys((rejected_by[place] for place in sorted(rejected_by)), 0)
    for budget in rejected_by.values():
        counts[budget] += 1
    return rejected_by, Drops.of(counts)


async def _compare(opened: Opened, batch: PointBatch) -> tuple[_Bools, _Floats]:
    """Return which points are new in the log, and the values that stand there after this batch."""
    ids = opened.resolved.ids[batch.index]
    sealed = opened.resolved.sealed_steps[batch.index]
    is_sealed = (batch.steps != SCALAR_STEP) & (batch.steps <= sealed)
    is_new, stored = ~is_sealed, batch.values.copy()
    asked = np.flatnonzero(ids > 0)
    if len(asked):
        cursor = await opened.connection.execute(
            query("points.find_stored"),
            {"series": IntArray(ids[asked]), "steps": IntArray(batch.steps[asked])},
            binary=True,
        )
        at, values = await cursor.fetchone() or (None, None)
        if at is not None and values is not None:
            places = asked[np.array(at, dtype=np.int64)]
            is_new[places] = False
            stored[places] = values
    return is_new, stored


async def _fit(opened: Opened, batch: PointBatch, is_new: _Bools) -> dict[int, Budget]:
    """Return which new points the budgets have no room for, in the order of the call."""
    order = np.flatnonzero(is_new)
    new = batch.where(order[np.argsort(batch.places[order], kind="stable")])
    if not len(new):
        return {}
    resolved, writing = opened.resolved, opened.writing
    index, sizes = np.unique(new.index, return_counts=True)
    if opened.attempt.is_newest and _has_room(writing, resolved.of(index), sizes):
        return {}
    stored = np.where(resolved.is_known, 0, -1)
    known = index[resolved.ids[index] > 0]
    stored[known] = await count_points(opened.connection, resolved.ids[known])
    fit = fit_points(
        writing.budgets,
        index=new.index,
        series_sizes=stored,
        run_points=writing.usage.points,
        run_series=writing.usage.series,
    )
    return {int(new.places[at]): budget for at, budget in fit.rejected_by.items()}


async def insert_points(connection: Connection, batch: PointBatch, resolved: Resolved) -> None:
    """Insert points that are new in the log."""
    await connection.execute(
        query("points.insert"),
        {
            "series": IntArray(resolved.ids[batch.index]),
            "steps": IntArray(batch.steps),
            "times": TimeArray(batch.times_us),
            "values": FloatArray(batch.values),
        },
        binary=True,
    )


async def _replace_scalars(opened: Opened, batch: PointBatch) -> list[int]:
    """Let newer scalars take the place of older ones; return which series changed."""
    scalars = batch.where(batch.steps == SCALAR_STEP)
    if not len(scalars):
        return []
    ids = opened.resolved.ids[scalars.index]
    cursor = await opened.connection.execute(
        query("points.replace_scalars"),
        {
            "series": IntArray(ids),
            "times": TimeArray(scalars.times_us),
            "values": FloatArray(scalars.values),
        },
        binary=True,
    )
    changed = [row[0] for row in await cursor.fetchall()]
    at: list[int] = scalars.index[np.isin(ids, changed)].tolist()
    return at


async def _summarise(opened: Opened, new: PointBatch, replaced: list[int]) -> None:
    """Bring the summaries to what the log is now."""
    unsafe = set(replaced)
    if len(new):
        parts = summary_parts(new)
        known = opened.resolved.of(parts.index)
        is_safe = known.is_mergeable(parts.first_steps, opened.attempt)
        is_safe &= ~parts.is_huge
        if not opened.attempt.is_newest:
            is_safe[:] = False
        unsafe.update(parts.index[~is_safe].tolist())
        mergeable = new.where(~np.isin(new.index, list(unsafe)))
        if len(mergeable):
            await merge(
                opened.writing,
                mergeable,
                opened.resolved.ids,
                attempt=opened.attempt.number,
            )
    await rebuild(opened.writing, [new.series[at] for at in sorted(unsafe)])
