"""Points in columns: on their way to the server in batches, and back as a curve."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from mapi.errors import Fault, InvalidError
from mapi.sdk.arguments import shown
from mapi.sdk.calls import encoded
from mapi.sdk.checks import checked_series, checked_step, checked_time, checked_value, now_us
from mapi.wire.metrics import BatchAnswer, SeriesColumns
from mapi.wire.values import value_from_wire, values_to_wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mapi.sdk.calls import Producer
    from mapi.series.names import Labels
    from mapi.wire.metrics import Curve, CurvePoint, PointColumns, PrunedPoints

__all__ = [
    "BATCH_POINTS",
    "PENDING_POINTS_MAX",
    "Batch",
    "Column",
    "PointBuffer",
    "Points",
    "added_counts",
    "checked_column",
    "column_of",
]

#: Of one request. Ten times fewer double what a point costs, ten times more gain little.
BATCH_POINTS: Final = 10_000
#: Of one request, before compression: half of what the server reads, as this is an estimate.
_BATCH_BYTES: Final = 4 << 20
#: A step, a time and a value as JSON.
_POINT_BYTES: Final = 56
#: What waits while the server does not answer: 24 MB. What comes then is dropped and counted.
PENDING_POINTS_MAX: Final = 1_000_000
_SCALAR: Final = -1
#: Step, time and value, each of eight bytes, as `memoryview.cast` reads them.
_ROW: Final = Struct("=qqd")

_Series = tuple[str, "Labels"]


@dataclass(slots=True)
class Column:
    """Points of one series; step -1 is a scalar's.

    A point is one row of one array, so it is there whole or not at all: a signal handler may raise
    between any two statements.
    """

    rows: bytearray = field(default_factory=bytearray)

    def __len__(self) -> int:
        return len(self.rows) // _ROW.size

    def add(self, step: int | None, time_us: int, value: float) -> None:
        """Add a point."""
        self.rows += _ROW.pack(_SCALAR if step is None else step, time_us, value)

    def part(self, start: int, stop: int) -> Column:
        """Return the points of a range."""
        return Column(self.rows[start * _ROW.size : stop * _ROW.size])

    def extend(self, other: Column) -> None:
        """Add the points of another one."""
        self.rows += other.rows

    def on_the_wire(self, series: _Series) -> SeriesColumns:
        """Return the columns as they travel."""
        found = memoryview(self.rows)
        numbers = found.cast("q")
        all_steps = numbers[::3].tolist()
        scalars = all_steps.count(_SCALAR)
        steps: list[int | None] | None = None
        if scalars == 0:
            steps = [*all_steps]
        elif scalars < len(all_steps):
            steps = [None if step == _SCALAR else step for step in all_steps]
        return SeriesColumns(
            key=series[0],
            labels=dict(series[1]),
            steps=steps,
            times=numbers[1::3].tolist(),
            values=values_to_wire(found.cast("d")[2::3].tolist()),
        )


@dataclass(slots=True)
class Batch:
    """Points of one request."""

    columns: dict[_Series, Column]

    def __len__(self) -> int:
        return sum(map(len, self.columns.values()))

    def body(self, producer: Producer | None = None) -> bytes:
        """Return the body of the request, and who writes it."""
        series = [column.on_the_wire(of) for of, column in self.columns.items()]
        sent: dict[str, Any] = {"series": [_without_defaults(one) for one in series]}
        if producer is not None:
            sent |= {"stream": producer.stream, "rank": producer.rank}
            if producer.attempt is not None:
                sent["attempt"] = producer.attempt
        return encoded(sent)


def _without_defaults(one: SeriesColumns) -> dict[str, Any]:
    named: dict[str, Any] = {"key": one.key, "times": one.times, "values": one.values}
    if one.labels:
        named["labels"] = one.labels
    if one.steps is not None:
        named["steps"] = one.steps
    return named


def column_of(
    values: Sequence[Any],
    *,
    steps: Sequence[Any] | None,
    times: Sequence[Any] | None,
) -> Column:
    """Return checked points of one series.

    Raises:
        InvalidError: the columns are of different lengths, or an item breaks its rule.
    """
    checked_column(values, at="/values")
    for name, column in (("steps", steps), ("times", times)):
        if column is None:
            continue
        checked_column(column, at=f"/{name}")
        if len(column) != len(values):
            raise InvalidError(
                Fault(
                    f"/{name}",
                    f"{len(column)} {name} stand against {len(values)} values: one for each",
                )
            )
    now = now_us()
    found = Column()
    for at, value in enumerate(values):
        found.add(
            None if steps is None else checked_step(steps[at], at=f"/steps/{at}"),
            now if times is None else checked_time(times[at], at=f"/times/{at}", now=now),
            checked_value(value, at=f"/values/{at}"),
        )
    return found


def checked_column(found: Any, *, at: str) -> None:
    """Refuse what has no items in an order; bytes have some, which nobody means.

    Raises:
        InvalidError: it is none.
    """
    try:
        is_column = not isinstance(found, str | bytes | bytearray | Mapping) and len(found) >= 0
    except TypeError:  # no length, or an array without a dimension
        is_column = False
    if not is_column or not hasattr(found, "__getitem__"):
        raise InvalidError(Fault(at, f"{shown(found)} is no list or array: write [...]"))


class PointBuffer:
    """Points that wait to be sent, of any number of series; threads may share it.

    A signal handler may raise between any two statements of `add`, `take` and `done`, and each of
    them has been done whole then, or not at all. CPython calls handlers where a function begins and
    where a call comes back: assignments that stand together without a call are one step.

    A handler may also call any of them in the midst of another: it undoes what it meets half done, and
    takes the next turn, by which the one below sees that it has to begin again.
    """

    def __init__(self) -> None:
        self._columns: dict[_Series, Column] = {}
        self._checked: dict[Any, _Series] = {}
        self._lock = threading.RLock()
        self._turn = 0
        self._count = 0
        # What an `add` that has not come to its end was about, in its order.
        self._adding: Sequence[tuple[_Series, float]] | None = None
        # What was taken, and is not known to have arrived.
        self._taken: Batch | None = None
        self.dropped = 0
        """Points that came while `PENDING_POINTS_MAX` waited."""
        self.refused = 0
        """Points that were sent and not kept."""

    def __len__(self) -> int:
        return self._count

    def add(
        self,
        metrics: Mapping[str, Any],
        *,
        step: object = None,
        labels: Mapping[str, str] | None = None,
        time: object = None,
    ) -> None:
        """Check and keep one value of each of several metrics: all of them, or none.

        Raises:
            InvalidError: a key, a label, a value, the step or the time breaks its rule.
        """
        if not hasattr(metrics, "items"):
            raise InvalidError(
                Fault(
                    "/metrics",
                    f"{shown(metrics)} is no mapping of keys to values: write {{'loss': 0.5}}; "
                    "`log_series` takes columns",
                )
            )
        step_found, time_us = checked_step(step), checked_time(time)
        found = [
            (self._series(key, labels), checked_value(value, at=f"/{key}"))
            for key, value in metrics.items()
        ]
        step_kept = _SCALAR if step_found is None else step_found
        with self._lock:
            while not self._keep(found, step_kept, time_us):
                pass

    def _keep(self, found: Sequence[tuple[_Series, float]], step: int, time_us: int) -> bool:
        """Keep what `add` has checked; ``False`` if a signal handler came in between."""
        if self._adding is not None:
            self._undo(self._adding)
        pack, more = _ROW.pack, len(found)
        turn = self._turn = self._turn + 1
        count = self._count + more
        if count > PENDING_POINTS_MAX:
            self.dropped += more
            return True
        self._adding = found
        for series, value in found:
            row = pack(step, time_us, value)
            column = self._columns.get(series)
            is_new = column is None
            if column is None:
                column = Column()
            if self._turn != turn:
                return False
            if is_new:
                self._columns[series] = column
            column.rows += row
        if self._turn != turn:
            return False
        self._count = count
        self._adding = None
        return True

    def _undo(self, found: Sequence[tuple[_Series, float]]) -> None:
        """Take back what an `add` kept that was cut off; this may be cut off and done again."""
        turn = self._turn = self._turn + 1
        kept = self._count - (0 if self._taken is None else len(self._taken))
        more = sum(map(len, list(self._columns.values()))) - kept
        # The last first: what is left to do is always counted from the beginning.
        for series, _ in reversed(found[:more]):
            if self._turn != turn:
                return  # a handler has done it
            del self._columns[series].rows[-_ROW.size :]
        if self._turn == turn:
            self._adding = None

    def _series(self, key: str, labels: Mapping[str, str] | None) -> _Series:
        # The rules take microseconds; a run has few series and very many points.
        try:
            name = (key, () if labels is None else tuple(labels.items()))
            found = self._checked.get(name)
        except (TypeError, AttributeError):
            return checked_series(key, labels)
        if found is None:
            found = checked_series(key, labels)
            if len(self._checked) < _CHECKED_MAX:
                self._checked[name] = found
        return found

    def add_column(self, series: _Series, column: Column) -> None:
        """Keep checked points of one series, in a buffer that is dropped where this is cut off."""
        with self._lock:
            self._columns.setdefault(series, Column()).extend(column)
            self._count += len(column)

    def take(self) -> Batch | None:
        """Return what fits one request, in the order of the series; ``None`` if nothing waits.

        It goes on waiting, and is returned again, until it is `done`: before what came since, as the
        first value of a step stays. One thread at a time takes and sends.
        """
        with self._lock:
            while True:
                if self._adding is not None:
                    self._undo(self._adding)
                turn = self._turn = self._turn + 1
                if self._taken is not None:
                    return self._taken
                left = dict(self._columns)
                taken = _taken_of(left)
                batch = Batch(taken) if taken else None
                if self._turn == turn:
                    self._columns = left
                    self._taken = batch
                    return batch

    def done(self, batch: Batch, *, refused: int = 0) -> None:
        """Let go of what was taken: the server has it, or does not want it.

        Args:
            batch: what `take` returned; again, or of an earlier time, changes nothing.
            refused: how many of its points the server did not keep.
        """
        with self._lock:
            points = len(batch)
            if self._taken is batch:
                self._taken = None
                self._count -= points
                self.refused += refused

    def batches(self) -> Iterator[Batch]:
        """Yield all that waits; whoever asks for the next is done with the one before."""
        while (batch := self.take()) is not None:
            yield batch
            self.done(batch)


def _taken_of(left: dict[_Series, Column]) -> dict[_Series, Column]:
    """Take what fits one request out of columns; those that are there before stay as they are."""
    taken: dict[_Series, Column] = {}
    points, size = 0, 0
    for series, column in list(left.items()):
        size += len(series[0]) + 40 + sum(len(a) + len(b) * 2 for a, b in series[1])
        room = min(BATCH_POINTS - points, (_BATCH_BYTES - size) // _POINT_BYTES)
        if room <= 0:
            break
        if len(column) <= room:
            del left[series]
            if not column:
                continue  # of an `add` that was cut off
            taken[series] = column
        else:
            taken[series] = column.part(0, room)
            left[series] = column.part(room, len(column))
        points += len(taken[series])
        size += len(taken[series]) * _POINT_BYTES
    return taken


#: Series whose names are not checked again; as many as a run has by default.
_CHECKED_MAX: Final = 1_000


def added_counts(one: BatchAnswer, other: BatchAnswer) -> BatchAnswer:
    """Return what became of two batches together."""
    return BatchAnswer(
        accepted=one.accepted + other.accepted,
        duplicates=one.duplicates + other.duplicates,
        conflicts=one.conflicts + other.conflicts,
        rejected=one.rejected + other.rejected,
        errors=[*one.errors, *other.errors],
        warnings=list(dict.fromkeys([*one.warnings, *other.warnings])),
        accepted_seq=one.accepted_seq if other.accepted_seq is None else other.accepted_seq,
    )


@dataclass(frozen=True, slots=True)
class Points:
    """One curve as columns of one length, by step."""

    key: str
    labels: dict[str, str]
    steps: list[int | None]
    """``None`` is a scalar's."""
    times_us: list[int]
    """Microseconds since 1970 UTC."""
    values: list[float]
    pruned: PrunedPoints | None = None
    """What retention has deleted of the steps that were asked for; ``None``: nothing."""

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, curve: Curve, points: Sequence[CurvePoint]) -> Points:
        """Return the columns of the points of a curve, as they came."""
        return cls(
            curve.key,
            curve.labels,
            [point.step for point in points],
            [point.time for point in points],
            [value_from_wire(point.value) for point in points],
            curve.pruned,
        )

    @classmethod
    def of_columns(cls, columns: PointColumns) -> Points:
        """Return the columns of a series, as they came."""
        return cls(
            columns.key,
            columns.labels,
            columns.steps,
            columns.times,
            [value_from_wire(value) for value in columns.values],
            columns.pruned,
        )

    def to_pandas(self) -> Any:
        """Return a data frame with the columns step, time and value."""
        import pandas as pd  # noqa: PLC0415 - an extra, or heavy

        times = pd.to_datetime(self.times_us, unit="us", utc=True)
        steps = pd.array(self.steps, dtype="Int64")
        return pd.DataFrame({"step": steps, "time": times, "value": self.values})

    def to_polars(self) -> Any:
        """Return a data frame with the columns step, time and value."""
        import polars as pl  # noqa: PLC0415 - an extra, or heavy

        return pl.DataFrame(
            {
                "step": pl.Series(self.steps, dtype=pl.Int64),
                "time": pl.Series(self.times_us, dtype=pl.Int64).cast(
                    pl.Datetime("us", time_zone="UTC")
                ),
                "value": pl.Series(self.values, dtype=pl.Float64),
            }
        )
