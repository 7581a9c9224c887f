"""What the log of a run says: series, curves, params, tags, lines, media, and what goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.calls import Call, id_of, path_of, query_of
from mapi.sdk.checks import checked_labels, checked_series
from mapi.sdk.deadlines import Deadline
from mapi.sdk.errors import ApiError, ClientError, ConnectionFailedError, DeadlineError
from mapi.sdk.frames import FrameReader
from mapi.sdk.pacing import async_sleep
from mapi.sdk.points import Points
from mapi.sdk.repeating import pause_before_repetition
from mapi.wire.events import StatusFrame
from mapi.wire.media import MediaFacts, MediaPage
from mapi.wire.metrics import Curve, SeriesPage, SeriesSummary
from mapi.wire.notes import LogLineFacts, LogPage, ParamFacts, Params, Tags

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from mapi.sdk.calls import Named
    from mapi.sdk.frames import Frame, SentFrame

__all__ = ["AsyncRunReadings"]

#: The server says something every 15 seconds; two of them missed is a dead line.
_SILENCE_SECONDS: Final = 40.0
#: To wait for the server to be back; every frame begins the count anew.
_ABSENCE_SECONDS: Final = 300.0
_PAGE_SERIES: Final = 500
_PAGE_MEDIA: Final = 500


class AsyncRunReadings(AsyncResource):
    """Readings of the log."""

    async def metrics(
        self,
        run: Named,
        *,
        keys: Sequence[str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> AsyncIterator[SeriesSummary]:
        """Yield the series of a run with their summaries, by key and labels.

        Args:
            run: which.
            keys: only these metrics.
            labels: only series that have these.
        """
        asked = [*_labels(labels), *query_of(key=keys, limit=_PAGE_SERIES)]
        cursor: str | None = None
        while True:
            query = asked + query_of(cursor=cursor)
            page = await self._get("runs", id_of(run), "metrics", answer=SeriesPage, query=query)
            for one in page.series:
                yield one
            cursor = page.next_cursor
            if cursor is None:
                return

    async def points(
        self,
        run: Named,
        key: str,
        *,
        labels: Mapping[str, str] | None = None,
        start: int | None = None,
        stop: int | None = None,
        attempt: int | None = None,
    ) -> Points:
        """Return all points of one series exactly as they were logged, by step.

        Args:
            run: which.
            key: of the metric.
            labels: of the series: exactly these.
            start: the first step.
            stop: the step behind the last.
            attempt: of one attempt; by default each step from the newest that wrote it.
        """
        asked = _asked(key, labels, start, stop=stop, attempt=attempt)
        cursor: str | None = None
        found = []
        while True:
            curve = await self._curve(run, asked + query_of(cursor=cursor))
            found += curve.points or []
            cursor = curve.next_cursor
            if cursor is None:
                return Points.of(curve.key, curve.labels, found)

    async def curve(  # noqa: PLR0913 - its parts, given by name
        self,
        run: Named,
        key: str,
        *,
        labels: Mapping[str, str] | None = None,
        buckets: int = 1_000,
        start: int | None = None,
        stop: int | None = None,
        attempt: int | None = None,
        x: str | None = None,
    ) -> Curve:
        """Return a series in at most so many points, or buckets that keep every extreme.

        Args:
            run: which.
            key: of the metric.
            labels: of the series: exactly these.
            buckets: at most so many; fewer points come as they are.
            start: the first step.
            stop: the step behind the last.
            attempt: of one attempt.
            x: the axis in place of the step: ``time``, ``run_time`` or another series.
        """
        asked = _asked(key, labels, start, stop=stop, attempt=attempt)
        return await self._curve(run, asked + query_of(buckets=buckets, x=x))

    async def _curve(self, run: Named, query: list[tuple[str, str]]) -> Curve:
        return await self._get("runs", id_of(run), "metrics", "points", answer=Curve, query=query)

    async def params(self, run: Named) -> dict[str, ParamFacts]:
        """Return the params of a run by key."""
        found: dict[str, ParamFacts] = {}
        after: str | None = None
        while True:
            page = await self._get(
                "runs", id_of(run), "params", answer=Params, query=query_of(after=after)
            )
            found |= page.params
            after = page.next_after
            if after is None:
                return found

    async def tags(self, run: Named) -> dict[str, str]:
        """Return the tags of a run by key."""
        return (await self._get("runs", id_of(run), "tags", answer=Tags)).tags

    async def lines(
        self,
        run: Named,
        *,
        level: str | None = None,
        text: str | None = None,
        after: int | None = None,
        limit: int = 500,
    ) -> list[LogLineFacts]:
        """Return the newest lines of the log, or those that follow one, oldest first.

        Args:
            run: which.
            level: the least that matters: ``debug``, ``info``, ``warning``, ``error``.
            text: only lines with this in them.
            after: the id of a line; what follows it.
            limit: at most so many; the server allows 1 000.
        """
        query = query_of(level=level, q=text, after=after, limit=limit)
        return (await self._get("runs", id_of(run), "logs", answer=LogPage, query=query)).lines

    async def media(
        self,
        run: Named,
        *,
        keys: Sequence[str] | None = None,
        labels: Mapping[str, str] | None = None,
        step: int | None = None,
    ) -> AsyncIterator[MediaFacts]:
        """Yield the media items of a run, by key, labels and step."""
        asked = [*_labels(labels), *query_of(key=keys, step=step, limit=_PAGE_MEDIA)]
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

    async def events(
        self, run: Named, *, last_event_id: str | None = None, until_end: bool = True
    ) -> AsyncIterator[Frame]:
        """Yield what goes on in a run, as it does: first where it stands, then what is new.

        A connection that breaks is opened again where it was; nothing is missed.

        Args:
            run: which.
            last_event_id: where to go on.
            until_end: end with the run; else go on until the caller stops.

        Raises:
            ConnectionFailedError: the server was gone for minutes.
        """
        path = path_of("v1", "runs", id_of(run), "events")
        position, tries = last_event_id, 0
        is_ended = False
        while True:
            tries += 1
            headers = {"Accept": "text/event-stream"}
            if position is not None:
                headers["Last-Event-ID"] = position
            call = Call("GET", path, bytes, headers=headers)
            try:
                async for sent in self._frames(call):
                    position, tries = sent.id or position, 0
                    yield sent.frame
                    if isinstance(sent.frame, StatusFrame):
                        is_ended = sent.frame.status.is_final
                    # The last frame of what was told at once has the position.
                    if until_end and is_ended and sent.id is not None:
                        return
                failure: ClientError = ConnectionFailedError(f"{path}: the stream ended.")
            except (ConnectionFailedError, ApiError) as error:
                failure = error
            # A silent line is as dead as a broken one: here, time that is over is no end.
            if isinstance(failure, DeadlineError):
                failure = ConnectionFailedError(str(failure))
            pause = pause_before_repetition(
                failure, call, tries=max(tries, 1), remaining_seconds=_ABSENCE_SECONDS
            )
            if pause is None:
                raise failure
            await async_sleep(pause)

    async def _frames(self, call: Call[Any]) -> AsyncIterator[SentFrame]:
        reader = FrameReader()
        deadline = Deadline(self._transport.timeout_seconds)
        async with self._transport.stream(call, deadline) as (_, _, chunks):
            async for chunk in chunks:
                deadline.extend(_SILENCE_SECONDS)
                for sent in reader.read(chunk):
                    yield sent


def _labels(labels: Mapping[str, str] | None) -> list[tuple[str, str]]:
    return [(f"label.{name}", value) for name, value in checked_labels(labels).items()]


def _asked(
    key: str,
    labels: Mapping[str, str] | None,
    start: int | None,
    *,
    stop: int | None,
    attempt: int | None,
) -> list[tuple[str, str]]:
    checked_series(key, None)
    query = query_of(key=key, from_=start, to=stop, attempt=attempt)
    return [*query, *_labels(labels)]
