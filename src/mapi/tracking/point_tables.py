"""Points as a table with the columns of ``run_metrics``: CSV or Parquet, written while it is read.

    run, attempt, key, labels, step, time, value

Labels are a JSON object, sorted by name. In CSV a scalar's step is empty, a time is RFC 3339 with
microseconds, and a number has the fewest digits that read back as the same 64-bit float.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.extras import install_command
from mapi.errors import Fault, InvalidError
from mapi.tracking.batch import SCALAR_STEP
from mapi.wire.times import time_from_us
from mapi.wire.values import value_to_wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mapi.tracking.export import SeriesSlice

__all__ = ["COLUMNS", "csv_table", "parquet_table", "require_parquet"]

COLUMNS: Final = ("run", "attempt", "key", "labels", "step", "time", "value")
#: Rows of a row group: statistics and pages of Parquet pay from some ten thousand rows on.
_GROUP_ROWS: Final = 100_000


async def csv_table(slices: AsyncIterator[SeriesSlice]) -> AsyncIterator[bytes]:
    """Yield a table as CSV (RFC 4180, UTF-8)."""
    yield (",".join(COLUMNS) + "\r\n").encode()
    async for one in slices:
        text = io.StringIO()
        writer = csv.writer(text)
        labels = _labels_text(one)
        for step, time_us, value in one.points:
            writer.writerow(
                (
                    one.run,
                    one.attempt,
                    one.key,
                    labels,
                    "" if step == SCALAR_STEP else step,
                    time_from_us(time_us).isoformat(timespec="microseconds"),
                    value_to_wire(value),
                )
            )
        yield text.getvalue().encode()


def _labels_text(one: SeriesSlice) -> str:
    return json.dumps(one.labels, ensure_ascii=False, sort_keys=True)


def require_parquet() -> None:
    """Let through if Parquet can be written here.

    Raises:
        InvalidError: the server has no library for it.
    """
    try:
        import pyarrow.parquet  # noqa: F401, PLC0415 - an extra, loaded by who asks for it
    except ImportError:
        raise InvalidError(
            Fault(
                "/query/format",
                "this server cannot write Parquet, as pyarrow is not installed; ask for csv or "
                f"jsonl, or on the server's machine: {install_command('arrow')}",
            )
        ) from None


async def parquet_table(slices: AsyncIterator[SeriesSlice]) -> AsyncIterator[bytes]:
    """Yield a table as Parquet, a row group at a time."""
    import pyarrow as pa  # noqa: PLC0415 - see above
    import pyarrow.parquet as pq  # noqa: PLC0415

    schema = pa.schema(
        [
            ("run", pa.string()),
            ("attempt", pa.int32()),
            ("key", pa.string()),
            ("labels", pa.string()),
            ("step", pa.int64()),
            ("time", pa.timestamp("us", tz="UTC")),
            ("value", pa.float64()),
        ]
    )
    sink = _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        group: list[Any] = []
        rows = 0
        async for one in slices:
            group.append(_record_batch(pa, schema, one))
            rows += len(one.points)
            if rows >= _GROUP_ROWS:
                writer.write_table(pa.Table.from_batches(group))
                group, rows = [], 0
                yield sink.take()
        if group:
            writer.write_table(pa.Table.from_batches(group))
    yield sink.take()


def _record_batch(pa: Any, schema: Any, one: SeriesSlice) -> Any:
    count = len(one.points)
    return pa.record_batch(
        [
            pa.array([one.run] * count, pa.string()),
            pa.array([one.attempt] * count, pa.int32()),
            pa.array([one.key] * count, pa.string()),
            pa.array([_labels_text(one)] * count, pa.string()),
            pa.array(
                [None if point.step == SCALAR_STEP else point.step for point in one.points],
                pa.int64(),
            ),
            pa.array([point.time_us for point in one.points], pa.timestamp("us", tz="UTC")),
            pa.array([point.value for point in one.points], pa.float64()),
        ],
        schema=schema,
    )


class _Sink(io.RawIOBase):
    """What was written and not yet sent."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def take(self) -> bytes:
        """Return what was written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)
