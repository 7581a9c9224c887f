"""Compaction: the points of a run that is over move from rows into chunks, a fifth of the size.

A point stands in one place, as a row or in one chunk; the chunks of a series do not overlap, and
readers see no difference. What is written later stands as rows again until the next compaction,
which merges it in. Each step is a small transaction that holds the run's lock, as writers do: a job
that is killed goes on where it was, and two that meet take different runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mapi.database.arrays import IntArray
from mapi.database.queries import query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    import numpy as np
    import numpy.typing as npt

    from mapi.database.door import Connection, Database, Reach

__all__ = ["Sizes", "compact", "compact_run", "open_chunks_at", "open_chunks_between"]

#: Runs of one look.
_LOOK_MAX: Final = 200
_LAST_STEP: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large chunks and the steps of a compaction are."""

    chunk_points: int = 2_000
    """Who reads one point of a chunk unpacks all, which takes 0.3 ms; with more of them the rest of
    its row weighs nothing any more."""
    batch_points: int = 50_000
    """Rows that one transaction moves: about half a second of the run's lock."""
    batch_chunks: int = 25
    """Chunks of a series that it makes anew beside them."""
    batch_series: int = 1_000
    """Series of one transaction at most."""
    few: int = 4
    """Fewer points than these take less room as rows than as a chunk."""


_SIZES: Final = Sizes()


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Steps of one series that become chunks."""

    series_id: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Step:
    """What one transaction did."""

    moved: int
    after: int
    """The last series that it finished."""
    seq: int
    """The change of the run that the first one saw."""
    is_last: bool


async def compact(
    database: Database,
    reach: Reach,
    *,
    age_seconds: float,
    told: Callable[[int], None] | None = None,
) -> int:
    """Compact the runs of a tenant that ended long enough ago.

    Args:
        database: where the rows are.
        reach: all of the tenant.
        age_seconds: how long ago a run must have ended.
        told: hears after each run how many points moved.

    Returns:
        How many points moved into chunks; again finds none.
    """
    moved = 0
    after = "00000000-0000-0000-0000-000000000000"
    while True:
        async with database.transaction(reach) as connection:
            cursor = await connection.execute(
                query("compaction.find_runs"),
                {"seconds": age_seconds, "after": after, "limit": _LOOK_MAX},
            )
            found = [run_id for (run_id,) in await cursor.fetchall()]
        for run_id in found:
            points = await compact_run(database, reach, run_id)
            moved += points
            if told is not None:
                told(points)
        if len(found) < _LOOK_MAX:
            return moved
        after = found[-1]


async def compact_run(
    database: Database, reach: Reach, run_id: UUID, *, sizes: Sizes = _SIZES
) -> int:
    """Compact one run, if it is over and nobody writes to it just now.

    Args:
        database: where the rows are.
        reach: of the run's tenant.
        run_id: the run.
        sizes: of chunks and transactions.

    Returns:
        How many points moved into chunks.
    """
    moved = 0
    last: _Step | None = None
    while last is None or not last.is_last:
        known = last

        async def work(connection: Connection, known: _Step | None = known) -> _Step | None:
            return await _compact_some(connection, run_id, known, sizes=sizes)

        last = await database.run(reach, work)
        if last is None:
            break
        moved += last.moved
    return moved


async def _compact_some(
    connection: Connection, run_id: UUID, previous: _Step | None, *, sizes: Sizes
) -> _Step | None:
    """Compact the next series of a run, or a part of one; ``None`` if the run cannot be had."""
    after = 0 if previous is None else previous.after
    cursor = await connection.execute(query("compaction.lock"), {"run": run_id})
    row = await cursor.fetchone()
    if row is None:
        return None
    change_seq, before, mean_points = row
    limit = max(1, min(sizes.batch_series, sizes.batch_points // max(1, mean_points)))
    cursor = await connection.execute(
        query("compaction.find_rows"),
        {"run": run_id, "after": after, "limit": limit, "points": sizes.batch_points},
    )
    found = await cursor.fetchall()
    is_last = len(found) < limit
    stretches: list[_Stretch] = []
    room = sizes.batch_points
    for series_id, rows, first, last, has_chunks in found:
        if rows > room:
            is_last = False
            break
        if rows >= sizes.few or (rows and has_chunks):
            stretch, is_whole = _Stretch(series_id, first, last), True
            if has_chunks:
                stretch, is_whole = await _with_chunks(connection, stretch, sizes)
            stretches.append(stretch)
            room -= rows
            if rows == sizes.batch_points or not is_whole:
                # There may be more of this series: the next transaction looks at it again.
                is_last = False
                break
        after = series_id
    await _merge(connection, stretches, size=sizes.chunk_points)
    seq = change_seq if previous is None else previous.seq
    is_done = is_last and seq == change_seq
    about = {"run": run_id, "is_done": is_done}
    cursor = await connection.execute(query("compaction.note"), about)
    (compacted,) = await cursor.fetchone() or (before,)
    return _Step(compacted - before, after, seq, is_last=is_last)


async def _with_chunks(
    connection: Connection, stretch: _Stretch, sizes: Sizes
) -> tuple[_Stretch, bool]:
    """Return a stretch with the chunks that it touches, as whole ones; say whether that is all."""
    cursor = await connection.execute(
        query("compaction.find_chunks"),
        {
            "series": stretch.series_id,
            "first": stretch.first,
            "last": stretch.last,
            "size": sizes.chunk_points,
            "limit": sizes.batch_chunks + 1,
        },
    )
    chunks = await cursor.fetchall()
    if not chunks:
        return stretch, True
    is_whole = len(chunks) <= sizes.batch_chunks
    # In front of the first chunk that is too many: it and what lies behind have their turn.
    last = max(stretch.last, chunks[-1][1]) if is_whole else chunks[-1][0] - 1
    first = min(stretch.first, chunks[0][0])
    return _Stretch(stretch.series_id, first, last), is_whole


async def _merge(connection: Connection, stretches: Sequence[_Stretch], *, size: int) -> None:
    if not stretches:
        return
    await connection.execute(
        query("compaction.merge"),
        {
            "series": [one.series_id for one in stretches],
            "firsts": [one.first for one in stretches],
            "lasts": [one.last for one in stretches],
            "size": size,
        },
    )


async def open_chunks_at(
    connection: Connection,
    run_id: UUID,
    *,
    series: npt.NDArray[np.int64],
    steps: npt.NDArray[np.int64],
) -> None:
    """Turn the chunks that hold one of the steps into rows again, which can be changed.

    Args:
        connection: a transaction that holds the run's lock.
        run_id: the run.
        series: the database's number of each step's series.
        steps: which.
    """
    await connection.execute(
        query("compaction.open_at"),
        {"series": IntArray(series), "steps": IntArray(steps)},
        binary=True,
    )
    await connection.execute(query("compaction.note"), {"run": run_id, "is_done": False})


async def open_chunks_between(
    connection: Connection,
    run_id: UUID,
    series: Sequence[int],
    *,
    steps: tuple[int, int] = (0, _LAST_STEP),
) -> None:
    """Turn the chunks that reach into a stretch of steps into rows again.

    Args:
        connection: a transaction that holds the run's lock.
        run_id: the run.
        series: the database's numbers of the series.
        steps: the first and the last.
    """
    about: dict[str, Any] = {"series": list(series), "first": steps[0], "last": steps[1]}
    await connection.execute(query("compaction.open_between"), about)
    await connection.execute(query("compaction.note"), {"run": run_id, "is_done": False})
