"""What the log of a run says: series, curves, params, tags, lines, spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mapi.sdk.arguments import last_of, query_of
from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.calls import id_of
from mapi.sdk.checks import checked_labels, checked_series
from mapi.sdk.points import Points
from mapi.wire.metrics import ColumnsPage, Curve, SeriesPage, SeriesSummary
from mapi.wire.notes import LogLineFacts, LogPage, ParamFacts, Params, SpanFacts, SpanPage, Tags

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from mapi.sdk.calls import Named

__all__ = ["AsyncRunReadings"]

_PAGE_SERIES: Final = 500


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
                return Points.of(curve, found)

    async def columns(  # noqa: PLR0913 - its parts, given by name
        self,
        run: Named,
        *,
        keys: Sequence[str] | None = None,
        labels: Mapping[str, str] | None = None,
        stream: str | None = None,
        rank: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        attempt: int | None = None,
    ) -> AsyncIterator[Points]:
        """Yield the points of many series exactly as they were logged: one series after the other.

        A series may come in several pieces, each behind the one before, so that memory holds few of
        its points, however long it is. One comes without a point where retention has deleted them.

        Args:
            run: which.
            keys: only these metrics.
            labels: only series that have these.
            stream: only of this one; empty is the default one.
            rank: only of this one.
            start: the first step.
            stop: the step behind the last.
            attempt: of this one of each stream and rank; by default each step from the newest that
                wrote it.
        """
        asked = [*_labels(labels), *query_of(key=keys, stream=stream, rank=rank)]
        asked += query_of(from_=start, to=last_of(stop), attempt=attempt)
        cursor: str | None = None
        while True:
            query = asked + query_of(cursor=cursor)
            page = await self._get(
                "runs", id_of(run), "metrics", "columns", answer=ColumnsPage, query=query
            )
            for one in page.series:
                yield Points.of_columns(one)
            cursor = page.next_cursor
            if cursor is None:
                return

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
        before: int | None = None,
        limit: int = 500,
    ) -> list[LogLineFacts]:
        """Return the newest lines of the log, or those beside one, oldest first.

        Args:
            run: which.
            level: the least that matters: ``debug``, ``info``, ``warning``, ``error``.
            text: only lines with this in them.
            after: the id of a line; what follows it.
            before: the id of a line, without `after`; the newest of what stands before it.
            limit: at most so many; the server allows 1 000.
        """
        query = query_of(level=level, q=text, after=after, before=before, limit=limit)
        return (await self._get("runs", id_of(run), "logs", answer=LogPage, query=query)).lines

    async def spans(
        self, run: Named, *, stream: str | None = None, rank: int | None = None
    ) -> AsyncIterator[SpanFacts]:
        """Yield the spans of a run by their start.

        Args:
            run: which.
            stream: only of this one; empty is the default one.
            rank: only of this one.
        """
        cursor: str | None = None
        while True:
            query = query_of(stream=stream, rank=rank, cursor=cursor)
            page = await self._get("runs", id_of(run), "spans", answer=SpanPage, query=query)
            for one in page.spans:
                yield one
            cursor = page.next_cursor
            if cursor is None:
                return


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
    query = query_of(key=key, from_=start, to=last_of(stop), attempt=attempt)
    return [*query, *_labels(labels)]
