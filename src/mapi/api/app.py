"""The application: every route, and what stands before all of them."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING

from litestar import Litestar
from litestar.di import Provide
from litestar.enums import ScopeType
from litestar.middleware import DefineMiddleware
from litestar.openapi import OpenAPIConfig

from mapi.api import (
    attempts,
    comparing,
    corrections,
    curves,
    documents,
    events,
    exports,
    health,
    logs,
    params,
    points,
    runs,
    spans,
    tags,
)
from mapi.api.authentication import TokenAuthentication
from mapi.api.cursors import Cursors
from mapi.api.problems import exception_handlers
from mapi.api.query_parameters import refuse_unknown_parameters
from mapi.api.rights import check_declared, require_scope
from mapi.tracking.changes import Changes
from mapi.tracking.following import Following
from mapi.wire.decoding import BATCH_BYTES_MAX

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Scope, Send

    from mapi.database.door import Database

__all__ = ["build_app"]

_ROUTES = (
    health.alive,
    health.ready,
    runs.create,
    runs.read,
    runs.change,
    runs.trash,
    runs.restore,
    runs.heartbeat,
    events.follow_run,
    events.follow_project,
    curves.series,
    curves.points,
    comparing.compare_runs,
    comparing.read_groups,
    exports.export_run,
    exports.export_runs,
    exports.import_runs,
    points.write,
    points.correct,
    points.read_writers,
    attempts.register,
    attempts.end,
    attempts.read,
    params.write,
    params.read,
    tags.write,
    tags.remove,
    tags.read,
    logs.append,
    logs.read,
    spans.append,
    spans.read,
    documents.put_environment,
    documents.put_config,
    documents.read_environment,
    documents.read_config,
    corrections.correct,
)


def build_app(database: Database, *, version: str, changes: Changes | None = None) -> Litestar:
    """Return the application over an opened database.

    Args:
        database: the door; the application neither opens nor closes it.
        version: of the program, for the description of the interface.
        changes: which runs change, on all replicas; without it streams hear of nothing.

    Raises:
        RuntimeError: a route declares no right.
    """
    cursors = Cursors(database)
    changes = changes or Changes(database, None)
    following = Following(database, changes)
    app = Litestar(
        route_handlers=list(_ROUTES),
        dependencies={
            "database": Provide(lambda: database, sync_to_thread=False),
            "cursors": Provide(lambda: cursors, sync_to_thread=False),
            "following": Provide(lambda: following, sync_to_thread=False),
        },
        middleware=[_name_requests, DefineMiddleware(TokenAuthentication, database=database)],
        guards=[require_scope, refuse_unknown_parameters],
        exception_handlers=exception_handlers(),
        before_send=[events.note_changes(changes)],
        on_startup=[changes.open],
        on_shutdown=[changes.close],
        request_max_body_size=BATCH_BYTES_MAX,
        openapi_config=OpenAPIConfig(
            title="mapi", version=version, path="/v1", create_examples=False
        ),
    )
    check_declared(app)
    return app


def _name_requests(app: ASGIApp) -> ASGIApp:
    """Give each request an id, which its answer and the server's log carry."""

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            scope.setdefault("state", {})["request_id"] = f"req_{token_hex(8)}"
        await app(scope, receive, send)

    return named
