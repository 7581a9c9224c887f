"""``POST /v1/runs/{id}/corrections``: an authorised delete, with an entry in the audit."""

from typing import Any

from litestar import Request, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.bodies import read_body
from mapi.api.description import BODY
from mapi.api.rights import RIGHT
from mapi.database.door import Connection, Database
from mapi.errors import Fault, InvalidError
from mapi.objects.store import ObjectStore
from mapi.series.names import canonical_labels
from mapi.tracking.batch import Series
from mapi.tracking.corrections import delete_media, delete_param, delete_points
from mapi.tracking.letting_go import let_go
from mapi.tracking.writing import Sender
from mapi.wire.administration import CorrectionBody, Deleted
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import Scope

__all__ = ["correct"]


@post(
    "/v1/runs/{run:str}/corrections",
    opt={RIGHT: Scope.ADMIN, BODY: CorrectionBody},
    status_code=200,
    summary="Delete from the log",
)
async def correct(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    objects: NamedDependency[ObjectStore],
    run: FromPath[str],
) -> Deleted:
    """Delete points of a series, a whole series, a param or a media item."""
    sent = decode(await read_body(request, bytes_max=BODY_BYTES_MAX), CorrectionBody)
    _check(sent)
    run_id = uuid_from_text(RUN, run)
    sender = Sender(principal=request.user, scope=Scope.ADMIN)

    async def work(connection: Connection) -> tuple[int, str | None, int]:
        if sent.key is not None:
            rows = await delete_points(
                connection,
                run_id,
                Series(sent.key, canonical_labels(sent.labels)),
                sender=sender,
                steps=(sent.from_step, sent.to_step),
                reason=sent.reason,
            )
            return rows, None, 0
        if sent.param is not None:
            await delete_param(connection, run_id, sent.param, sender=sender, reason=sent.reason)
            return 1, None, 0
        assert sent.media is not None
        object_key, size_bytes = await delete_media(
            connection, run_id, sent.media, sender=sender, reason=sent.reason
        )
        return 1, object_key, size_bytes

    rows, object_key, size_bytes = await database.run(request.user.reach, work)
    if object_key is not None:
        await let_go(database, objects, [object_key])
    return Deleted(rows=rows, freed_bytes=size_bytes)


def _check(sent: CorrectionBody) -> None:
    given = [name for name in ("key", "param", "media") if getattr(sent, name) is not None]
    if len(given) != 1:
        raise InvalidError(
            Fault(
                "",
                f"{', '.join(given) or 'nothing'} is given: a correction is of one key (a "
                "series), one param or one media item",
                expected=("key", "param", "media"),
            )
        )
    of_series = sent.labels or sent.from_step is not None or sent.to_step is not None
    if sent.key is None and of_series:
        raise InvalidError(Fault(f"/{given[0]}", "labels and steps go with a key"))
    if sent.from_step is not None and sent.to_step is not None and sent.from_step > sent.to_step:
        raise InvalidError(
            Fault("/to_step", f"{sent.to_step} is below from_step, {sent.from_step}")
        )
