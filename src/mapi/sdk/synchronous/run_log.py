# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""What is written into the log of a run: points, params, tags, lines, spans, signs of life."""

from __future__ import annotations

import os
import uuid
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mapi.sdk.arguments import text_of
from mapi.sdk.calls import Call, id_of, path_of, with_body
from mapi.sdk.checks import (
    checked,
    checked_params,
    checked_producer,
    checked_series,
    checked_tags,
    given,
)
from mapi.sdk.pacing import Nesting, Turn
from mapi.sdk.points import PointBuffer, added_counts, checked_column, column_of
from mapi.sdk.pulse import Pulse
from mapi.sdk.queueing import checked_lines, checked_points, checked_spans, columns_of
from mapi.sdk.synchronous.resource import Resource
from mapi.sdk.synchronous.transport import Transport as ThreadTransport
from mapi.wire.decoding import BATCH_BYTES_MAX
from mapi.wire.metrics import BatchAnswer
from mapi.wire.notes import LogAppend, ParamsBody, SpanAppend, TagsBody
from mapi.wire.runs import Heartbeat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mapi.sdk.calls import Named, Producer
    from mapi.sdk.checks import Time
    from mapi.sdk.points import Batch
    from mapi.sdk.synchronous.transport import Transport
    from mapi.wire.metrics import SeriesColumns

__all__ = ["RunLog"]

#: Numberings that are kept; the one that was quiet longest begins with a new writer.
_WRITERS_MAX: Final = 1_000
#: Spans of one request: with attributes of some hundred bytes, half of what the server reads.
_SPANS_OF_REQUEST: Final = 5_000


class _Writer:
    """Numbers lines or spans of one producer: the server takes no number of a writer twice."""

    def __init__(self) -> None:
        self.name = f"sdk-{uuid.uuid4()}"
        self.seq = 0
        # One request at a time: a lower number behind a higher one would count as taken.
        self.turn = Turn()
        self.calls = Nesting()


class RunLog(Resource):
    """The log of runs."""

    def __init__(self, transport: Transport, project: str | None) -> None:
        super().__init__(transport, project)
        self._writers: OrderedDict[tuple[object, ...], _Writer] = OrderedDict()

    def log_metric(  # noqa: PLR0913 - its parts, given by name
        self,
        run: Named,
        key: str,
        value: Any,
        *,
        step: int | None = None,
        labels: Mapping[str, str] | None = None,
        time: Time | None = None,
        producer: Producer | None = None,
    ) -> BatchAnswer:
        """Log one value; without a step it is a scalar, of which the newest value stays.

        Args:
            run: where.
            key: of the metric: small letters, digits and ``_``.
            value: a number; NaN and the infinities are kept.
            step: 0 or more; the first value of a step stays.
            labels: what tells apart what has the same key: ``{"split": "val"}``.
            time: with its zone, or microseconds since 1970 UTC; by default now.
            producer: who of the run writes, where it has several.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
            QuotaExceededError: a budget of the run is spent; ``counts`` says what was kept.
        """
        checked_series(key, None)
        return self.log_metrics(
            run, {key: value}, step=step, labels=labels, time=time, producer=producer
        )

    def log_metrics(
        self,
        run: Named,
        metrics: Mapping[str, Any],
        *,
        step: int | None = None,
        labels: Mapping[str, str] | None = None,
        time: Time | None = None,
        producer: Producer | None = None,
    ) -> BatchAnswer:
        """Log one value of each of several metrics; `log_metric` explains the parts."""
        buffer = PointBuffer()
        buffer.add(metrics, step=step, labels=labels, time=time)
        return self._log_points(id_of(run), buffer, producer)

    def log_series(  # noqa: PLR0913 - its parts, given by name
        self,
        run: Named,
        key: str,
        values: Sequence[Any],
        *,
        steps: Sequence[int | None] | None = None,
        times: Sequence[Time] | None = None,
        labels: Mapping[str, str] | None = None,
        producer: Producer | None = None,
    ) -> BatchAnswer:
        """Log many points of one series, in requests of 10 000.

        Args:
            run: where.
            key: of the metric.
            values: numbers.
            steps: one a value; by default 0, 1, 2, …
            times: one a value; by default now.
            labels: of the series.
            producer: who of the run writes, where it has several.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
        """
        series = checked_series(key, labels)
        checked_column(values, at="/values")
        found = range(len(values)) if steps is None else steps
        buffer = PointBuffer()
        buffer.add_column(series, column_of(values, steps=found, times=times))
        return self._log_points(id_of(run), buffer, producer)

    def log_columns(
        self,
        run: Named,
        series: Sequence[SeriesColumns | Mapping[str, Any]],
        *,
        producer: Producer | None = None,
    ) -> BatchAnswer:
        """Log points of several series in columns, in one request; those without steps are scalars.

        A series has a key, or a name of another tool, which may be any text: of one that is too long
        for a label all is kept beside the series.

        Args:
            run: where.
            series: each a mapping with ``key`` or ``name``, ``values`` (numbers, or "NaN", "Infinity",
                "-Infinity") and, if wanted, ``labels``, ``steps`` and ``times`` in microseconds since
                1970; at most 50 000 points.
            producer: who of the run writes, where it has several.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
            QuotaExceededError: a budget of the run is spent; ``counts`` says what was kept.
        """
        known = checked_producer(producer)
        about: dict[str, Any] = {"stream": known.stream, "rank": known.rank}
        if known.attempt is not None:
            about["attempt"] = known.attempt
        body = checked_points(columns_of(series), about)
        return self._post("runs", id_of(run), "metrics", answer=BatchAnswer, body=body)

    def _log_points(self, run: str, buffer: PointBuffer, producer: Producer | None) -> BatchAnswer:
        known = None if producer is None else checked_producer(producer)
        found = BatchAnswer()
        for batch in buffer.batches():
            found = added_counts(found, self._send_batch(run, batch, known))
        return found

    def _send_batch(self, run: str, batch: Batch, producer: Producer | None = None) -> BatchAnswer:
        """Send a batch; a point that comes twice is kept once, so it may be sent again."""
        body = batch.body(producer)
        return self._post("runs", run, "metrics", answer=BatchAnswer, body=body)

    def log_params(self, run: Named, params: Mapping[str, Any]) -> BatchAnswer:
        """Write params: once, all or none; the same value again is no change.

        Raises:
            InvalidError: a key or a value breaks its rule; nothing was sent.
            ParamConflictError: a param has another value already; the faults say which.
        """
        body = checked({"params": checked_params(params)}, ParamsBody, bytes_max=BATCH_BYTES_MAX)
        return self._post("runs", id_of(run), "params", answer=BatchAnswer, body=body)

    def set_tags(self, run: Named, tags: Mapping[str, str]) -> BatchAnswer:
        """Write tags: the last value of a key stays, others stay as they are.

        Raises:
            InvalidError: a key or a value breaks its rule; nothing was sent.
        """
        body = checked({"tags": checked_tags(tags)}, TagsBody)
        return self._put("runs", id_of(run), "tags", answer=BatchAnswer, body=body)

    def delete_tag(self, run: Named, key: str) -> None:
        """Delete a tag.

        Raises:
            InvalidError: no tag has such a key; nothing was sent.
            NotFoundError: the run has no such tag.
        """
        checked_tags({text_of(key, at="/key"): ""})
        self._delete("runs", id_of(run), "tags", key)

    def log_line(
        self,
        run: Named,
        message: str,
        *,
        level: str = "info",
        fields: Mapping[str, Any] | None = None,
        time: Time | None = None,
        producer: Producer | None = None,
    ) -> BatchAnswer:
        """Append a line to the log.

        Args:
            run: where.
            message: at most 16 KiB.
            level: ``debug``, ``info``, ``warning`` or ``error``.
            fields: what goes with it, as JSON.
            time: by default now.
            producer: who of the run writes, where it has several.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
        """
        line = given(message=message, level=level, fields=fields, time=time)
        return self.log_lines(run, [line], producer=producer)

    def log_lines(
        self,
        run: Named,
        lines: Iterable[Mapping[str, Any]],
        *,
        producer: Producer | None = None,
    ) -> BatchAnswer:
        """Append lines in their order: mappings with what `log_line` takes."""
        rows = checked_lines(lines)
        return self._append(id_of(run), "logs", rows, producer=producer)

    def log_spans(
        self,
        run: Named,
        spans: Iterable[Mapping[str, Any]],
        *,
        producer: Producer | None = None,
    ) -> BatchAnswer:
        """Keep spans that ended, in requests of 5 000.

        Args:
            run: where.
            spans: mappings with ``name`` (its path: ``fwd/attn``), ``start_ns`` (nanoseconds since
                1970 UTC), ``duration_ns``, and if wanted ``depth``, ``track``, ``step`` and
                ``fields``.
            producer: who of the run writes, where it has several.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
            QuotaExceededError: a budget of the run is spent; ``counts`` says what was kept.
        """
        rows = checked_spans(spans)
        found = BatchAnswer()
        for at in range(0, len(rows), _SPANS_OF_REQUEST):
            part = rows[at : at + _SPANS_OF_REQUEST]
            said = self._append(id_of(run), "spans", part, producer=producer)
            found = added_counts(found, said)
        return found

    def _append(
        self, run: str, kind: str, rows: list[dict[str, Any]], *, producer: Producer | None
    ) -> BatchAnswer:
        who = checked_producer(producer)
        sent: dict[str, Any] = {"lines" if kind == "logs" else "spans": rows}
        if producer is not None:
            sent |= {"stream": who.stream, "rank": who.rank}
        writer = self._writer((run, kind, who.stream, who.rank))
        with writer.turn:
            if writer.calls.is_inside:
                # A signal handler's, whose own thread has numbers of this writer on their way.
                return self._numbered(_Writer(), run, kind, sent=sent, count=len(rows))
            try:
                writer.calls.is_inside = True
                return self._numbered(writer, run, kind, sent=sent, count=len(rows))
            finally:
                writer.calls.is_inside = False

    def _numbered(
        self, writer: _Writer, run: str, kind: str, *, sent: dict[str, Any], count: int
    ) -> BatchAnswer:
        sent |= {"writer": writer.name, "seq": writer.seq}
        body = (
            checked(sent, LogAppend, bytes_max=BATCH_BYTES_MAX)
            if kind == "logs"
            else checked(sent, SpanAppend, bytes_max=BATCH_BYTES_MAX)
        )
        # Whatever becomes of it, these numbers may have been taken.
        writer.seq += count
        return self._post("runs", run, kind, answer=BatchAnswer, body=body)

    def _writer(self, whose: tuple[object, ...]) -> _Writer:
        # A child of a fork numbers anew: the server would take its lines for those of its parent,
        # and a thread that it does not have may hold the turn.
        whose = (os.getpid(), *whose)
        found = self._writers.setdefault(whose, _Writer())
        self._writers.move_to_end(whose)
        if len(self._writers) > _WRITERS_MAX:
            self._writers.popitem(last=False)
        return found

    def _pulse_of(self, run: str) -> Pulse:
        """Return what sends signs of life from its own thread, whatever this client is doing."""
        transport = ThreadTransport(
            self._transport.server,
            timeout_seconds=self._transport.timeout_seconds,
            agent=self._transport.agent,
            tries=self._transport.tries,
        )
        beat = partial(transport.send, _heartbeat_of(run))
        return Pulse(run, beat, close=transport.close)

    def heartbeat(self, run: Named) -> Heartbeat:
        """Say that a run lives; the answer says whether somebody cancelled it."""
        return self._transport.send(_heartbeat_of(id_of(run)))


def _heartbeat_of(run: str) -> Call[Heartbeat]:
    body, headers = with_body(b"")
    return Call("POST", path_of("v1", "runs", run, "heartbeat"), Heartbeat, body, headers)
