"""What the log of a run must say, in plain Python: ingest, corrections and attempts by their rules.

`apply_event` does the same to the database and to the model, and compares the answers.
"""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
from hypothesis import strategies as st

from mapi.errors import NotFoundError, StateError
from mapi.tracking.attempts import register_attempt
from mapi.tracking.batch import PointBatch, Series
from mapi.tracking.corrections import correct_points, delete_points
from mapi.tracking.ingest import write_batch
from mapi.tracking.writing import Counts, Sender
from mapi.wire.enums import Source

if TYPE_CHECKING:
    import uuid

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database
    from mapi.series.names import Labels

Point = tuple[int, int, int, float]
NOW_US = 1_780_000_000_000_000
POINTS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(-1, 4),
        st.integers(0, 3),
        st.sampled_from([0.0, 1.5, -2.0, math.nan, math.inf, -math.inf]),
    ),
    max_size=12,
)
WRITERS = [("", 0), ("data", 0), ("", 1)]


def series_of(stream: str = "", rank: int = 0) -> list[Series]:
    who: Labels = (("rank", str(rank)),) if rank else ()
    if stream:
        who = (*who, ("stream", stream))
    return [Series("a", who), Series("b", who), Series("a", (*who, ("x", "1")))]


def batch_of(points: list[Point], series: list[Series] | None = None) -> PointBatch:
    columns = list(zip(*points, strict=True)) if points else [(), (), (), ()]
    return PointBatch.of(
        series or series_of(),
        index=np.array(columns[0], dtype=np.int64),
        steps=np.array(columns[1], dtype=np.int64),
        times_us=np.array(columns[2], dtype=np.int64) + NOW_US,
        values=np.array(columns[3], dtype=np.float64),
    )


@dataclasses.dataclass
class Attempt:
    """What the database must know of an attempt, in plain Python."""

    from_step: int | None = None
    is_runner: bool = False
    #: by series and step: time and value
    points: dict[tuple[int, int], tuple[int, float]] = dataclasses.field(default_factory=dict)
    #: the series that have a row of this attempt: they stay until no attempt has a point
    written: set[int] = dataclasses.field(default_factory=set)
    #: by series: the last step that was pruned
    sealed: dict[int, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Pruned:
    """What a summary keeps of points that are gone."""

    attempt: int
    last_step: int
    points: dict[int, tuple[int, float, int]]


class Log:
    """What the database must say of one stream and rank, in plain Python."""

    def __init__(self) -> None:
        self.attempts: dict[int, Attempt] = {}
        #: by series
        self.pruned: dict[int, Pruned] = {}

    def newest(self) -> int:
        return max(self.attempts, default=1)

    def write(self, number: int, points: list[Point]) -> tuple[int, int]:
        """Return how many places changed, and how many points came with another value."""
        attempt = self.attempts.setdefault(number, Attempt())
        attempt.written |= {point[0] for point in points}
        mine = attempt.points
        before = dict(mine)
        gone: dict[tuple[int, int], float] = {}
        conflicts = 0
        for series, step, time, value in points:
            if 0 <= step <= attempt.sealed.get(series, -1):
                # Nobody knows what stood there; of several values one at most is the same.
                conflicts += repr(gone.setdefault((series, step), value)) != repr(value)
                continue
            known = mine.get((series, step))
            if known is None or (step == -1 and time >= known[0]):
                mine[series, step] = (time, value)
            elif step != -1 and repr(known[1]) != repr(value):
                conflicts += 1
        changed = sum(repr(before.get(place)) != repr(point) for place, point in mine.items())
        return changed, conflicts

    def correct(self, number: int, points: list[Point]) -> int:
        """Let the last value of each step stay; return how many places changed."""
        changed, _ = self.write(number, [point for point in points if point[1] == -1])
        self.attempts[number].written |= {point[0] for point in points}
        mine = self.attempts[number].points
        last = {point[:2]: point[2:] for point in points if point[1] != -1}
        for place, (time, value) in last.items():
            if place[1] <= self.attempts[number].sealed.get(place[0], -1):
                continue
            if place not in mine or repr(mine[place][1]) != repr(value):
                mine[place] = (time, value)
                changed += 1
        return changed

    def prune(self) -> int:
        """Delete all points but scalars, and keep what the summaries say; return how many."""
        for series, steps in self.summarised().items():
            stepped = {step: one for step, one in steps.items() if step >= 0}
            if stepped:
                newest = max(one[2] for one in stepped.values())
                self.pruned[series] = Pruned(newest, max(stepped), stepped)
        count = 0
        for attempt in self.attempts.values():
            for series, step in [place for place in attempt.points if place[1] >= 0]:
                attempt.sealed[series] = max(attempt.sealed.get(series, -1), step)
                del attempt.points[series, step]
                count += 1
        return count

    def summarised(self) -> dict[int, dict[int, tuple[int, float, int]]]:
        """Return what the summaries cover: the default reading, and what was pruned before it."""
        found = self.default_reading()
        for series, pruned in self.pruned.items():
            if self.is_superseded(pruned.attempt, series, -1):
                continue
            behind = {
                step: one
                for step, one in found.get(series, {}).items()
                if step == -1 or step > pruned.last_step
            }
            found[series] = behind | pruned.points
        return found

    def delete(self, series: int, first: int | None, last: int | None) -> int:
        """Delete the points of a series between two steps, of all attempts; return how many."""
        count = 0
        is_whole = first is None and last is None
        first = -1 if first is None else first
        last = 2**63 - 1 if last is None else last
        if is_whole:
            self.pruned.pop(series, None)
        for attempt in self.attempts.values():
            gone = [at for at in attempt.points if at[0] == series and first <= at[1] <= last]
            for at in gone:
                del attempt.points[at]
            count += len(gone)
        is_sealed = any(series in one.sealed for one in self.attempts.values())
        has_points = any(at[0] == series for one in self.attempts.values() for at in one.points)
        if not has_points and (is_whole or not is_sealed):
            for attempt in self.attempts.values():
                attempt.written.discard(series)
                attempt.sealed.pop(series, None)
        return count

    def is_known(self, series: int) -> bool:
        return any(series in attempt.written for attempt in self.attempts.values())

    def is_superseded(self, number: int, series: int, step: int) -> bool:
        for later, attempt in self.attempts.items():
            if later <= number or attempt.from_step is None:
                continue
            if attempt.is_runner and series not in attempt.written:
                continue
            if attempt.from_step == 0 or step >= attempt.from_step:
                return True
        return False

    def default_reading(self) -> dict[int, dict[int, tuple[int, float, int]]]:
        """Return by series and step: time, value and the newest attempt that wrote it."""
        reading: dict[int, dict[int, tuple[int, float, int]]] = {}
        for number in sorted(self.attempts):
            for (series, step), (time, value) in self.attempts[number].points.items():
                if not self.is_superseded(number, series, step):
                    reading.setdefault(series, {})[step] = (time, value, number)
        return reading

    def summaries(self, series_list: list[Series]) -> dict[tuple[str, str], dict[str, Any]]:
        found = {}
        for series, steps in self.summarised().items():
            finite = {step: one[1] for step, one in steps.items() if math.isfinite(one[1])}
            last = max(steps)
            low = min(finite, key=lambda step: (finite[step], step), default=None)
            high = min(finite, key=lambda step: (-finite[step], step), default=None)
            name = series_list[series]
            found[name.key, str(dict(sorted(name.labels)))] = {
                "count": len(steps),
                "nonfinite": len(steps) - len(finite),
                "times": (
                    min(one[0] for one in steps.values()),
                    max(one[0] for one in steps.values()),
                ),
                "last": (last, repr(steps[last][1])),
                "min": None if low is None else (finite[low], low),
                "max": None if high is None else (finite[high], high),
                "sum": sum(finite.values()),
                "attempt": max(one[2] for one in steps.values()),
                "is_scalar": set(steps) == {-1},
            }
        return found


def stored_summaries(tenant: Tenant, run_id: uuid.UUID) -> dict[tuple[str, str], dict[str, Any]]:
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        rows = connection.execute(
            "select key, labels, count, nonfinite_count, first_time, last_time, last_step,"
            " last_value, min_value, min_step, max_value, max_step, finite_sum, attempt, is_scalar"
            " from mapi.run_metric_summary where tenant_id = %s and run_id = %s",
            [tenant.id, run_id],
        ).fetchall()

    def microseconds(time: Any) -> int:
        since = time - datetime(1970, 1, 1, tzinfo=UTC)
        return int(since / timedelta(microseconds=1)) - NOW_US

    return {
        (row[0], str(dict(sorted(row[1].items())))): {
            "count": row[2],
            "nonfinite": row[3],
            "times": (microseconds(row[4]), microseconds(row[5])),
            "last": (row[6], repr(row[7])),
            "min": None if row[8] is None else (row[8], row[9]),
            "max": None if row[10] is None else (row[10], row[11]),
            "sum": row[12],
            "attempt": row[13],
            "is_scalar": row[14],
        }
        for row in rows
    }


def run_totals(tenant: Tenant, run_id: uuid.UUID) -> tuple[int, int, int, int]:
    """Return the counters of a run, and what they count."""
    with psycopg.connect(tenant.server.superuser_url()) as superuser:
        row = superuser.execute(
            "select point_count, series_count,"
            " (select count(*) from mapi.run_metrics as m where m.run = r.id),"
            " (select count(distinct (key, labels_hash)) from mapi.run_series as s"
            " where s.run_id = r.id)"
            " from mapi.runs as r where r.id = %s",
            [run_id],
        ).fetchone()
    assert row is not None
    return (row[0], row[1], row[2], row[3])


DELETES = st.tuples(
    st.just("delete"),
    st.integers(0, 2),
    st.integers(0, 2),
    st.one_of(
        st.tuples(st.integers(-1, 4), st.integers(-1, 4)),
        st.just((None, None)),
    ),
)
#: What happens to a log: who does it, at which attempt (0 is the default), and what.
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 2), st.integers(0, 3), POINTS),
        st.tuples(st.just("correct"), st.integers(0, 2), st.integers(0, 3), POINTS),
        st.tuples(
            st.just("register"),
            st.integers(0, 2),
            st.integers(1, 3),
            st.one_of(st.none(), st.integers(0, 5), st.just("runner")),
        ),
    ),
    min_size=1,
    max_size=7,
)


async def apply_event(
    database: Database, tenant: Tenant, run_id: uuid.UUID, *, log: Log, event: Any
) -> None:
    """Do the same to the database and to its model, and compare what both say."""
    kind, who, number, what = event
    stream, rank = WRITERS[who]
    sender = Sender(stream=stream, rank=rank, attempt=number or None)
    if kind == "register":
        from_step, is_runner = (0, True) if what == "runner" else (what, False)
        known = log.attempts.get(number)
        source = Source.RUNNER if is_runner else Source.API
        try:
            async with database.transaction(tenant.reach) as connection:
                await register_attempt(
                    connection,
                    run_id,
                    sender=dataclasses.replace(sender, source=source, attempt=None),
                    number=number,
                    from_step=from_step,
                )
        except StateError:
            assert known is not None
            assert known.from_step not in (None, from_step)
            return
        attempt = log.attempts.setdefault(number, Attempt())
        if attempt.from_step is None and from_step is not None:
            attempt.from_step, attempt.is_runner = from_step, is_runner
        return
    if kind == "delete":
        await apply_delete(database, tenant, run_id, log=log, event=event)
        return
    number = number or log.newest()
    batch = batch_of(what, series_of(stream, rank))
    if kind == "write":
        counts = await write_batch(database, tenant.reach, run_id, batch=batch, sender=sender)
        changed, conflicts = log.write(number, what)
        assert counts == Counts(changed, len(what) - changed, conflicts)
    else:
        async with database.transaction(tenant.reach) as connection:
            counts = await correct_points(connection, run_id, batch, sender=sender)
        changed = log.correct(number, what)
        assert (counts.accepted, counts.duplicates) == (changed, len(what) - changed)


async def apply_delete(
    database: Database, tenant: Tenant, run_id: uuid.UUID, *, log: Log, event: Any
) -> None:
    """Delete points of one series; an event names the series where others name the attempt."""
    _, who, series, (first, last) = event
    stream, rank = WRITERS[who]
    try:
        async with database.transaction(tenant.reach) as connection:
            deleted = await delete_points(
                connection,
                run_id,
                series_of(stream, rank)[series],
                sender=Sender(stream=stream, rank=rank),
                steps=(first, last),
                reason="a test",
            )
    except NotFoundError:
        assert not log.is_known(series)
        return
    assert deleted == log.delete(series, first, last)
