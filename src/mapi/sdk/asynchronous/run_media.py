"""Images, figures and tables of a run: kept, listed, read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, Unpack

from mapi.errors import Fault, InvalidError
from mapi.sdk.arguments import check_callable, query_of
from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.asynchronous.transport import read_reply
from mapi.sdk.calls import Call, Repetition, Source, form_of, id_of, path_of
from mapi.sdk.checks import (
    checked,
    checked_labels,
    checked_producer,
    checked_series,
    checked_step,
    checked_time,
    given,
    now_us,
    time_text,
)
from mapi.sdk.pictures import (
    CONTENT_TYPES,
    MediaAbout,
    content_of_figure,
    content_of_file,
    content_of_image,
    content_of_table,
)
from mapi.sdk.queueing import query_of_place
from mapi.wire.media import (
    CAPTION_LENGTH_MAX,
    MediaFacts,
    MediaPage,
    MediaRecord,
    UploadAnswer,
    UploadRequest,
)
from mapi.wire.metrics import BatchAnswer

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from mapi.sdk.calls import Named
    from mapi.sdk.queueing import Place
    from mapi.wire.enums import MediaFormat

__all__ = ["AsyncRunMedia"]

_PAGE_MEDIA: Final = 500
#: The status of an answer: the item was not there.
_MADE: Final = 201


class AsyncRunMedia(AsyncResource):
    """Media items.

    Beside the content, what is kept takes: ``step``, where it belongs; ``labels``, what tells it
    apart; ``caption``, plain text below it; ``time``, by default now; ``producer``, who of the run
    writes; ``progress``, which takes the bytes that went, and how many there are.
    """

    async def log_image(
        self, run: Named, key: str, image: Any, **about: Unpack[MediaAbout]
    ) -> MediaFacts:
        """Keep an image: the path of a PNG or JPEG, its bytes, a Pillow image or an array.

        The same bytes at the same key, labels and step are kept once, with the newest caption; others
        replace them.

        Args:
            run: where.
            key: what it is called, like a metric.
            image: at most 8 MiB as a file.
            about: ``step``, ``labels``, ``caption``, ``time``, ``producer``, ``progress``.

        Raises:
            InvalidError: a part breaks its rule, or this is no image; nothing was sent.
            QuotaExceededError: a budget of the run is spent.
        """
        _check(key, about)
        return await self._keep(run, key, content_of_image(image), about=about)

    async def log_figure(
        self, run: Named, key: str, figure: Any, **about: Unpack[MediaAbout]
    ) -> MediaFacts:
        """Keep a figure of matplotlib as a PNG; `log_image` explains the parts."""
        _check(key, about)
        return await self._keep(run, key, content_of_figure(figure), about=about)

    async def log_table(
        self,
        run: Named,
        key: str,
        rows: Any,
        *,
        columns: Iterable[str] | None = None,
        **about: Unpack[MediaAbout],
    ) -> MediaFacts:
        """Keep a small table: rows with the names of their columns, or a data frame.

        At most 10 000 rows and 8 MiB; `log_image` explains the other parts.

        Args:
            run: where.
            key: what it is called.
            rows: lists of cells, mappings, or a data frame of pandas or polars.
            columns: the names, where the rows have none.
            about: ``step``, ``labels``, ``caption``, ``time``, ``producer``, ``progress``.
        """
        _check(key, about)
        return await self._keep(run, key, content_of_table(columns, rows), about=about)

    async def send_media(
        self,
        run: Named,
        key: str,
        content: bytes | str | os.PathLike[str],
        *,
        place: Place,
        **about: Unpack[MediaAbout],
    ) -> BatchAnswer:
        """Keep a PNG, a JPEG or a table in its turn of a queue, in one request.

        Sent again it is the item that it was, or nothing: what replaced it meanwhile stays.

        Args:
            run: where.
            key: what it is called, like a metric.
            content: bytes, or the path of a file.
            place: where it stands in the queue.
            about: ``step``, ``labels``, ``caption``, ``time``, ``producer``, ``progress``.

        Returns:
            Whether the item is new (``accepted``) or was there as it is (``duplicates``), and where the
            queue stands.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
            StateConflictError: it is not its turn, or it was and other bytes stand there; nothing was
                kept.
            QuotaExceededError: a budget of the run is spent.
        """
        _check(key, about)
        call, source = _keeping(
            run, key, content_of_file(content), about=about, more=query_of_place(place)
        )
        reply = await self._transport.upload_reply(call, source, progress=about.get("progress"))
        read_reply(call, reply)
        is_new = int(reply.status == _MADE)
        return BatchAnswer(accepted=is_new, duplicates=1 - is_new, accepted_seq=place.seq)

    async def _keep(
        self,
        run: Named,
        key: str,
        content: tuple[bytes, MediaFormat],
        *,
        about: MediaAbout,
    ) -> MediaFacts:
        call, source = _keeping(run, key, content, about=about)
        return await self._transport.upload(call, source, progress=about.get("progress"))

    async def upload_media(
        self,
        run: Named,
        key: str,
        content: bytes | str | os.PathLike[str],
        **about: Unpack[MediaAbout],
    ) -> MediaFacts:
        """Keep a PNG, a JPEG or a table, whose bytes go to the store itself where it takes them.

        The server signs an upload of exactly these bytes, they are sent without a token, and the
        server looks at what came. What was sent and not recorded is not made twice: ask again.

        Args:
            run: where.
            key: what it is called, like a metric.
            content: bytes, or the path of a file.
            about: ``step``, ``labels``, ``caption``, ``time``, ``producer``, ``progress``.
        """
        _check(key, about)
        name, (body, kind) = id_of(run), content_of_file(content)
        sha256 = hashlib.sha256(body).hexdigest()
        asked = {"size_bytes": len(body), "sha256": sha256, "format": kind}
        permit = await self._post(
            "runs",
            name,
            "media",
            "uploads",
            answer=UploadAnswer,
            body=checked(asked, UploadRequest),
        )
        headers = dict(permit.headers)
        if permit.fields:
            body, headers["Content-Type"] = form_of(permit.fields, body)
        # A permit is good for one upload: the second would find the first.
        sent = Call(permit.method, permit.url, type(None), b"", headers, Repetition.ONCE)
        await self._transport.elsewhere(sent, Source.of(body), progress=about.get("progress"))
        producer = checked_producer(about.get("producer"))
        record = given(
            upload_key=permit.key,
            sha256=sha256,
            key=key,
            labels=about.get("labels"),
            step=checked_step(about.get("step")),
            caption=about.get("caption"),
            time=time_text(about.get("time")),
            stream=producer.stream,
            rank=producer.rank,
        )
        return await self._post(
            "runs",
            name,
            "media",
            answer=MediaFacts,
            body=checked(record, MediaRecord),
            repetition=Repetition.ONCE,
        )

    async def media(
        self,
        run: Named,
        *,
        keys: Sequence[str] | None = None,
        labels: Mapping[str, str] | None = None,
        step: int | None = None,
    ) -> AsyncIterator[MediaFacts]:
        """Yield the media items of a run, by key, labels and step.

        Args:
            run: which.
            keys: only these.
            labels: only items that have these.
            step: only those of one step; -1 are those without.
        """
        wanted = [(f"label.{name}", value) for name, value in checked_labels(labels).items()]
        asked = [*wanted, *query_of(key=keys, step=step, limit=_PAGE_MEDIA)]
        cursor: str | None = None
        while True:
            query = asked + query_of(cursor=cursor)
            page = await self._get("runs", id_of(run), "media", answer=MediaPage, query=query)
            for one in page.media:
                yield one
            cursor = page.next_cursor
            if cursor is None:
                return

    async def media_content(self, run: Named, item: Named) -> bytes:
        """Return the bytes of a media item."""
        path = path_of("v1", "runs", id_of(run), "media", id_of(item, what="item"), "content")
        call = Call("GET", path, bytes, follows=True)
        reply = await self._transport.reply(call)
        assert reply is not None  # of a GET
        return await self._transport.follow(call, reply)


def _keeping(
    run: Named,
    key: str,
    content: tuple[bytes, MediaFormat],
    *,
    about: MediaAbout,
    more: Sequence[tuple[str, str]] = (),
) -> tuple[Call[MediaFacts], Source]:
    """Return the request that keeps an item, and its body."""
    time = about.get("time")
    producer = checked_producer(about.get("producer"))
    query = query_of(
        key=key,
        step=checked_step(about.get("step")),
        caption=about.get("caption") or None,
        time=now_us() if time is None else checked_time(time),
        stream=producer.stream or None,
        rank=producer.rank or None,
    )
    labels = about.get("labels") or {}
    query += [*more, *((f"label.{name}", value) for name, value in labels.items())]
    path = path_of("v1", "runs", id_of(run), "media", query=query)
    headers = {"Content-Type": CONTENT_TYPES[content[1]]}
    return Call("POST", path, MediaFacts, headers=headers), Source.of(content[0])


def _check(key: str, about: MediaAbout) -> None:
    unknown = sorted(about.keys() - MediaAbout.__annotations__)
    if unknown:
        words = ", ".join(MediaAbout.__annotations__)
        raise TypeError(f"{unknown[0]!r} is no part of a media item: {words}.")
    checked_series(key, about.get("labels"))
    check_callable(about.get("progress"), at="/progress")
    checked_step(about.get("step"))
    caption = about.get("caption", "")
    if not isinstance(caption, str) or len(caption) > CAPTION_LENGTH_MAX:  # type: ignore[redundant-expr]
        raise InvalidError(
            Fault("/caption", f"a caption is a text of at most {CAPTION_LENGTH_MAX} characters")
        )
    if about.get("time") is not None:
        checked_time(about.get("time"))
    checked_producer(about.get("producer"))
