"""Corrections: deletes and replaced points, each with an entry in the audit; no edit is silent."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mapi.access.identifiers import MEDIA, RUN, text_from_uuid, uuid_from_text
from mapi.database.arrays import FloatArray, IntArray, TimeArray
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError
from mapi.series.names import check_key, check_labels, labels_hash, series_text
from mapi.tracking.batch import SCALAR_STEP, PointBatch, Series
from mapi.tracking.compaction import open_chunks_at, open_chunks_between
from mapi.tracking.curves import no_series
from mapi.tracking.ingest import open_batch, write_points
from mapi.tracking.sequence import counts_of_late
from mapi.tracking.summaries import rebuild
from mapi.tracking.writing import Added, Counts, Sender, Writing, close_writing, open_writing
from mapi.wire.enums import Source
from mapi.wire.metrics import STEP_MAX

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection

__all__ = ["correct_points", "delete_media", "delete_param", "delete_points"]

#: An entry of the audit names so many series, and counts the others.
_SERIES_NAMED_MAX: Final = 20


async def delete_points(
    connection: Connection,
    run_id: UUID,
    series: Series,
    *,
    sender: Sender,
    steps: tuple[int | None, int | None] = (None, None),
    reason: str,
) -> int:
    """Delete points of a series, of all its attempts; a series that has none left is gone.

    What was pruned cannot be taken from a summary step by step: it goes with all of its series.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        series: its key and labels.
        sender: who corrects, with the scope that it needs.
        steps: the first and the last; ``None`` is open, and -1 is the scalar.
        reason: why.

    Returns:
        How many points there were.

    Raises:
        NotFoundError: there is no such run, or no such series.
        InvalidError: the key or the labels break their rule.
    """
    for at, wrong in (
        ("/key", check_key(series.key)),
        ("/labels", check_labels(dict(series.labels), reserved=True)),
    ):
        if wrong is not None:
            raise InvalidError(Fault(at, wrong))
    writing = await open_writing(connection, run_id, sender)
    cursor = await connection.execute(
        query("corrections.find_series"),
        {"run": run_id, "key": series.key, "hash": labels_hash(series.labels)},
    )
    ids = [row[0] for row in await cursor.fetchall()]
    if not ids:
        raise await no_series(connection, run_id, series)
    first, last = steps
    points = await _delete_between(
        writing,
        ids,
        first=SCALAR_STEP if first is None else first,
        last=STEP_MAX if last is None else last,
    )
    is_whole = first is None and last is None
    if is_whole:
        await connection.execute(
            query("corrections.delete_pruned"),
            {"run": run_id, "key": series.key, "hash": labels_hash(series.labels)},
        )
    cursor = await connection.execute(
        query("corrections.delete_series"), {"series": ids, "is_whole": is_whole}
    )
    is_gone = len(await cursor.fetchall()) == len(ids)
    await rebuild(writing, [series])
    await _audit(
        writing,
        "point.delete",
        {
            "series": series_text(series.key, series.labels),
            "from_step": first,
            "to_step": last,
            "points": points,
            "reason": reason,
        },
    )
    await close_writing(writing, Added(points=-points, series=-int(is_gone)), is_removal=True)
    return points


async def _delete_between(writing: Writing, series: list[int], *, first: int, last: int) -> int:
    """Delete points as chunks where they fill them, else as rows; return how many."""
    connection, about = writing.connection, {"series": series, "first": first, "last": last}
    cursor = await connection.execute(query("corrections.delete_chunks"), about)
    (points,) = await cursor.fetchone() or (0,)
    await open_chunks_between(connection, writing.run_id, series, steps=(first, last))
    cursor = await connection.execute(query("corrections.delete_points"), about)
    return int(points) + cursor.rowcount


async def delete_param(
    connection: Connection, run_id: UUID, key: str, *, sender: Sender, reason: str
) -> None:
    """Delete a param, so that it can be written anew.

    Raises:
        NotFoundError: there is no such run, or no such param.
    """
    writing = await open_writing(connection, run_id, sender)
    cursor = await connection.execute(
        query("corrections.delete_param"), {"run": run_id, "key": key}
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"The run has no param {key[:80]!r}.")
    await _audit(writing, "param.delete", {"key": key, "text": row[0][:250], "reason": reason})
    await close_writing(writing, Added(), is_removal=True)


async def delete_media(
    connection: Connection, run_id: UUID, media: str, *, sender: Sender, reason: str
) -> tuple[str, int]:
    """Delete a media item.

    Returns:
        The key of its object, which nothing has any more when the transaction ends, and its bytes.

    Raises:
        NotFoundError: there is no such run, or no such item.
    """
    writing = await open_writing(connection, run_id, sender)
    cursor = await connection.execute(
        query("corrections.delete_media"), {"run": run_id, "id": uuid_from_text(MEDIA, media)}
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("The run has no such media item.")
    key, labels, step, size_bytes, sha256, object_key = row
    await _audit(
        writing,
        "media.delete",
        {"key": key, "labels": labels, "step": step, "sha256": sha256, "reason": reason},
    )
    await close_writing(writing, Added(media_items=-1, media_bytes=-size_bytes), is_removal=True)
    return object_key, size_bytes


async def correct_points(
    connection: Connection, run_id: UUID, batch: PointBatch, *, sender: Sender
) -> Counts:
    """Write points that were logged again: here the last value of a step stays, not the first.

    What replaces another value is counted in one entry of the audit; what is new is written as
    ever. Values that a runner signed are not replaced. A batch with a number is taken once: one that
    comes again, or late, must not bring back an older value.

    Raises:
        NotFoundError: there is no such run.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash, or it is not this batch's turn.
    """
    known = await counts_of_late(connection, run_id, len(batch), sender=sender)
    if known is not None:
        return known
    # Its turn was found above: what it moves on is not asked for again.
    sender = replace(sender, after=None)
    # The last of a step instead of the first: what is turned round is told apart the same way.
    counts = await write_points(connection, run_id, batch.where(_last_first(batch)), sender=sender)
    if not counts.conflicts:
        return counts
    opened = await open_batch(connection, run_id, batch.series, sender=sender)
    replacing = _last_of_steps(batch, list(counts.rejected_by))
    ids = opened.resolved.ids[replacing.index]
    await open_chunks_at(connection, run_id, series=ids, steps=replacing.steps)
    cursor = await connection.execute(
        query("corrections.replace_points"),
        {
            "series": IntArray(ids),
            "steps": IntArray(replacing.steps),
            "times": TimeArray(replacing.times_us),
            "values": FloatArray(replacing.values),
            "source": Source.API.value,
        },
    )
    changed = sorted({row[0] for row in await cursor.fetchall()})
    replaced = cursor.rowcount
    if not replaced:
        return counts
    at = np.flatnonzero(np.isin(opened.resolved.ids, changed)).tolist()
    series = [batch.series[one] for one in at]
    await rebuild(opened.writing, series)
    await _audit(
        opened.writing,
        "point.correct",
        {
            "series": [series_text(one.key, one.labels) for one in series[:_SERIES_NAMED_MAX]],
            "series_count": len(series),
            "points": replaced,
            "reason": "logged again",
        },
    )
    # Whoever has drawn these points has the wrong ones.
    await close_writing(opened.writing, Added(), is_removal=True)
    return Counts(
        accepted=counts.accepted + replaced,
        duplicates=counts.duplicates - replaced,
        rejected=counts.rejected,
        accepted_seq=counts.accepted_seq,
        rejected_by=counts.rejected_by,
        warning=counts.warning,
    )


def _last_first(batch: PointBatch) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the order in which the last of each step comes first; scalars go by time anyway."""
    order = np.arange(len(batch))
    is_stepped = batch.steps != SCALAR_STEP
    order[is_stepped] = order[is_stepped][::-1]
    return order


def _last_of_steps(batch: PointBatch, without: list[int]) -> PointBatch:
    """Return the last stepped point of each step that a budget had room for."""
    is_kept = (batch.steps != SCALAR_STEP) & ~np.isin(batch.places, without)
    kept = batch.where(is_kept)
    kept = kept.where(np.lexsort((-kept.places, kept.steps, kept.index)))
    is_last = np.ones(len(kept), dtype=np.bool_)
    is_last[1:] = (kept.index[1:] != kept.index[:-1]) | (kept.steps[1:] != kept.steps[:-1])
    return kept.where(is_last)


async def _audit(writing: Writing, action: str, fields: dict[str, Any]) -> None:
    principal: Principal | None = writing.sender.principal
    await writing.connection.execute(
        query("writing.insert_audit"),
        {
            "principal": "mapi" if principal is None else principal.name,
            "action": action,
            "object": text_from_uuid(RUN, writing.run_id),
            "fields": json.dumps(fields, ensure_ascii=False),
        },
    )
