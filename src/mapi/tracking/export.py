"""Runs as they were logged: JSON lines with everything, or a table of points.

What is exported is read in slices, each in a transaction of its own, so memory and locks stay small
however long a run is and however slowly somebody reads. Points and log lines are immutable: slices
fit each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import msgspec
from psycopg.rows import dict_row

from mapi.access.identifiers import RUN, text_from_uuid
from mapi.database.queries import query
from mapi.search import page_statements, position_of
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.curves import CurvePart, Stored, Stretch, read_points
from mapi.wire.enums import LogLevel, MediaFormat, RunKind, RunStatus, Source
from mapi.wire.exchange import (
    AttemptLine,
    DocumentLine,
    EndLine,
    HeaderLine,
    LogRecord,
    MediaLine,
    ParamLine,
    PointsLine,
    RunLine,
    SpanLine,
    TagLine,
)
from mapi.wire.values import values_to_wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mapi.database.door import Database, Reach
    from mapi.search import Position, Search

__all__ = ["SeriesSlice", "export_lines", "found_runs", "point_slices", "the_run"]

#: Points of one slice: 0.3 MB of JSON.
_POINTS: Final = 5_000
#: Rows of one slice of anything else; the longest params or messages of so many are a few MB.
_ROWS: Final = 200
_RUNS: Final = 200
_NO_UUID: Final = UUID(int=0)
_encoder: Final = msgspec.json.Encoder()


class SeriesSlice(msgspec.Struct, frozen=True):
    """Some points of one series and attempt, by step."""

    run: str
    key: str
    labels: dict[str, str]
    attempt: int
    source: str
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
    database: Database, reach: Reach, runs: AsyncIterator[UUID]
) -> AsyncIterator[bytes]:
    """Yield everything that the runs have, as lines that an import takes back."""
    count = 0
    yield _line(HeaderLine())
    async for run_id in runs:
        async for part in _run_lines(_Reader(database, reach, run_id)):
            count += len(part)
            yield b"".join(_line(one) for one in part)
    yield _line(EndLine(lines=count + 1))


def _line(line: msgspec.Struct) -> bytes:
    return _encoder.encode(line) + b"\n"


class _Reader:
    """Reads slices of one run."""

    def __init__(self, database: Database, reach: Reach, run_id: UUID) -> None:
        self._database = database
        self._reach = reach
        self.run_id = run_id
        self.run = text_from_uuid(RUN, run_id)

    async def rows(self, name: str, **about: Any) -> list[dict[str, Any]]:
        """Return the rows of a statement."""
        async with (
            self._database.transaction(self._reach) as connection,
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            await cursor.execute(query(name), {"run": self.run_id, **about})
            return await cursor.fetchall()

    async def slices(
        self, name: str, column: str, first: Any
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the rows of a statement that goes on behind the last row's ``column``."""
        after = first
        while rows := await self.rows(name, after=after, limit=_ROWS):
            yield rows
            if len(rows) < _ROWS:
                return
            after = rows[-1][column]

    async def points(self, part: CurvePart) -> AsyncIterator[list[Stored]]:
        """Yield all points of a series that one attempt wrote."""
        first = SCALAR_STEP
        while True:
            async with self._database.transaction(self._reach) as connection:
                found = await read_points(connection, [part], Stretch(first), limit=_POINTS + 1)
            if found:
                yield found[:_POINTS]
            if len(found) <= _POINTS:
                return
            first = found[_POINTS].step


async def point_slices(
    database: Database, reach: Reach, runs: AsyncIterator[UUID]
) -> AsyncIterator[SeriesSlice]:
    """Yield all points that the runs have, whatever attempt wrote them."""
    async for run_id in runs:
        async for one in _series_slices(_Reader(database, reach, run_id)):
            yield one


async def _series_slices(reader: _Reader) -> AsyncIterator[SeriesSlice]:
    async for rows in reader.slices("export.series", "id", 0):
        for row in rows:
            part = CurvePart(row["id"], row["attempt"], None, row["tenant_id"])
            async for points in reader.points(part):
                yield SeriesSlice(
                    run=reader.run,
                    key=row["key"],
                    labels=row["labels"],
                    attempt=row["attempt"],
                    source=row["source"],
                    points=points,
                )


async def _run_lines(reader: _Reader) -> AsyncIterator[list[msgspec.Struct]]:
    """Yield the lines of one run in portions."""
    found = await reader.rows("export.run")
    if not found:
        return  # purged meanwhile
    yield [_run_line(reader.run, found[0])]
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
    async for one in _series_slices(reader):
        yield [_points_line(one)]
    async for rows in reader.slices("export.logs", "id", 0):
        yield [_log_line(reader.run, row) for row in rows]
    async for rows in reader.slices("export.spans", "id", 0):
        yield [SpanLine(run=reader.run, **_without_id(row)) for row in rows]
    async for rows in reader.slices("export.media", "id", _NO_UUID):
        yield [_media_line(reader.run, row) for row in rows]


def _run_line(run: str, row: dict[str, Any]) -> RunLine:
    parent, retried = row["parent_id"], row["retry_of_id"]
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
    )


async def _documents(reader: _Reader) -> AsyncIterator[DocumentLine]:
    after: dict[str, Any] = {"after_name": "", "after_stream": "", "after_rank": -1}
    while rows := await reader.rows("export.documents", **after):
        row = rows[0]
        yield DocumentLine(run=reader.run, **row)
        after = {f"after_{name}": row[name] for name in ("name", "stream", "rank")}


def _points_line(one: SeriesSlice) -> PointsLine:
    return PointsLine(
        run=one.run,
        key=one.key,
        labels=one.labels,
        attempt=one.attempt,
        source=Source(one.source),
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
