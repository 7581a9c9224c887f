"""Runs side by side, and summed up in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mapi.sdk.arguments import last_of, query_of, texts_of_list
from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.calls import id_of
from mapi.sdk.filters import field_of, joined_texts, texts_of
from mapi.wire.comparison import Comparison, RunGroups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mapi.sdk.calls import Named
    from mapi.sdk.filters import Listed, MetricField, Search
    from mapi.wire.enums import SeriesStat

__all__ = ["AsyncRunComparison"]


class AsyncRunComparison(AsyncResource):
    """Comparisons."""

    async def compare(
        self,
        *runs: Named,
        keys: Sequence[str] | None = None,
        buckets: int = 200,
        curves: bool = True,
    ) -> Comparison:
        """Return 2 to 10 runs side by side: summaries, params, tags, curves, media.

        Args:
            runs: which.
            keys: the metrics to compare; by default all.
            buckets: into how many the curves are divided.
            curves: ``False`` leaves them out, and no points are read.
        """
        query = query_of(
            ids=",".join(map(id_of, runs)),
            keys=None if keys is None else ",".join(texts_of_list(keys, at="/keys")),
            buckets=buckets,
            curves=curves,
        )
        return await self._get("run-compare", answer=Comparison, query=query)

    async def groups(
        self,
        y: str | MetricField,
        *,
        by: Listed = None,
        filter: Search = None,  # noqa: A002 - the word of the interface
        start: int | None = None,
        stop: int | None = None,
        stat: SeriesStat | None = None,
    ) -> RunGroups:
        """Return count, mean, deviation and extremes of a series at each step, in groups of runs.

        They are of the values that were logged, never of samples, over members that are named.

        Args:
            y: the series: ``loss{split=val}``, or a field of `mapi.filters`.
            by: up to 3 fields; runs with the same values of them are a group. By default all are
                one.
            filter: which runs; without it all.
            start: the first step.
            stop: the step behind the last.
            stat: what of each member's summary is summed up, instead of its steps: each group has a
                ``summary``, and no ``points``.

        Raises:
            SchemaInvalidError: a text is wrong; the faults point at the place in it.
        """
        query = query_of(
            y=field_of(y, at="/y"),
            by=joined_texts(by, at="/by"),
            filter=texts_of(filter),
            project=self._project,
            from_=start,
            to=last_of(stop),
            stat=stat,
        )
        return await self._get("run-groups", answer=RunGroups, query=query)
