"""What is written into the log of a run: points, params, tags, lines, media, signs of life."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from mapi.errors import Fault, InvalidError
from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.calls import Call, id_of, path_of, query_of, with_body
from mapi.sdk.checks import (
    checked,
    checked_params,
    checked_series,
    checked_step,
    checked_tags,
    checked_time,
    given,
    now_us,
    plain,
    raise_any,
    time_text,
)
from mapi.sdk.pacing import AsyncLock
from mapi.sdk.pictures import (
    CONTENT_TYPES,
    content_of_figure,
    content_of_image,
    content_of_table,
)
from mapi.sdk.points import PointBuffer, added_counts, column_of
from mapi.series.names import check_log_message
from mapi.wire.decoding import BATCH_BYTES_MAX
from mapi.wire.media import CAPTION_LENGTH_MAX, MediaFacts
from mapi.wire.metrics import BatchAnswer
from mapi.wire.notes import LogAppend, ParamsBody, TagsBody
from mapi.wire.runs import Heartbeat
from mapi.wire.times import time_from_us

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mapi.sdk.asynchronous.transport import AsyncTransport
    from mapi.sdk.calls import Named
    from mapi.sdk.checks import Time
    from mapi.sdk.points import Batch
    from mapi.wire.enums import MediaFormat

__all__ = ["AsyncRunLog"]

#: Runs whose lines are numbered; the one that was quiet longest begins with a new writer.
_WRITERS_MAX: Final = 1_000


class _Writer:
    """Numbers the lines of one run: the server takes no number of a writer twice."""

    def __init__(self) -> None:
        self.name = f"sdk-{uuid.uuid4()}"
        self.seq = 0
        # One request at a time: a lower number behind a higher one would count as taken.
        self.turn = AsyncLock()


class AsyncRunLog(AsyncResource):
    """The log of runs."""

    def __init__(self, transport: AsyncTransport, project: str | None) -> None:
        super().__init__(transport, project)
        self._writers: OrderedDict[str, _Writer] = OrderedDict()

    async def log_metric(
        self,
        run: Named,
        key: str,
        value: Any,
        *,
        step: int | None = None,
        labels: Mapping[str, str] | None = None,
        time: Time | None = None,
    ) -> BatchAnswer:
        """Log one value; without a step it is a scalar, of which the newest value stays.

        Args:
            run: where.
            key: of the metric: small letters, digits and ``_``.
            value: a number; NaN and the infinities are kept.
            step: 0 or more; the first value of a step stays.
            labels: what tells apart what has the same key: ``{"split": "val"}``.
            time: with its zone, or microseconds since 1970 UTC; by default now.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
            QuotaExceededError: a budget of the run is spent; ``counts`` says what was kept.
        """
        return await self.log_metrics(run, {key: value}, step=step, labels=labels, time=time)

    async def log_metrics(
        self,
        run: Named,
        metrics: Mapping[str, Any],
        *,
        step: int | None = None,
        labels: Mapping[str, str] | None = None,
        time: Time | None = None,
    ) -> BatchAnswer:
        """Log one value of each of several metrics; `log_metric` explains the parts."""
        if not hasattr(metrics, "items"):
            raise InvalidError(
                Fault(
                    "/metrics",
                    "metrics are a mapping of keys to values; `log_series` takes columns",
                )
            )
        buffer = PointBuffer()
        buffer.add(metrics, step=step, labels=labels, time=time)
        return await self._log_points(id_of(run), buffer)

    async def log_series(
        self,
        run: Named,
        key: str,
        values: Sequence[Any],
        *,
        steps: Sequence[int | None] | None = None,
        times: Sequence[Time] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> BatchAnswer:
        """Log many points of one series, in requests of 10 000.

        Args:
            run: where.
            key: of the metric.
            values: numbers.
            steps: one a value; by default 0, 1, 2, …
            times: one a value; by default now.
            labels: of the series.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
        """
        series = checked_series(key, labels)
        found = range(len(values)) if steps is None else steps
        buffer = PointBuffer()
        buffer.add_column(series, column_of(values, steps=found, times=times))
        return await self._log_points(id_of(run), buffer)

    async def _log_points(self, run: str, buffer: PointBuffer) -> BatchAnswer:
        found = BatchAnswer()
        for batch in buffer.batches():
            found = added_counts(found, await self._send_batch(run, batch))
        return found

    async def _send_batch(self, run: str, batch: Batch) -> BatchAnswer:
        """Send a batch; a point that comes twice is kept once, so it may be sent again."""
        return await self._post("runs", run, "metrics", answer=BatchAnswer, body=batch.body())

    async def log_params(self, run: Named, params: Mapping[str, Any]) -> BatchAnswer:
        """Write params: once, all or none; the same value again is no change.

        Raises:
            InvalidError: a key or a value breaks its rule; nothing was sent.
            ParamConflictError: a param has another value already; the faults say which.
        """
        body = checked({"params": checked_params(params)}, ParamsBody, bytes_max=BATCH_BYTES_MAX)
        return await self._post("runs", id_of(run), "params", answer=BatchAnswer, body=body)

    async def set_tags(self, run: Named, tags: Mapping[str, str]) -> BatchAnswer:
        """Write tags: the last value of a key stays, others stay as they are.

        Raises:
            InvalidError: a key or a value breaks its rule; nothing was sent.
        """
        body, headers = with_body(checked({"tags": checked_tags(tags)}, TagsBody))
        path = path_of("v1", "runs", id_of(run), "tags")
        return await self._transport.send(Call("PUT", path, BatchAnswer, body, headers))

    async def delete_tag(self, run: Named, key: str) -> None:
        """Delete a tag."""
        await self._delete("runs", id_of(run), "tags", key)

    async def log_line(
        self,
        run: Named,
        message: str,
        *,
        level: str = "info",
        fields: Mapping[str, Any] | None = None,
        time: Time | None = None,
    ) -> BatchAnswer:
        """Append a line to the log.

        Args:
            run: where.
            message: at most 16 KiB.
            level: ``debug``, ``info``, ``warning`` or ``error``.
            fields: what goes with it, as JSON.
            time: by default now.

        Raises:
            InvalidError: a part breaks its rule; nothing was sent.
        """
        line = given(message=message, level=level, fields=fields, time=time)
        return await self.log_lines(run, [line])

    async def log_lines(self, run: Named, lines: Iterable[Mapping[str, Any]]) -> BatchAnswer:
        """Append lines in their order: mappings with what `log_line` takes."""
        name = id_of(run)
        rows = [_line(one, f"/lines/{at}") for at, one in enumerate(lines)]
        raise_any(
            Fault(f"/lines/{at}/message", wrong)
            for at, row in enumerate(rows)
            if (wrong := check_log_message(row.get("message"))) is not None
        )
        writer = self._writer(name)
        async with writer.turn:
            sent = {"lines": rows, "writer": writer.name, "seq": writer.seq}
            body = checked(sent, LogAppend, bytes_max=BATCH_BYTES_MAX)
            # Whatever becomes of it, these numbers may have been taken.
            writer.seq += len(rows)
            return await self._post("runs", name, "logs", answer=BatchAnswer, body=body)

    def _writer(self, run: str) -> _Writer:
        found = self._writers.setdefault(run, _Writer())
        self._writers.move_to_end(run)
        if len(self._writers) > _WRITERS_MAX:
            self._writers.popitem(last=False)
        return found

    async def log_image(  # noqa: PLR0913 - its parts, given by name
        self,
        run: Named,
        key: str,
        image: Any,
        *,
        step: int | None = None,
        labels: Mapping[str, str] | None = None,
        caption: str = "",
        time: Time | None = None,
    ) -> MediaFacts:
        """Keep an image: the path of a PNG or JPEG, its bytes, a Pillow image or an array.

        The same bytes at the same key, labels and step are kept once; others replace them.

        Args:
            run: where.
            key: what it is called, like a metric.
            image: at most 8 MiB as a file.
            step: where it belongs.
            labels: what tells it apart.
            caption: plain text below it.
            time: by default now.

        Raises:
            InvalidError: a part breaks its rule, or this is no image; nothing was sent.
        """
        about = _about(key, labels, step=step, caption=caption, time=time)
        return await self._keep(id_of(run), about, content_of_image(image))

    async def log_figure(  # noqa: PLR0913 - its parts, given by name
        self,
        run: Named,
        key: str,
        figure: Any,
        *,
        step: int | None = None,
        labels: Mapping[str, str] | None = None,
        caption: str = "",
        time: Time | None = None,
    ) -> MediaFacts:
        """Keep a figure of matplotlib as a PNG; `log_image` explains the parts."""
        about = _about(key, labels, step=step, caption=caption, time=time)
        return await self._keep(id_of(run), about, content_of_figure(figure))

    async def log_table(  # noqa: PLR0913 - its parts, given by name
        self,
        run: Named,
        key: str,
        rows: Any,
        *,
        columns: Iterable[str] | None = None,
        step: int | None = None,
        labels: Mapping[str, str] | None = None,
        caption: str = "",
        time: Time | None = None,
    ) -> MediaFacts:
        """Keep a small table: rows with the names of their columns, or a data frame.

        At most 10 000 rows and 8 MiB; `log_image` explains the other parts.

        Args:
            run: where.
            key: what it is called.
            rows: lists of cells, mappings, or a data frame of pandas or polars.
            columns: the names, where the rows have none.
            step: where it belongs.
            labels: what tells it apart.
            caption: plain text below it.
            time: by default now.
        """
        about = _about(key, labels, step=step, caption=caption, time=time)
        return await self._keep(id_of(run), about, content_of_table(columns, rows))

    async def _keep(
        self, run: str, about: list[tuple[str, str]], content: tuple[bytes, MediaFormat]
    ) -> MediaFacts:
        body, headers = with_body(content[0], content_type=CONTENT_TYPES[content[1]])
        path = path_of("v1", "runs", run, "media", query=about)
        return await self._transport.send(Call("POST", path, MediaFacts, body, headers))

    async def heartbeat(self, run: Named) -> Heartbeat:
        """Say that a run lives; the answer says whether somebody cancelled it."""
        return await self._post("runs", id_of(run), "heartbeat", answer=Heartbeat, body=b"")


def _line(found: Mapping[str, Any], at: str) -> dict[str, Any]:
    row = dict(found)
    if row.get("fields") is not None:
        row["fields"] = plain(row["fields"])
    time_us = checked_time(row.get("time"), at=f"{at}/time")
    # Said here: a line that is sent again later was logged now.
    row["time"] = row["time"] if row.get("time") is not None else time_from_us(time_us)
    row["time"] = time_text(row["time"], at=f"{at}/time")
    return row


def _about(
    key: str,
    labels: Mapping[str, str] | None,
    *,
    step: int | None,
    caption: str,
    time: Time | None,
) -> list[tuple[str, str]]:
    checked_series(key, labels)
    if not isinstance(caption, str) or len(caption) > CAPTION_LENGTH_MAX:  # type: ignore[redundant-expr]
        raise InvalidError(
            Fault("/caption", f"a caption is a text of at most {CAPTION_LENGTH_MAX} characters")
        )
    time_us = now_us() if time is None else checked_time(time)
    about = query_of(key=key, step=checked_step(step), caption=caption or None, time=time_us)
    return about + [(f"label.{name}", value) for name, value in (labels or {}).items()]
