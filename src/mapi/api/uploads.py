"""Uploads of media: signed for bytes of one size and hash, sent without a token, once.

What was sent is recorded, or let go, by `media`.
"""

import logging
from typing import Any, Final
from uuid import UUID, uuid4

from litestar import Request, post
from litestar.datastructures import UploadFile
from litestar.di import NamedDependency
from litestar.params import FromPath

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.authentication import PUBLIC
from mapi.api.bodies import read_body
from mapi.api.description import BODY, BODY_TYPES
from mapi.api.events import IS_QUIET
from mapi.api.rights import RIGHT
from mapi.api.senders import sender_at
from mapi.database.door import Connection, Database, Reach
from mapi.errors import Fault, InvalidError, MapiError, NotFoundError, QuotaError, StateError
from mapi.objects.permits import UploadPermits
from mapi.objects.store import Expectation, ObjectStore, UploadTerms, check_expected
from mapi.tracking.media import CONTENT_TYPES, check_content, refused_size, warn_of_rejected
from mapi.tracking.writing import API, open_writing
from mapi.wire.decoding import BODY_BYTES_MAX, decode
from mapi.wire.enums import MediaFormat, Scope
from mapi.wire.media import MEDIA_BYTES_MAX, UploadAnswer, UploadRequest

__all__ = ["announced_format", "receive", "sign", "upload_folder"]

_logger: Final = logging.getLogger("mapi.api")
#: Long enough for the slowest line, short enough to be worth little.
_UPLOAD_SECONDS = 900
#: The fields of a form around the bytes.
_FORM_BYTES = 65_536


@post(
    "/v1/runs/{run:str}/media/uploads",
    opt={IS_QUIET: True, RIGHT: Scope.WRITE, BODY: UploadRequest},
    status_code=201,
    summary="Sign an upload",
)
async def sign(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    objects: NamedDependency[ObjectStore],
    run: FromPath[str],
) -> UploadAnswer:
    """Return how to send bytes of exactly this size and hash, once, without a token."""
    sent = decode(await read_body(request, bytes_max=BODY_BYTES_MAX), UploadRequest)
    run_id = uuid_from_text(RUN, run)
    sender = sender_at(request.user, stream="", rank=0)

    async def refused(connection: Connection) -> QuotaError | None:
        writing = await open_writing(connection, run_id, sender)
        return await refused_size(writing, sent.size_bytes)

    # Raised behind the commit, which keeps the warning.
    if (refusal := await database.run(request.user.reach, refused)) is not None:
        raise refusal
    signed = await objects.sign_upload(
        UploadTerms(
            f"{upload_folder(request.user, run_id)}/{uuid4()}.{sent.format.value}",
            sent.size_bytes,
            bytes.fromhex(sent.sha256),
            CONTENT_TYPES[sent.format],
        ),
        lifetime_seconds=_UPLOAD_SECONDS,
    )
    return UploadAnswer(
        method=signed.method,
        url=signed.url,
        headers=signed.headers,
        fields=signed.fields,
        key=signed.key,
        expires=signed.expires,
    )


@post(
    "/v1/uploads",
    opt={PUBLIC: True, BODY_TYPES: ("multipart/form-data",)},
    status_code=204,
    summary="Send the bytes of a signed upload",
    request_max_body_size=MEDIA_BYTES_MAX + _FORM_BYTES,
)
async def receive(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Any, Any, Any],
    database: NamedDependency[Database],
    objects: NamedDependency[ObjectStore],
    permits: NamedDependency[UploadPermits],
) -> None:
    """Take the form that was signed: its fields as they are, and the bytes as `file`, once.

    Bytes of another size, hash or format than was announced are refused, and nothing is kept; the
    run is warned.
    """
    form = await request.form()
    file = form.get("file")
    if not isinstance(file, UploadFile):
        raise InvalidError(Fault("/file", "the form has no file called file"))
    fields = {
        name: value
        for name, value in form.multi_items()
        if name != "file" and isinstance(value, str)
    }
    terms = permits.verify(fields)
    content = await file.read()
    expected = Expectation(terms.size_bytes, terms.sha256, MEDIA_BYTES_MAX)
    try:
        await check_expected(terms.key, content, expected)
        check_content(content, said=announced_format(terms.key))
    except InvalidError as error:
        await _warn_of_upload(database, terms.key, reason=error.faults[0].message)
        raise
    await objects.put(terms.key, content, expected=expected)


def announced_format(upload_key: str) -> MediaFormat | None:
    """Return what an upload was announced as; its key ends with it, which is signed."""
    suffix = upload_key.rpartition(".")[2]
    return MediaFormat(suffix) if suffix in set(MediaFormat) else None


async def _warn_of_upload(database: Database, upload_key: str, *, reason: str) -> None:
    """Warn a run of bytes that are not what was announced.

    Nobody says who sent them. The key says for which run they were signed, and is signed itself; a
    run that is gone since, or in the trash, is not told. Nor is one that cannot be told now: the
    answer to whoever sent the bytes is that they are wrong, whatever becomes of the warning.
    """
    # As `upload_folder` makes it.
    _, tenant_id, run_id, _ = upload_key.split("/")

    async def warn(connection: Connection) -> None:
        await warn_of_rejected(connection, UUID(run_id), API, key=None, reason=reason)

    try:
        await database.run(Reach(int(tenant_id)), warn)
    except (NotFoundError, StateError):
        pass
    except MapiError as error:
        _logger.warning(
            "a run could not be warned of an upload", extra={"run": run_id, "error": str(error)}
        )


def upload_folder(principal: Principal, run_id: UUID) -> str:
    """Return where the uploads of a run stand in the store."""
    return f"uploads/{principal.tenant_id}/{run_id}"
