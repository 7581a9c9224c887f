# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""What is sent as a queue: batches in one order, each of which says which one it follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapi.sdk.calls import id_of
from mapi.sdk.checks import checked, checked_producer
from mapi.sdk.queueing import checked_lines, checked_points, checked_spans, place_and_producer
from mapi.sdk.synchronous.resource import Resource
from mapi.wire.decoding import BATCH_BYTES_MAX
from mapi.wire.metrics import BatchAnswer
from mapi.wire.notes import LogAppend, SpanAppend

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mapi.sdk.calls import Named, Producer
    from mapi.sdk.queueing import Place
    from mapi.wire.metrics import SeriesColumns

__all__ = ["RunQueue"]


class RunQueue(Resource):
    """Batches that say where they stand in what their writer sends.

    Each is taken once, in its turn and whole: sent again it changes nothing, and two programs that
    deliver the same file cannot come between each other. An answer's ``accepted_seq`` says where the
    writer stands. `StateConflictError` has it among its ``counts`` where a batch is out of turn; without
    it there the writer has sent nothing.
    """

    def send_points(
        self,
        run: Named,
        series: Sequence[SeriesColumns],
        *,
        place: Place,
        producer: Producer | None = None,
        corrects: bool = False,
    ) -> BatchAnswer:
        """Send points in columns, in one request.

        Args:
            run: where.
            series: at most 50 000 points with their steps, times and values.
            place: where they stand in the queue.
            producer: who of the run writes, where it has several.
            corrects: whether they replace the values that stand there, or those stay.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
            StateConflictError: it is not their turn; nothing was taken.
            QuotaExceededError: a budget of the run is spent; ``counts`` says what was kept.
        """
        about = place_and_producer(place, checked_producer(producer), attempt=True)
        body = checked_points(series, about)
        route = ("metrics", "corrections") if corrects else ("metrics",)
        return self._post("runs", id_of(run), *route, answer=BatchAnswer, body=body)

    def send_lines(
        self,
        run: Named,
        lines: Iterable[Mapping[str, Any]],
        *,
        place: Place,
        producer: Producer | None = None,
    ) -> BatchAnswer:
        """Send lines of the log, in one request: mappings with what `log_line` takes.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
            StateConflictError: it is not their turn; nothing was taken.
            QuotaExceededError: a budget of the run is spent; ``counts`` says what was kept.
        """
        rows = checked_lines(lines)
        about = place_and_producer(place, checked_producer(producer), items=len(rows))
        body = checked(about | {"lines": rows}, LogAppend, bytes_max=BATCH_BYTES_MAX)
        return self._post("runs", id_of(run), "logs", answer=BatchAnswer, body=body)

    def send_spans(
        self,
        run: Named,
        spans: Iterable[Mapping[str, Any]],
        *,
        place: Place,
        producer: Producer | None = None,
    ) -> BatchAnswer:
        """Send spans that ended, in one request: mappings with what `log_spans` takes.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
            StateConflictError: it is not their turn; nothing was taken.
            QuotaExceededError: a budget of the run is spent; ``counts`` says what was kept.
        """
        rows = checked_spans(spans)
        about = place_and_producer(place, checked_producer(producer), items=len(rows))
        body = checked(about | {"spans": rows}, SpanAppend, bytes_max=BATCH_BYTES_MAX)
        return self._post("runs", id_of(run), "spans", answer=BatchAnswer, body=body)
