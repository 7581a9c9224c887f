"""A metrics body, rows or columns, into one set of columns: the hot path of the platform.

Here the shape is checked: numbers, steps, times, lengths. Whether a key or a label may be called so
is `mapi.series`' to say; whether a point fits its budget, the log's. Both point back into the body
with `MetricColumns.pointer`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from mapi.errors import Fault, InvalidError
from mapi.wire.decoding import BATCH_BYTES_MAX, FAULTS_MAX, decode, pointer
from mapi.wire.metrics import (
    POINTS_MAX,
    MetricsBody,
    PointRow,
    SeriesColumns,
    check_numbering,
)
from mapi.wire.times import TIME_EXAMPLE, check_time, check_time_us, time_to_us

__all__ = ["SCALAR_STEP", "MetricColumns", "SentSeries", "decode_metrics"]

#: The stored step of a point without one.
SCALAR_STEP: Final = -1
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Identity = tuple[str | None, str | None, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class SentSeries:
    """What a client called a series; not yet checked."""

    key: str | None
    name: str | None
    labels: dict[str, str]
    pointer: str
    """Where it first stands in the body."""


@dataclass(frozen=True, slots=True)
class MetricColumns:
    """The points of a body in the order they were sent; the arrays have one item a point."""

    series: list[SentSeries]
    """In rows each once; in columns as sent, so one may stand twice."""
    index: _Ints
    """Which of ``series`` a point belongs to."""
    steps: _Ints
    """`SCALAR_STEP` where there is none."""
    times_us: _Ints
    """Microseconds since 1970 UTC."""
    values: _Floats
    stream: str
    rank: int
    attempt: int | None
    writer: str | None
    seq: int | None
    after: int | None
    is_rows: bool
    starts: list[int]
    """In columns: at which point each series begins."""

    def __len__(self) -> int:
        return len(self.steps)

    def pointer(self, at: int) -> str:
        """Return where the point stands in the body."""
        if self.is_rows:
            return pointer("points", at)
        series = int(self.index[at])
        return pointer("series", series, "values", at - self.starts[series])


def decode_metrics(body: bytes, *, now_us: int) -> MetricColumns:
    """Return the points of a `POST …/metrics`.

    Args:
        body: JSON, already inflated.
        now_us: the server's time in microseconds since 1970 UTC; the time of points without one.

    Raises:
        InvalidError: a rule is broken; nothing of the body was taken.
    """
    sent = decode(body, MetricsBody, bytes_max=BATCH_BYTES_MAX)
    if (sent.points is None) == (sent.series is None):
        raise InvalidError(Fault("", "a body has either points (rows) or series (columns)"))
    check_numbering(sent.writer, sent.seq, sent.after)
    if sent.points is not None:
        columns = _from_rows(sent, sent.points, now_us)
    else:
        columns = _from_columns(sent, sent.series or [], now_us)
    _check_times(columns, now_us)
    return columns


def _from_rows(sent: MetricsBody, rows: list[PointRow], now_us: int) -> MetricColumns:
    _check_count(len(rows), "/points")
    places: dict[_Identity, int] = {}
    series: list[SentSeries] = []
    index: list[int] = []
    for at, row in enumerate(rows):
        identity = (row.key, row.name, tuple(sorted(row.labels.items())))
        place = places.get(identity)
        if place is None:
            place = places[identity] = len(series)
            series.append(_named(row, pointer("points", at)))
        index.append(place)
    return MetricColumns(
        series=series,
        index=np.array(index, dtype=np.int64),
        steps=_steps([row.step for row in rows]),
        times_us=np.array(
            [
                _time_us(row.time, now_us, at) if row.time is not None else now_us
                for at, row in enumerate(rows)
            ],
            dtype=np.int64,
        ),
        values=np.array([row.value for row in rows], dtype=np.float64),
        stream=sent.stream,
        rank=sent.rank,
        attempt=sent.attempt,
        writer=sent.writer,
        seq=sent.seq,
        after=sent.after,
        is_rows=True,
        starts=[],
    )


def _from_columns(
    sent: MetricsBody, all_series: list[SeriesColumns], now_us: int
) -> MetricColumns:
    sizes = [len(one.values) for one in all_series]
    _check_count(sum(sizes), "/series")
    _raise_any(_uneven(all_series))
    empty = np.empty(0, dtype=np.int64)
    return MetricColumns(
        series=[_named(one, pointer("series", at)) for at, one in enumerate(all_series)],
        index=np.repeat(np.arange(len(sizes), dtype=np.int64), sizes),
        steps=np.concatenate(
            [
                empty,
                *(
                    np.full(size, SCALAR_STEP, dtype=np.int64)
                    if one.steps is None
                    else _steps(one.steps)
                    for one, size in zip(all_series, sizes, strict=True)
                ),
            ]
        ),
        times_us=np.concatenate(
            [
                empty,
                *(
                    np.full(size, now_us, dtype=np.int64)
                    if one.times is None
                    else _whole(one.times, now_us, at)
                    for at, (one, size) in enumerate(zip(all_series, sizes, strict=True))
                ),
            ]
        ),
        # Of the texts only the three words for what is no number are left, and numpy reads them.
        values=np.concatenate(
            [empty.astype(np.float64), *(np.array(one.values, np.float64) for one in all_series)]
        ),
        stream=sent.stream,
        rank=sent.rank,
        attempt=sent.attempt,
        writer=sent.writer,
        seq=sent.seq,
        after=sent.after,
        is_rows=False,
        starts=np.cumsum([0, *sizes])[:-1].tolist(),
    )


def _named(one: PointRow | SeriesColumns, at: str) -> SentSeries:
    if (one.key is None) == (one.name is None):
        raise InvalidError(
            Fault(f"{at}/key", "a series has either a key or a name of another tool")
        )
    return SentSeries(one.key, one.name, one.labels, at)


def _check_count(count: int, at: str) -> None:
    if count > POINTS_MAX:
        raise InvalidError(
            Fault(at, f"{count} points are too many for one batch: at most {POINTS_MAX}")
        )


def _uneven(all_series: list[SeriesColumns]) -> Iterable[Fault]:
    for at, one in enumerate(all_series):
        for name, column in (("steps", one.steps), ("times", one.times)):
            if column is not None and len(column) != len(one.values):
                yield Fault(
                    pointer("series", at, name),
                    f"{len(column)} {name} stand against {len(one.values)} values: one for each",
                )


def _steps(steps: list[int | None]) -> _Ints:
    try:
        return np.array(steps, dtype=np.int64)
    except TypeError:  # scalars among them
        return np.array([SCALAR_STEP if one is None else one for one in steps], dtype=np.int64)


def _whole(times: list[int], now_us: int, series: int) -> _Ints:
    try:
        return np.array(times, dtype=np.int64)
    except OverflowError:
        at, found = next(
            (at, one) for at, one in enumerate(times) if not _INT64_MIN <= one <= _INT64_MAX
        )
        message = check_time_us(found, now_us=now_us) or ""
        raise InvalidError(Fault(pointer("series", series, "times", at), message)) from None


def _time_us(time: datetime | int, now_us: int, at: int) -> int:
    if isinstance(time, int):
        if _INT64_MIN <= time <= _INT64_MAX:
            return time
        message = check_time_us(time, now_us=now_us) or ""
    elif time.tzinfo is None:
        message = f"a time says its zone: {TIME_EXAMPLE}"
    elif (wrong := check_time(time, now_us=now_us)) is not None:
        message = wrong
    else:
        return time_to_us(time)
    raise InvalidError(Fault(pointer("points", at, "time"), message))


def _check_times(columns: MetricColumns, now_us: int) -> None:
    if not len(columns):
        return
    low, high = int(columns.times_us.min()), int(columns.times_us.max())
    if check_time_us(low, now_us=now_us) is None and check_time_us(high, now_us=now_us) is None:
        return
    _raise_any(_wrong_times(columns, now_us))


def _wrong_times(columns: MetricColumns, now_us: int) -> Iterable[Fault]:
    for at, time_us in enumerate(columns.times_us.tolist()):
        message = check_time_us(time_us, now_us=now_us)
        if message is not None:
            place = columns.pointer(at)
            if columns.is_rows:
                place += "/time"
            else:
                place = place.replace("/values/", "/times/")
            yield Fault(place, message)


def _raise_any(faults: Iterable[Fault]) -> None:
    found: list[Fault] = []
    for fault in faults:
        found.append(fault)
        if len(found) == FAULTS_MAX:
            break
    if found:
        raise InvalidError(found)
