"""Spans: what ran when, and how long; kept up to a budget and read by their start."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Raw

from mapi.database.arrays import IntArray
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError
from mapi.series.budgets import fit_sizes
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.logs import drops_of, skip_taken
from mapi.tracking.texts import json_text
from mapi.tracking.writing import API, Added, Counts, Sender, close_writing, open_writing
from mapi.wire.decoding import FAULTS_MAX, pointer
from mapi.wire.enums import Budget
from mapi.wire.notes import SpanFacts
from mapi.wire.times import check_time_ns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.wire.notes import SpanRow

__all__ = [
    "SPAN_FIELDS_BYTES_MAX",
    "SPAN_PAGE_MAX",
    "append_spans",
    "check_starts",
    "read_spans",
]

#: A span's attributes are a few values.
SPAN_FIELDS_BYTES_MAX: Final = 16_384
#: Spans of one page.
SPAN_PAGE_MAX: Final = 5_000
#: What a span takes beside its name and fields: its numbers.
_ROW_BYTES: Final = 48


def check_starts(spans: Sequence[SpanRow], *, now_us: int) -> None:
    """Refuse spans that start when no clock can have told.

    Args:
        spans: those that a client sends.
        now_us: the server's time in microseconds since 1970 UTC.

    Raises:
        InvalidError: a start has another unit, or is more than a day ahead.
    """
    faults = (
        Fault(pointer("spans", at, "start_ns"), wrong)
        for at, one in enumerate(spans)
        if (wrong := check_time_ns(one.start_ns, now_us=now_us)) is not None
    )
    found = list(islice(faults, FAULTS_MAX))
    if found:
        raise InvalidError(found)


async def append_spans(
    connection: Connection, run_id: UUID, spans: Sequence[SpanRow], *, sender: Sender = API
) -> Counts:
    """Keep spans that ended.

    With a sequence number, which is that of the first span, those that were taken before are
    duplicates.

    Raises:
        NotFoundError: there is no such run.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash.
        InvalidError: fields are too long, or the run has too many writers.
    """
    fields = [
        json_text(one.fields, pointer("spans", at, "fields"), bytes_max=SPAN_FIELDS_BYTES_MAX)
        if one.fields
        else None
        for at, one in enumerate(spans)
    ]
    writing = await open_writing(connection, run_id, sender)
    skipped, accepted_seq = await skip_taken(writing, len(spans))
    sizes = [
        _ROW_BYTES + len(one.name.encode()) + len((text or "").encode())
        for one, text in zip(spans[skipped:], fields[skipped:], strict=True)
    ]
    budgets, usage = writing.budgets, writing.usage
    is_kept, lacks_bytes = fit_sizes(
        (budgets.spans, budgets.span_bytes),
        stored=(usage.spans, usage.span_bytes),
        sizes=sizes,
    )
    kept = [skipped + at for at, fits in enumerate(is_kept) if fits]
    if kept:
        await connection.execute(
            query("spans.insert"),
            {**writing.about, **_columns([spans[at] for at in kept], [fields[at] for at in kept])},
        )
    rejected_by = {
        skipped + at: Budget.SPAN_BYTES if lacks_bytes[at] else Budget.SPANS
        for at, fits in enumerate(is_kept)
        if not fits
    }
    added = Added(spans=len(kept), span_bytes=sum(sizes[at - skipped] for at in kept))
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


def _columns(spans: list[SpanRow], fields: list[str | None]) -> dict[str, Any]:
    def numbers(values: list[int]) -> IntArray:
        return IntArray(np.array(values, dtype=np.int64))

    return {
        "names": [one.name for one in spans],
        "starts": numbers([one.start_ns for one in spans]),
        "durations": numbers([one.duration_ns for one in spans]),
        "depths": numbers([one.depth for one in spans]),
        "tracks": numbers([one.track for one in spans]),
        "steps": numbers([SCALAR_STEP if one.step is None else one.step for one in spans]),
        "fields": fields,
    }


async def read_spans(
    connection: Connection,
    run_id: UUID,
    *,
    stream: str | None = None,
    rank: int | None = None,
    after: tuple[int, int] | None = None,
    limit: int = SPAN_PAGE_MAX,
) -> tuple[list[SpanFacts], tuple[int, int] | None]:
    """Return spans by their start, and where the page ended if there is more.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        stream: only of this one.
        rank: only of this one.
        after: where the page before ended: start and number of its last span.
        limit: how many at most.
    """
    start_ns, last_id = (-1, 0) if after is None else after
    found = await connection.execute(
        query("spans.read"),
        {
            "run": run_id,
            "stream": stream,
            "rank": rank,
            "start_ns": start_ns,
            "id": last_id,
            "limit": limit + 1,
        },
    )
    rows = await found.fetchall()
    spans = [
        SpanFacts(
            id=row[0],
            stream=row[1],
            rank=row[2],
            name=row[3],
            start_ns=row[4],
            duration_ns=row[5],
            depth=row[6],
            track=row[7],
            step=row[8],
            fields=None if row[9] is None else Raw(row[9].encode()),
        )
        for row in rows[:limit]
    ]
    if len(rows) <= limit:
        return spans, None
    return spans, (spans[-1].start_ns, spans[-1].id)
