"""``POST /v1/runs/{id}/metrics``: points in."""

import time
from typing import Any

from litestar import Request, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.bodies import read_body
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.series.identity import identify
from mapi.tracking.batch import PointBatch, Series
from mapi.tracking.ingest import write_points
from mapi.tracking.runs import project_of
from mapi.wire.decoding import BATCH_BYTES_MAX
from mapi.wire.enums import Scope
from mapi.wire.metric_columns import decode_metrics
from mapi.wire.metrics import BatchAnswer

__all__ = ["write"]


@post(
    "/v1/runs/{run:str}/metrics", opt={RIGHT: Scope.WRITE}, status_code=200, summary="Log points"
)
async def write(
    request: Request[Principal, Any, Any], database: NamedDependency[Database], run: FromPath[str]
) -> BatchAnswer:
    """Write points, as rows or as columns; what is sent again changes nothing and is counted."""
    body = await read_body(request, bytes_max=BATCH_BYTES_MAX)
    columns = decode_metrics(body, now_us=time.time_ns() // 1_000)
    found = identify(columns)
    batch = PointBatch(
        [Series(key, labels) for key, labels in found.series],
        found.index,
        columns.steps,
        columns.times_us,
        columns.values,
    )
    run_id = uuid_from_text(RUN, run)

    async def work(connection: Connection) -> BatchAnswer:
        request.user.require(Scope.WRITE, await project_of(connection, run_id))
        counts = await write_points(connection, run_id, batch, attempt=columns.attempt or 1)
        return BatchAnswer(
            accepted=counts.accepted, duplicates=counts.duplicates, conflicts=counts.conflicts
        )

    return await database.run(request.user.reach, work)
