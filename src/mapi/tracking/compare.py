"""Runs side by side: summaries, params, tags, curves in buckets, media."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from psycopg.rows import dict_row

from mapi.access.identifiers import EXPERIMENT, RUN, text_from_uuid
from mapi.database.queries import query
from mapi.errors import NotFoundError
from mapi.series.names import canonical_labels
from mapi.tracking.batch import SCALAR_STEP, Series
from mapi.tracking.buckets import read_buckets
from mapi.tracking.curves import Stretch, find_parts, read_points
from mapi.tracking.live import media_from_row
from mapi.tracking.pruned import pruned_from_json
from mapi.tracking.series import summary_from_row
from mapi.wire.comparison import ComparedParam, ComparedSeries, Comparison
from mapi.wire.enums import RunKind, RunStatus
from mapi.wire.metrics import Curve, CurvePoint
from mapi.wire.runs import RunRow
from mapi.wire.values import values_to_wire

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.wire.media import MediaFacts
    from mapi.wire.metrics import PrunedPoints

__all__ = ["compare", "find_compared", "version_of"]

#: Summaries of all runs together: ten runs with the thousand series that a run has by default.
_SUMMARIES_MAX: Final = 10_000
#: Curves of one answer: twenty series of ten runs, about a megabyte and a second.
_CURVES_MAX: Final = 200
#: Media items of one run.
_MEDIA_MAX: Final = 200

Row = dict[str, Any]


async def find_compared(connection: Connection, run_ids: Sequence[UUID]) -> list[Row]:
    """Return the rows of runs in the order asked for.

    Raises:
        NotFoundError: one does not exist for the transaction's reach.
    """
    rows = await _rows(connection, "compare.runs", runs=list(run_ids))
    known = {row["id"] for row in rows}
    for run_id in run_ids:
        if run_id not in known:
            raise NotFoundError(f"There is no run {text_from_uuid(RUN, run_id)}.")
    return rows


def version_of(runs: Sequence[Row], question: object) -> str:
    """Return the ETag of a comparison: it changes with every run, and with the question."""
    told = [(str(row["id"]), row["version"], row["change_seq"]) for row in runs]
    return f'"{hashlib.sha256(repr((told, question)).encode()).hexdigest()[:32]}"'


async def compare(
    connection: Connection, runs: Sequence[Row], *, keys: Sequence[str] | None, buckets: int | None
) -> Comparison:
    """Return runs side by side.

    Args:
        connection: a transaction of the tenant.
        runs: what `find_compared` returned.
        keys: only series and media of these keys; ``None`` is all.
        buckets: of each curve at most so many; fewer points come exactly; ``None`` draws no curve.
    """
    ids: list[UUID] = [row["id"] for row in runs]
    found = await _rows(
        connection,
        "compare.summaries",
        runs=ids,
        keys=None if keys is None else list(keys),
        limit=_SUMMARIES_MAX + 1,
    )
    series = _side_by_side(found[:_SUMMARIES_MAX], ids)
    omitted = 0
    if buckets is not None:
        omitted = await _draw(connection, series, ids, buckets=buckets)
    media, has_more = await _media(connection, ids, keys)
    return Comparison(
        runs=[_run_row(row) for row in runs],
        series=series,
        params=_params(await _rows(connection, "compare.params", runs=ids), ids),
        tags=_params(await _rows(connection, "compare.tags", runs=ids), ids),
        media=media,
        pruned=[pruned_from_json(row["pruned"]) for row in runs],
        curves_omitted=omitted,
        is_partial=has_more or len(found) > _SUMMARIES_MAX,
    )


async def _rows(connection: Connection, name: str, **about: Any) -> list[Row]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query(name), about)
        return await cursor.fetchall()


def _side_by_side(rows: Sequence[Row], ids: Sequence[UUID]) -> list[ComparedSeries]:
    places = {run_id: at for at, run_id in enumerate(ids)}
    found: dict[tuple[str, int], ComparedSeries] = {}
    for row in rows:
        one = found.setdefault(
            (row["key"], row["labels_hash"]),
            ComparedSeries(key=row["key"], labels=row["labels"], summaries=[None] * len(ids)),
        )
        one.summaries[places[row["run_id"]]] = summary_from_row(row)
    return list(found.values())


async def _draw(
    connection: Connection, series: Sequence[ComparedSeries], ids: Sequence[UUID], *, buckets: int
) -> int:
    """Put curves into the first series that have some; return how many had to be left out."""
    drawn = omitted = 0
    for one in series:
        stepped = [summary is not None and not summary.is_scalar for summary in one.summaries]
        if not any(stepped):
            continue
        if drawn + sum(stepped) > _CURVES_MAX:
            omitted += 1
            continue
        drawn += sum(stepped)
        named = Series(one.key, canonical_labels(one.labels))
        one.curves = [
            None
            if summary is None or summary.is_scalar
            else await _curve(connection, run_id, named, buckets=buckets, pruned=summary.pruned)
            for run_id, summary in zip(ids, one.summaries, strict=True)
        ]
    return omitted


async def _curve(
    connection: Connection,
    run_id: UUID,
    series: Series,
    *,
    buckets: int,
    pruned: PrunedPoints | None,
) -> Curve:
    parts = await find_parts(connection, run_id, series)
    curve = Curve(
        key=series.key, labels=dict(series.labels), attempt=None, points_total=0, pruned=pruned
    )
    points = await read_points(connection, parts, Stretch(), limit=buckets + 1)
    if len(points) > buckets:
        curve.buckets = await read_buckets(connection, parts, Stretch(), buckets=buckets)
        curve.points_total = sum(one.count for one in curve.buckets)
    else:
        values = values_to_wire([one.value for one in points])
        curve.points_total = len(points)
        curve.points = [
            CurvePoint(None if one.step == SCALAR_STEP else one.step, one.time_us, value)
            for one, value in zip(points, values, strict=True)
        ]
    return curve


async def _media(
    connection: Connection, ids: Sequence[UUID], keys: Sequence[str] | None
) -> tuple[list[list[MediaFacts]], bool]:
    media, has_more = [], False
    for run_id in ids:
        rows = await _rows(
            connection,
            "live.media",
            run=run_id,
            keys=None if keys is None else list(keys),
            after=-1,
            limit=_MEDIA_MAX + 1,
        )
        has_more = has_more or len(rows) > _MEDIA_MAX
        media.append([media_from_row(row) for row in rows[:_MEDIA_MAX]])
    return media, has_more


def _params(rows: Sequence[Row], ids: Sequence[UUID]) -> list[ComparedParam]:
    places = {run_id: at for at, run_id in enumerate(ids)}
    texts: dict[str, list[str | None]] = defaultdict(lambda: [None] * len(ids))
    for row in rows:
        texts[row["key"]][places[row["run_id"]]] = row["text"]
    return [
        ComparedParam(key=key, texts=found, is_different=len(set(found)) > 1)
        for key, found in texts.items()
    ]


def _run_row(row: Row) -> RunRow:
    experiment = row["experiment_id"]
    return RunRow(
        id=text_from_uuid(RUN, row["id"]),
        kind=RunKind(row["kind"]),
        status=RunStatus(row["status"]),
        name=row["name"],
        experiment=None if experiment is None else text_from_uuid(EXPERIMENT, experiment),
        user=row["user_name"],
        created=row["created"],
        started=row["started"],
        finished=row["finished"],
    )
