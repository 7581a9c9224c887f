"""Runs as they were logged: JSON lines with everything, or a table of points.

What is exported is read in slices, each in a transaction of its own, so memory and locks stay small
however long a run is and however slowly somebody reads. Points and log lines are immutable: slices
fit each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import msgspec

from mapi.access.identifiers import EXPERIMENT, RUN, VIEW, text_from_uuid
from mapi.search import page_statements, position_of
from mapi.series.budgets import Drops
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.curves import CurvePart, Stored
from mapi.tracking.export_slices import SliceReader
from mapi.tracking.life_entries import life_line
from mapi.tracking.pruned import pruned_from_json
from mapi.wire.enums import (
    Budget,
    LifeKind,
    LogLevel,
    MediaFormat,
    RunKind,
    RunStatus,
    Source,
    WarningCode,
)
from mapi.wire.exchange import (
    AttemptLine,
    DocumentLine,
    EndLine,
    ExperimentLine,
    HeaderLine,
    LogRecord,
    MediaLine,
    ParamLine,
    PointsLine,
    PrunedContent,
    PrunedLine,
    PrunedSummary,
    RunLine,
    SpanLine,
    TagLine,
    ViewLine,
)
from mapi.wire.values import values_to_wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mapi.database.door import Database, Reach
    from mapi.search import Position, Search

__all__ = ["SeriesSlice", "export_lines", "found_runs", "point_slices", "the_run"]

_RUNS: Final = 200
_NO_UUID: Final = UUID(int=0)
_encoder: Final = msgspec.json.Encoder()


class SeriesSlice(msgspec.Struct, frozen=True):
    """Some points of one series and attempt, by step."""

    run: str
    key: str
    labels: dict[str, str]
    name: str | None
    """In full, where the labels have only its beginning."""
    attempt: int
    source: str
    user: str
    points: list[Stored]


async def the_run(run_id: UUID) -> AsyncIterator[UUID]:
    """Yield one run."""
    yield run_id


async def found_runs(database: Database, reach: Reach, search: Search) -> AsyncIterator[UUID]:
    """Yield every run of a search, in its order."""
    after: Position | None = None
    while True:
        rows: list[tuple[Any, ...]] = []
        for statement in page_statements(search, _RUNS, after):
            if len(rows) > _RUNS:
                break
            async with database.transaction(reach) as connection:
                cursor = await connection.execute(statement.text.encode(), statement.parameters)
                rows += await cursor.fetchall()
        for row in rows[:_RUNS]:
            yield row[-1]
        if len(rows) <= _RUNS:
            return
        after = position_of(rows[_RUNS - 1])


async def export_lines(
    database: Database,
    reach: Reach,
    runs: AsyncIterator[UUID],
    *,
    project_id: int | None = None,
) -> AsyncIterator[bytes]:
    """Yield everything that the runs have, as lines that an import takes back.

    Args:
        database: the door.
        reach: of whom exports.
        runs: in the order of the lines.
        project_id: whose experiments and saved views all come too; without it those come that
            the runs are in.
    """
    count = 0
    yield _line(HeaderLine())
    async for part in _all_lines(database, reach, runs, project_id=project_id):
        count += len(part)
        yield b"".join(_line(one) for one in part)
    yield _line(EndLine(lines=count + 1))


async def _all_lines(
    database: Database, reach: Reach, runs: AsyncIterator[UUID], *, project_id: int | None
) -> AsyncIterator[list[msgspec.Struct]]:
    told: set[UUID] = set()
    groups = SliceReader(database, reach, None)
    if project_id is not None:
        async for part in _group_lines(groups, told, project=project_id, experiment=None):
            yield part
    async for run_id in runs:
        reader = SliceReader(database, reach, run_id)
        found = await reader.rows("export.run")
        if not found:
            continue  # purged meanwhile
        experiment = found[0]["experiment_id"]
        if experiment is not None and experiment not in told:
            async for part in _group_lines(groups, told, project=None, experiment=experiment):
                yield part
        async for part in _run_lines(reader, found[0]):
            yield part


async def _group_lines(
    reader: SliceReader, told: set[UUID], **wanted: Any
) -> AsyncIterator[list[msgspec.Struct]]:
    """Yield experiments, and behind them their views; remember which ones."""
    async for rows in reader.slices("export.experiments", "id", _NO_UUID, **wanted):
        told.update(row["id"] for row in rows)
        yield [_experiment_line(row) for row in rows]
    async for rows in reader.slices("export.views", "id", _NO_UUID, **wanted):
        # One may have been made since, in an experiment that was, too.
        yield [
            _view_line(row)
            for row in rows
            if row["experiment_id"] is None or row["experiment_id"] in told
        ]


def _line(line: msgspec.Struct) -> bytes:
    return _encoder.encode(line) + b"\n"


async def point_slices(
    database: Database, reach: Reach, runs: AsyncIterator[UUID]
) -> AsyncIterator[SeriesSlice]:
    """Yield all points that the runs have, whatever attempt wrote them."""
    async for run_id in runs:
        async for one in _series_slices(SliceReader(database, reach, run_id)):
            yield one


async def _series_slices(reader: SliceReader) -> AsyncIterator[SeriesSlice]:
    async for rows in reader.slices("export.series", "id", 0):
        for row in rows:
            part = CurvePart(row["id"], row["attempt"], None, row["tenant_id"])
            async for points in reader.points(part):
                yield SeriesSlice(
                    run=reader.run,
                    key=row["key"],
                    labels=row["labels"],
                    name=row["name"],
                    attempt=row["attempt"],
                    source=row["source"],
                    user=row["user"],
                    points=points,
                )


async def _run_lines(
    reader: SliceReader, found: dict[str, Any]
) -> AsyncIterator[list[msgspec.Struct]]:
    """Yield the lines of one run in portions."""
    yield [_run_line(reader.run, found)]
    known: dict[str, Any] = {
        "kinds": [kind.value for kind in LifeKind],
        "codes": [code.value for code in WarningCode],
    }
    async for rows in reader.slices("export.life", "id", 0, **known):
        yield [life_line(reader.run, row) for row in rows]
    yield [
        AttemptLine(
            run=reader.run,
            **{
                **row,
                "source": Source(row["source"]),
                "status": None if row["status"] is None else RunStatus(row["status"]),
            },
        )
        for row in await reader.rows("export.attempts")
    ]
    async for rows in reader.slices("export.params", "key", ""):
        yield [
            ParamLine(run=reader.run, **{**row, "source": Source(row["source"])}) for row in rows
        ]
    yield [
        TagLine(run=reader.run, **{**row, "source": Source(row["source"])})
        for row in await reader.rows("export.tags")
    ]
    async for document in _documents(reader):
        yield [document]
    async for rows in reader.slices("export.pruned", "id", 0):
        yield [_pruned_line(reader.run, row) for row in rows]
    async for one in _series_slices(reader):
        yield [_points_line(one)]
    async for rows in reader.slices("export.logs", "id", 0):
        yield [_log_line(reader.run, row) for row in rows]
    async for rows in reader.slices("export.spans", "id", 0):
        yield [SpanLine(run=reader.run, **_without_id(row)) for row in rows]
    async for rows in reader.slices("export.media", "id", _NO_UUID):
        yield [_media_line(reader.run, row) for row in rows]


def _experiment_line(row: dict[str, Any]) -> ExperimentLine:
    return ExperimentLine(
        experiment=text_from_uuid(EXPERIMENT, row["id"]),
        name=row["name"],
        description=row["description"],
        archived=row["archived"],
        created=row["created"],
    )


def _view_line(row: dict[str, Any]) -> ViewLine:
    experiment = row["experiment_id"]
    return ViewLine(
        view=text_from_uuid(VIEW, row["id"]),
        name=row["name"],
        filter=row["filter"],
        sort=row["sort"],
        columns=row["columns"],
        experiment=None if experiment is None else text_from_uuid(EXPERIMENT, experiment),
        created=row["created"],
    )


def _run_line(run: str, row: dict[str, Any]) -> RunLine:
    parent, retried = row["parent_id"], row["retry_of_id"]
    pruned = pruned_from_json(row["pruned"])
    return RunLine(
        run=run,
        kind=RunKind(row["kind"]),
        status=RunStatus(row["status"]),
        name=row["name"],
        note=row["note"],
        reason=row["reason"],
        parent=None if parent is None else text_from_uuid(RUN, parent),
        retry_of=None if retried is None else text_from_uuid(RUN, retried),
        experiment=row["experiment"],
        user=row["user_name"],
        external_id=row["external_id"],
        created=row["created"],
        started=row["started"],
        finished=row["finished"],
        spec=row["spec"],
        dropped=_dropped(row["dropped"]),
        pruned=None if pruned is None else PrunedContent(**msgspec.structs.asdict(pruned)),
    )


def _dropped(stored: dict[str, Any]) -> dict[Budget, int]:
    """Return what was dropped by budget; of each of the two warnings its first budget stands first."""
    drops = Drops.from_json(stored)
    return {budget: drops.counts[budget] for budget in (*drops.first.values(), *drops.counts)}


async def _documents(reader: SliceReader) -> AsyncIterator[DocumentLine]:
    after: dict[str, Any] = {"after_name": "", "after_stream": "", "after_rank": -1}
    while rows := await reader.rows("export.documents", **after):
        row = rows[0]
        yield DocumentLine(run=reader.run, **row)
        after = {f"after_{name}": row[name] for name in ("name", "stream", "rank")}


def _pruned_line(run: str, row: dict[str, Any]) -> PrunedLine:
    summary = row["summary"]
    return PrunedLine(
        run=run,
        **{
            **_without_id(row),
            "source": Source(row["source"]),
            # One that an attempt anew has taken the place of stands in no summary.
            "summary": None if summary is None else msgspec.convert(summary, PrunedSummary),
        },
    )


def _points_line(one: SeriesSlice) -> PointsLine:
    return PointsLine(
        run=one.run,
        key=one.key,
        labels=one.labels,
        name=one.name,
        attempt=one.attempt,
        source=Source(one.source),
        user=one.user,
        steps=[None if point.step == SCALAR_STEP else point.step for point in one.points],
        times=[point.time_us for point in one.points],
        values=values_to_wire([point.value for point in one.points]),
    )


def _log_line(run: str, row: dict[str, Any]) -> LogRecord:
    return LogRecord(
        run=run,
        **{
            **_without_id(row),
            "level": LogLevel(row["level"]),
            "source": Source(row["source"]),
        },
    )


def _media_line(run: str, row: dict[str, Any]) -> MediaLine:
    return MediaLine(
        run=run,
        **{
            **_without_id(row),
            "step": None if row["step"] == SCALAR_STEP else row["step"],
            "format": MediaFormat(row["format"]),
            "sha256": row["sha256"].hex(),
        },
    )


def _without_id(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "id"}
