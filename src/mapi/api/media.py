"""``/v1/runs/{id}/media``: images and small tables, by one request or by an upload that `uploads` signed."""

import contextlib
import hashlib
import time
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Redirect, Stream

from mapi.access.cursors import Cursors
from mapi.access.identifiers import MEDIA, RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.bodies import read_body
from mapi.api.description import ANSWERS, BODY, BODY_TYPES, MEDIA_TYPES
from mapi.api.links import next_link
from mapi.api.preconditions import is_known
from mapi.api.queries import QUERY_PREFIXES
from mapi.api.query_readers import KEYS_MAX, LABEL, check_keys, read_labels
from mapi.api.rights import RIGHT
from mapi.api.run_rights import find_run
from mapi.api.senders import sender_of
from mapi.api.uploads import announced_format, upload_folder
from mapi.database.door import Connection, Database
from mapi.errors import (
    Fault,
    InvalidError,
    MapiError,
    NotFoundError,
    UnavailableError,
)
from mapi.objects.store import ObjectStore
from mapi.series.name_map import with_writer
from mapi.series.names import canonical_labels, check_key, check_labels
from mapi.tracking.media import (
    CONTENT_TYPES,
    MediaPlace,
    MediaPosition,
    check_content,
    get_media,
    list_media,
    record_media,
    warn_of_rejected,
)
from mapi.tracking.pruned import read_pruned
from mapi.tracking.writing import Sender, open_writing
from mapi.wire.decoding import BODY_BYTES_MAX, decode, pointer
from mapi.wire.enums import MediaFormat, Scope, WarningCode
from mapi.wire.media import (
    CAPTION_LENGTH_MAX,
    MEDIA_BYTES_MAX,
    MediaFacts,
    MediaPage,
    MediaRecord,
)
from mapi.wire.metrics import RANK_MAX, STEP_MAX, WRITER_LENGTH_MAX
from mapi.wire.times import check_time_us, time_from_us, time_to_us

__all__ = ["content", "list_all", "record"]

#: The table's own type: plain JSON is the record of an upload.
TABLE_TYPE = "application/vnd.mapi.table+json"
_SENT_TYPES = {
    "image/png": MediaFormat.PNG,
    "image/jpeg": MediaFormat.JPEG,
    TABLE_TYPE: MediaFormat.TABLE,
}
_KINDS = ("application/json", *_SENT_TYPES)
_PAGE_MAX = 500
#: Long enough for the slowest line, short enough to be worth little.
_DOWNLOAD_SECONDS = 300


@post(
    "/v1/runs/{run:str}/media",
    opt={
        RIGHT: Scope.WRITE,
        BODY: MediaRecord,
        BODY_TYPES: _KINDS,
        QUERY_PREFIXES: (LABEL,),
        ANSWERS: (200, 201),
    },
    summary="Keep a media item",
    request_max_body_size=MEDIA_BYTES_MAX + 1,
)
async def record(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    objects: NamedDependency[ObjectStore],
    run: FromPath[str],
    key: FromQuery[str | None] = None,
    step: Annotated[int | None, QueryParameter(ge=0, le=STEP_MAX)] = None,
    caption: Annotated[str, QueryParameter(max_length=CAPTION_LENGTH_MAX)] = "",
    at: Annotated[int | None, QueryParameter(name="time", ge=0)] = None,
    stream: FromQuery[str] = "",
    rank: Annotated[int, QueryParameter(ge=0, le=RANK_MAX)] = 0,
    writer: Annotated[
        str | None, QueryParameter(min_length=1, max_length=WRITER_LENGTH_MAX)
    ] = None,
    seq: Annotated[int | None, QueryParameter(ge=0, le=STEP_MAX)] = None,
    after: Annotated[int | None, QueryParameter(ge=-1, le=STEP_MAX)] = None,
) -> Response[MediaFacts]:
    """Keep an image or a table: its bytes are the body, or were sent by a signed upload.

    Bytes come with their type, and with `key`, `label.*`, `step`, `caption` and `time`
    (microseconds since 1970) in the query. A table's type is `application/vnd.mapi.table+json`.
    Plain JSON is the record of an upload that was signed before. The same bytes at the same key,
    labels and step are kept once, with the newest caption; other bytes there replace them. With `writer`, `seq` and `after` an
    item is kept in its turn alone: one that comes late or out of turn is refused (409), and
    `accepted_seq` says where the writer stands.
    """
    run_id = uuid_from_text(RUN, run)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _SENT_TYPES:
        if request.query_params:
            name = next(iter(request.query_params))
            raise InvalidError(
                Fault(
                    pointer("query", name),
                    "the record of an upload says this in its body; with bytes in the body, send "
                    f"their type: {', '.join(_SENT_TYPES)}",
                )
            )
        return await _record_upload(request, database, objects, run_id=run_id)
    if key is None:
        raise InvalidError(Fault("/query/key", "bytes come with the key that they are kept under"))
    numbered = _Numbered(stream, rank, writer, seq, after)
    sender = sender_of(request.user, numbered, pointer_of="/query")
    place = _place(
        key,
        read_labels(request.query_params),
        sender,
        step=step,
        caption=caption,
        at=at,
        pointer_of="/query",
    )
    body = await read_body(request, bytes_max=MEDIA_BYTES_MAX, kinds=_KINDS)
    keeping = _Keeping(database, objects, run_id, sender, place)
    return await keeping.keep(body, said=_SENT_TYPES[kind])


async def _record_upload(
    request: Request[Principal, Any, Any],
    database: Database,
    objects: ObjectStore,
    *,
    run_id: UUID,
) -> Response[MediaFacts]:
    sent = decode(await read_body(request, bytes_max=BODY_BYTES_MAX), MediaRecord)
    sender = sender_of(request.user, sent)
    wrong = check_labels(sent.labels)
    if wrong is not None:
        raise InvalidError(Fault("/labels", wrong))
    place = _place(
        sent.key,
        sent.labels,
        sender,
        step=sent.step,
        caption=sent.caption,
        at=None if sent.time is None else time_to_us(sent.time),
        pointer_of="",
    )

    async def may_write(connection: Connection) -> None:
        await open_writing(connection, run_id, sender)

    await database.run(request.user.reach, may_write)
    # Before the store is asked: what else stands in it is nobody's business.
    if not sent.upload_key.startswith(f"{upload_folder(request.user, run_id)}/"):
        raise InvalidError(
            Fault("/upload_key", f"{sent.upload_key[:80]!r} is no upload of this run")
        )
    try:
        body = await objects.read(sent.upload_key, size_bytes_max=MEDIA_BYTES_MAX)
    except NotFoundError:
        body = b""
    # What was recorded before is empty, and no upload is.
    if not body:
        raise InvalidError(
            Fault(
                "/upload_key",
                f"nothing was uploaded as {sent.upload_key[:80]!r}, or it was recorded already",
            )
        )
    try:
        keeping = _Keeping(database, objects, run_id, sender, place)
        said = announced_format(sent.upload_key)
        answer = await keeping.keep(body, said=said, sha256=sent.sha256)
    except UnavailableError:
        # Nobody knows whether it was recorded: the same request asks again, and needs the bytes.
        raise
    except MapiError:
        await _retire(objects, sent.upload_key)
        raise
    await _retire(objects, sent.upload_key)
    return answer


async def _retire(objects: ObjectStore, upload_key: str) -> None:
    """Take away the bytes of an upload, recorded or rejected; with a free key its permit would be good again."""
    with contextlib.suppress(MapiError):
        await objects.retire(upload_key)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """Who sends the bytes of a body, and where in a queue, as the query says it."""

    stream: str
    rank: int
    writer: str | None
    seq: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class _Keeping:
    """One item on its way in."""

    database: Database
    objects: ObjectStore
    run_id: UUID
    sender: Sender
    place: MediaPlace

    async def keep(
        self, body: bytes, *, said: MediaFormat | None, sha256: str | None = None
    ) -> Response[MediaFacts]:
        """Check the bytes and keep them; what fails the check is warned of, and nothing is kept."""
        assert self.sender.principal is not None
        reach = self.sender.principal.reach
        try:
            _check_sha256(body, sha256)
            header = check_content(body, said=said)
        except InvalidError as error:
            reason = error.faults[0].message

            async def warn(connection: Connection) -> None:
                await warn_of_rejected(
                    connection, self.run_id, self.sender, key=self.place.key, reason=reason
                )

            await self.database.run(reach, warn)
            raise
        facts, is_new = await record_media(
            self.database,
            self.objects,
            reach,
            run_id=self.run_id,
            sender=self.sender,
            place=self.place,
            content=body,
            header=header,
        )
        return Response(
            facts,
            status_code=201 if is_new else 200,
            headers={"Location": f"/v1/runs/run_{self.run_id}/media/{facts.id}/content"},
        )


@get(
    "/v1/runs/{run:str}/media",
    opt={RIGHT: Scope.READ, QUERY_PREFIXES: (LABEL,)},
    summary="List media items",
)
async def list_all(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    cursors: NamedDependency[Cursors],
    run: FromPath[str],
    keys: Annotated[list[str] | None, QueryParameter(name="key", max_items=KEYS_MAX)] = None,
    step: Annotated[int | None, QueryParameter(ge=-1, le=STEP_MAX)] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=_PAGE_MAX)] = 100,
    cursor: FromQuery[str | None] = None,
) -> Response[MediaPage]:
    """Return items by key, labels and step; step -1 are those without one."""
    check_keys(keys)
    labels = read_labels(request.query_params)
    question = {"route": "media", "run": run, "keys": keys, "labels": labels, "step": step}
    after = None
    if cursor is not None:
        found = cursors.read(cursor, question)
        after = MediaPosition(found["key"], found["labels"], found["hash"], found["step"])
    async with database.snapshot(request.user.reach) as connection:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.READ)
        media, end = await list_media(
            connection, run_id, keys=keys, labels=labels, step=step, after=after, limit=limit
        )
        gone = await read_pruned(connection, run_id)
    page = MediaPage(media=media, pruned_count=0 if gone is None else gone.media_items)
    if end is None:
        return Response(page)
    following = cursors.write(
        question,
        {"key": end.key, "labels": end.labels_text, "hash": end.labels_hash, "step": end.step},
    )
    page.next_cursor = following
    return Response(page, headers={"Link": next_link(request, following)})


@get(
    "/v1/runs/{run:str}/media/{media:str}/content",
    opt={
        RIGHT: Scope.READ,
        MEDIA_TYPES: tuple(CONTENT_TYPES.values()),
        ANSWERS: (200, 302, 304),
    },
    summary="Read the content of a media item",
)
async def content(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, Any, Any],
    database: NamedDependency[Database],
    objects: NamedDependency[ObjectStore],
    run: FromPath[str],
    media: FromPath[str],
) -> Response[Any]:
    """Return the bytes, or where the store has them for a short while; always as an attachment.

    A page gets the bytes: it asks no other origin than this one, and its policy lets it ask none.
    """
    async with database.transaction(request.user.reach) as connection:
        run_id, _ = await find_run(connection, request.user, run, scope=Scope.READ)
        found = await get_media(connection, run_id, uuid_from_text(MEDIA, media))
    facts = found.facts
    kind = CONTENT_TYPES[facts.format]
    suffix = "json" if facts.format is MediaFormat.TABLE else facts.format.value
    name = f"{facts.key}.{suffix}" if facts.step is None else f"{facts.key}_{facts.step}.{suffix}"
    etag = f'"{facts.sha256}"'
    # An id never gets other bytes, so what was read once is good for ever, for this reader.
    headers = {"ETag": etag, "Cache-Control": "private, max-age=31536000, immutable"}
    if is_known(request, etag):
        return Response(None, status_code=304, headers=headers)
    url = None
    if not request.user.is_session:
        url = await objects.sign_download(
            found.object_key, file_name=name, content_type=kind, lifetime_seconds=_DOWNLOAD_SECONDS
        )
    if url is not None:
        return Redirect(url, status_code=302, headers={"Cache-Control": "private, no-store"})
    return Stream(
        await objects.get(found.object_key),
        media_type=kind,
        headers={
            **headers,
            "Content-Length": str(facts.size_bytes),
            # Of a key, which is letters, digits and _: nothing in it needs to be escaped.
            "Content-Disposition": f'attachment; filename="{name}"',
        },
    )


def _place(  # noqa: PLR0913 - its parts
    key: str,
    labels: dict[str, str],
    sender: Sender,
    *,
    step: int | None,
    caption: str,
    at: int | None,
    pointer_of: str,
) -> MediaPlace:
    now_us = time.time_ns() // 1_000
    faults = []
    if (wrong := check_key(key)) is not None:
        faults.append(Fault(f"{pointer_of}/key", wrong))
    if (wrong := check_labels(labels)) is not None:
        faults.append(Fault(f"{pointer_of}/labels", wrong))
    if at is not None and (wrong := check_time_us(at, now_us=now_us)) is not None:
        faults.append(Fault(f"{pointer_of}/time", wrong))
    if faults:
        raise InvalidError(faults)
    return MediaPlace(
        key,
        with_writer(canonical_labels(labels), stream=sender.stream, rank=sender.rank),
        step,
        caption,
        time_from_us(now_us if at is None else at),
    )


def _check_sha256(body: bytes, said: str | None) -> None:
    if said is None:
        return
    found = hashlib.sha256(body).hexdigest()
    if found != said:
        raise InvalidError(
            Fault(
                "/sha256",
                f"the content has the SHA-256 {found}, not {said}",
                code=WarningCode.MEDIA_REJECTED,
            )
        )
