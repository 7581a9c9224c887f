"""What is put right in the log of a run; the audit keeps who did it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.calls import Repetition, id_of
from mapi.sdk.checks import (
    checked,
    checked_labels,
    checked_producer,
    checked_series,
    checked_step,
    given,
)
from mapi.sdk.points import PointBuffer, added_counts, column_of
from mapi.wire.administration import CorrectionBody, Deleted
from mapi.wire.metrics import BatchAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mapi.sdk.calls import Named, Producer
    from mapi.sdk.checks import Time

__all__ = ["AsyncRunCorrections"]


class AsyncRunCorrections(AsyncResource):
    """Corrections."""

    async def correct_series(  # noqa: PLR0913 - its parts, given by name
        self,
        run: Named,
        key: str,
        values: Sequence[Any],
        *,
        steps: Sequence[int | None],
        times: Sequence[Time] | None = None,
        labels: Mapping[str, str] | None = None,
        producer: Producer | None = None,
    ) -> BatchAnswer:
        """Log points of steps that were logged already: the new value stays, and the audit says so.

        Args:
            run: where.
            key: of the metric.
            values: numbers.
            steps: one a value.
            times: one a value; by default now.
            labels: of the series.
            producer: who of the run writes, where it has several.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
        """
        series = checked_series(key, labels)
        who = None if producer is None else checked_producer(producer)
        buffer = PointBuffer()
        buffer.add_column(series, column_of(values, steps=steps, times=times))
        found = BatchAnswer()
        for batch in buffer.batches():
            body = batch.body(who)
            said = await self._post(
                "runs", id_of(run), "metrics", "corrections", answer=BatchAnswer, body=body
            )
            found = added_counts(found, said)
        return found

    async def delete_points(
        self,
        run: Named,
        key: str,
        *,
        reason: str,
        labels: Mapping[str, str] | None = None,
        first: int | None = None,
        last: int | None = None,
    ) -> Deleted:
        """Delete points of a series, or all of it; an admin may.

        Args:
            run: where.
            key: of the metric.
            reason: kept in the audit.
            labels: of the series: exactly these.
            first: the first step; by default from the beginning.
            last: the last step; by default to the end.

        Raises:
            NotFoundError: the run has no such series.
        """
        checked_series(key, None)
        sent = given(
            key=key,
            labels=checked_labels(labels),
            from_step=checked_step(first, at="/first"),
            to_step=checked_step(last, at="/last"),
        )
        return await self._delete_from(run, reason, sent)

    async def delete_param(self, run: Named, key: str, *, reason: str) -> Deleted:
        """Delete a param, so that it can be written anew; an admin may.

        Args:
            run: where.
            key: of the param.
            reason: kept in the audit.
        """
        return await self._delete_from(run, reason, {"param": key})

    async def delete_media(self, run: Named, item: Named, *, reason: str) -> Deleted:
        """Delete a media item and its bytes; an admin may.

        Args:
            run: where.
            item: which.
            reason: kept in the audit.
        """
        return await self._delete_from(run, reason, {"media": id_of(item, what="item")})

    async def _delete_from(self, run: Named, reason: str, sent: dict[str, Any]) -> Deleted:
        return await self._post(
            "runs",
            id_of(run),
            "corrections",
            answer=Deleted,
            body=checked(sent | {"reason": reason}, CorrectionBody),
            # The second would find nothing, and say so.
            repetition=Repetition.ONCE,
        )
