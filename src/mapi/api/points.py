"""``POST /v1/runs/{id}/metrics``: points in, corrected, and how far each writer was taken."""

import time
from typing import Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.batches import batch_answer
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.series.identity import identify
from mapi.tracking.batch import PointBatch, Series
from mapi.tracking.corrections import correct_points
from mapi.tracking.ingest import write_batch
from mapi.tracking.runs import project_of
from mapi.tracking.writing import Counts, Sender, list_writers
from mapi.wire.decoding import BATCH_BYTES_MAX
from mapi.wire.enums import Scope
from mapi.wire.metric_columns import MetricColumns, decode_metrics
from mapi.wire.metrics import BatchAnswer, MetricsBody, WriterPosition, Writers

__all__ = ["correct", "read_writers", "write"]


@post(
    "/v1/runs/{run:str}/metrics",
    opt={RIGHT: Scope.WRITE, BODY: MetricsBody},
    status_code=200,
    summary="Log points",
)
async def write(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> BatchAnswer:
    """Write points, as rows or as columns; what is sent again changes nothing and is counted."""
    columns, batch, sender = await _read(request)
    run_id = uuid_from_text(RUN, run)

    counts = await write_batch(database, request.user.reach, run_id, batch=batch, sender=sender)
    return batch_answer(counts, columns.pointer)


@post(
    "/v1/runs/{run:str}/metrics/corrections",
    opt={RIGHT: Scope.WRITE, BODY: MetricsBody},
    status_code=200,
    summary="Log points again",
)
async def correct(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> BatchAnswer:
    """Write points whose steps were logged again: the new value stays, and the audit says so."""
    columns, batch, sender = await _read(request)
    run_id = uuid_from_text(RUN, run)

    async def work(connection: Connection) -> Counts:
        return await correct_points(connection, run_id, batch, sender=sender)

    counts = await database.run(request.user.reach, work)
    return batch_answer(counts, columns.pointer)


@get(
    "/v1/runs/{run:str}/writers", opt={RIGHT: Scope.READ}, summary="How far are the writers taken?"
)
async def read_writers(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> Writers:
    """Return the highest sequence number that was taken of each writer."""
    run_id = uuid_from_text(RUN, run)
    async with database.transaction(request.user.reach) as connection:
        request.user.require(Scope.READ, await project_of(connection, run_id), what="run")
        found = await list_writers(connection, run_id)
    return Writers(writers=[WriterPosition(writer=writer, seq=seq) for writer, seq in found])


async def _read(
    request: Request[Principal, Any, Any],
) -> tuple[MetricColumns, PointBatch, Sender]:
    body = await read_body(request, bytes_max=BATCH_BYTES_MAX)
    columns = decode_metrics(body, now_us=time.time_ns() // 1_000)
    found = identify(columns)
    batch = PointBatch.of(
        [
            Series(key, labels, found.full_names.get(at))
            for at, (key, labels) in enumerate(found.series)
        ],
        index=found.index,
        steps=columns.steps,
        times_us=columns.times_us,
        values=columns.values,
    )
    sender = Sender(
        principal=request.user,
        stream=columns.stream,
        rank=columns.rank,
        attempt=columns.attempt,
        writer=columns.writer,
        seq=columns.seq,
        after=columns.after,
    )
    return columns, batch, sender
