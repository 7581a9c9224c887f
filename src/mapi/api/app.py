"""The application: every route, and what stands before all of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Final

from litestar import Litestar
from litestar.di import Provide
from litestar.middleware import DefineMiddleware

from mapi.access.cursors import Cursors
from mapi.access.last_use import WRITE_SECONDS, LastUses
from mapi.api import (
    attempts,
    audit,
    columns,
    comparing,
    corrections,
    curves,
    description,
    documents,
    events,
    experiments,
    exports,
    fields,
    health,
    home,
    limits,
    logs,
    media,
    members,
    metrics_page,
    params,
    points,
    projects,
    retention,
    run_budgets,
    runs,
    searches,
    sessions,
    sign_in,
    spans,
    tags,
    tokens,
    uploads,
    views,
)
from mapi.api.authentication import RequestLimits, TokenAuthentication
from mapi.api.entrance import Entrance
from mapi.api.front import Front
from mapi.api.guards import guarded
from mapi.api.meters import Meters
from mapi.api.methods import Methods
from mapi.api.oidc import IdentityProvider
from mapi.api.pages import PagesFront, tidied_page
from mapi.api.problems import answers_by_exception
from mapi.api.rights import check_declared
from mapi.errors import MapiError
from mapi.tracking.changes import Changes
from mapi.tracking.following import Following
from mapi.wire.decoding import BATCH_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mapi.api.pages import Pages
    from mapi.database.door import Database
    from mapi.objects.permits import UploadPermits
    from mapi.objects.store import ObjectStore

__all__ = ["build_app"]

_logger: Final = logging.getLogger("mapi.api")

_ROUTES = (
    health.alive,
    health.ready,
    metrics_page.meters_text,
    description.openapi,
    home.home,
    home.sign_out,
    sign_in.by_code,
    sign_in.by_form,
    sign_in.oidc_begin,
    sign_in.oidc_end,
    sessions.read,
    sessions.open_by_token,
    sessions.close,
    tokens.list_all,
    tokens.create,
    tokens.revoke,
    members.list_all,
    members.set_role,
    members.remove,
    projects.list_all,
    projects.create,
    limits.read,
    limits.write,
    limits.usage,
    retention.read,
    audit.read,
    runs.create,
    runs.read,
    runs.change,
    runs.trash,
    runs.cancel,
    runs.life,
    runs.retry,
    runs.restore,
    runs.purge,
    runs.heartbeat,
    searches.find,
    searches.search,
    searches.parse,
    fields.read,
    experiments.list_all,
    experiments.create,
    experiments.read,
    experiments.change,
    experiments.remove,
    experiments.archive,
    experiments.unarchive,
    views.list_all,
    views.create,
    views.read,
    views.change,
    views.remove,
    events.follow_run,
    events.follow_project,
    curves.series,
    curves.points,
    columns.columns,
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
    run_budgets.read,
    params.write,
    params.read,
    tags.write,
    tags.remove,
    tags.read,
    logs.append,
    logs.read,
    media.record,
    uploads.sign,
    uploads.receive,
    media.list_all,
    media.content,
    spans.append,
    spans.read,
    documents.put_environment,
    documents.put_config,
    documents.read_environment,
    documents.read_config,
    documents.read_all,
    corrections.correct,
)


def build_app(
    database: Database,
    *,
    version: str,
    objects: tuple[ObjectStore, UploadPermits],
    entrance: Entrance | None = None,
    changes: Changes | None = None,
    pages: Pages | None = None,
) -> Litestar:
    """Return the application over an opened database.

    Args:
        database: the door; the application neither opens nor closes it.
        version: of the program, for the description of the interface.
        objects: the store of media, and what reads permits of uploads to it.
        entrance: what the operator decides about the way in; by default any host, no limits.
        changes: which runs change, on all replicas; without it streams hear of nothing.
        pages: what people look at; without them ``/`` says how to build them.

    Raises:
        RuntimeError: a route declares no right.
    """
    entrance = Entrance() if entrance is None else entrance
    changes = Changes(database, None) if changes is None else changes
    meters, uses = Meters(), LastUses()
    provider = None if entrance.oidc is None else IdentityProvider(entrance.oidc, entrance.secret)
    app = Litestar(
        route_handlers=list(_ROUTES),
        dependencies={
            "database": _given(database),
            "entrance": _given(entrance),
            "meters": _given(meters),
            "identity_provider": _given(provider),
            "cursors": _given(Cursors(entrance.secret)),
            "objects": _given(objects[0]),
            "permits": _given(objects[1]),
            "following": _given(Following(database, changes)),
        },
        middleware=[
            DefineMiddleware(
                TokenAuthentication,
                database=database,
                uses=uses,
                limits=RequestLimits(entrance.requests_per_second),
            ),
            guarded,
        ],
        exception_handlers=answers_by_exception(),
        before_send=[events.note_changes(changes)],
        lifespan=[_stamping(database, uses)],
        on_startup=[changes.open],
        on_shutdown=[changes.close],
        request_max_body_size=BATCH_BYTES_MAX,
        # The program decides where its log goes; the framework would take the root logger.
        logging_config=None,
        # Ours is made from the structs that the decoders enforce.
        openapi_config=None,
    )
    check_declared(app)
    app.state.description = description.describe(app, version=version)
    methods = Methods(app)
    # Before the router: routes that do not exist are counted and answered alike.
    app.asgi_handler = Front(
        PagesFront(app.asgi_handler, pages, methods),
        entrance=entrance,
        meters=meters,
        methods=methods,
        tidied=tidied_page,
    )
    return app


def _given(value: object) -> Provide:
    return Provide(lambda: value, sync_to_thread=False)


def _stamping(database: Database, uses: LastUses) -> Callable[[Litestar], Any]:
    """Return what writes the last uses of tokens while the application runs, and at its end."""

    @contextlib.asynccontextmanager
    async def running(_app: Litestar) -> AsyncIterator[None]:
        task = asyncio.create_task(_stamp(database, uses))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with contextlib.suppress(MapiError):
                await uses.write(database)

    return running


async def _stamp(database: Database, uses: LastUses) -> None:
    while True:
        await asyncio.sleep(WRITE_SECONDS)
        try:
            await uses.write(database)
        except MapiError as error:  # the next minute will do
            _logger.warning("the last uses of tokens were not written: %s", error)
