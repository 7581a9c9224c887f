"""Exports and imports: runs out as files, and back in."""

import tempfile
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Stream

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.bodies import IMPORT_BYTES_MAX, read_file
from mapi.api.description import BODY_TYPES, MEDIA_TYPES
from mapi.api.front import IS_HEAD
from mapi.api.query_readers import read_filters
from mapi.api.rights import RIGHT
from mapi.api.run_rights import find_run
from mapi.database.door import Database, Reach
from mapi.search import Search
from mapi.tracking.export import export_lines, found_runs, point_slices, the_run
from mapi.tracking.following import Following
from mapi.tracking.importing import import_file
from mapi.tracking.point_tables import csv_table, parquet_table, require_parquet
from mapi.tracking.runs import resolve_project
from mapi.wire.administration import ImportAnswer
from mapi.wire.enums import ExportFormat, Scope

__all__ = ["export_run", "export_runs", "import_runs"]

_IMPORTED_TYPES = ("application/jsonl", "application/x-ndjson", "application/json")

_MEDIA_TYPES = {
    ExportFormat.CSV: "text/csv",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
    ExportFormat.JSONL: "application/jsonl",
}


@get(
    "/v1/runs/{run:str}/export",
    opt={RIGHT: Scope.READ, MEDIA_TYPES: tuple(_MEDIA_TYPES.values())},
    summary="Export a run",
)
async def export_run(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    run: FromPath[str],
    form: Annotated[ExportFormat, QueryParameter(name="format")] = ExportFormat.JSONL,
) -> Stream:
    """Stream a run as it was logged: everything as `jsonl`, its points as `csv` or `parquet`."""
    async with database.transaction(request.user.reach) as connection:
        run_id, project_id = await find_run(connection, request.user, run, scope=Scope.READ)
    reach = Reach(request.user.tenant_id, (project_id,))
    found = _file(database, reach, the_run(run_id), form=form, name=f"run_{run_id}")
    return _without_content(found) if request.scope["state"].get(IS_HEAD) else found


@get(
    "/v1/export/runs",
    opt={RIGHT: Scope.READ, MEDIA_TYPES: tuple(_MEDIA_TYPES.values())},
    summary="Export runs",
)
async def export_runs(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    form: Annotated[ExportFormat, QueryParameter(name="format")] = ExportFormat.JSONL,
    filters: Annotated[list[str] | None, QueryParameter(name="filter")] = None,
    project: FromQuery[str | None] = None,
) -> Stream:
    """Stream all runs that a filter matches, newest first.

    Without a filter a `jsonl` export begins with all experiments and saved views of the project.
    """
    wanted = read_filters(filters)
    async with database.transaction(request.user.reach) as connection:
        project_id = await resolve_project(
            connection, request.user, project, pointer="/query/project"
        )
    request.user.require(Scope.READ, project_id)
    reach = Reach(request.user.tenant_id, (project_id,))
    runs = found_runs(database, reach, Search(project_id, datetime.now(UTC), wanted))
    whole = None if filters else project_id
    found = _file(database, reach, runs, form=form, name="runs", project_id=whole)
    return _without_content(found) if request.scope["state"].get(IS_HEAD) else found


@post(
    "/v1/import",
    opt={RIGHT: Scope.WRITE, BODY_TYPES: _IMPORTED_TYPES},
    status_code=200,
    summary="Import runs",
    request_max_body_size=IMPORT_BYTES_MAX,
)
async def import_runs(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    following: NamedDependency[Following],
    project: FromQuery[str | None] = None,
) -> ImportAnswer:
    """Take back a `jsonl` export, with ids, times, steps and attempts; again changes nothing.

    The file is checked whole before anything of it is written.
    """
    principal = request.user
    async with database.transaction(principal.reach) as connection:
        project_id = await resolve_project(
            connection, principal, project, pointer="/query/project"
        )
    principal.require(Scope.WRITE, project_id)
    with tempfile.TemporaryFile() as file:
        await read_file(request, file, bytes_max=IMPORT_BYTES_MAX, kinds=_IMPORTED_TYPES)
        answer = await import_file(
            database, principal, project_id, file=file, now_us=time.time_ns() // 1_000
        )
    for run in answer.runs:
        following.changes.touch(principal.tenant_id, uuid_from_text(RUN, run))
    return answer


def _file(
    database: Database,
    reach: Reach,
    runs: AsyncIterator[UUID],
    *,
    form: ExportFormat,
    name: str,
    project_id: int | None = None,
) -> Stream:
    content: AsyncIterator[bytes]
    match form:
        case ExportFormat.JSONL:
            content = export_lines(database, reach, runs, project_id=project_id)
        case ExportFormat.CSV:
            content = csv_table(point_slices(database, reach, runs))
        case ExportFormat.PARQUET:
            require_parquet()
            content = parquet_table(point_slices(database, reach, runs))
    return Stream(
        content,
        media_type=_MEDIA_TYPES[form],
        headers={
            "Content-Disposition": f'attachment; filename="{name}.{form.value}"',
            "X-Content-Type-Options": "nosniff",
        },
    )


def _without_content(file: Stream) -> Stream:
    """Return the answer to HEAD, for which nothing is read."""
    return Stream(iter(()), media_type=file.media_type, headers=file.headers)
