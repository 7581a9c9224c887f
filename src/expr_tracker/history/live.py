"""`HistoryStore`: the history of the stream that this process writes, as ``run.history``.

The file is the cache: a query reads the few blocks it needs from the page cache, adds the lines
that wait for the file and merges the open row as the newest step. It takes one snapshot under the
writer's lock and holds no lock while it reads.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, overload

from expr_tracker.history.answer import answer
from expr_tracker.history.question import Question, ask
from expr_tracker.history.reading import answer_run
from expr_tracker.history.source import Source
from expr_tracker.history.view import View
from expr_tracker.store.seconds import seconds_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import SupportsIndex, Unpack

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from expr_tracker.history.question import (
        ArrowOutput,
        Asked,
        PandasOutput,
        PolarsOutput,
        RowsOutput,
    )
    from expr_tracker.options import Options
    from expr_tracker.row import Row
    from expr_tracker.store.live import LiveSnapshot
    from expr_tracker.store.producers import Producer, RankChoice, StreamChoice

__all__ = ["HistoryStore", "Point", "Series", "newest_points"]

#: One value of one metric: step, Unix seconds, value.
Point = tuple[int, float, float]

#: The first piece read backward for points; later ones are four times larger, up to the second.
_BACKWARD_BYTES: Final = 1 << 18
_BACKWARD_BYTES_MAX: Final = 1 << 22


class HistoryStore:
    """The history of a live stream.

    Args:
        path: the metrics file.
        snapshot: returns the writer's state of one moment.
        flush: writes what waits; with ``True`` the open row is committed first.
        options: the run's options.
        guard: raises in a forked child; called first by every public method.
    """

    def __init__(  # noqa: PLR0917 - what the run hands over, once
        self,
        path: Path,
        snapshot: Callable[[], LiveSnapshot],
        flush: Callable[[bool], None],
        options: Options,
        guard: Callable[[], None],
    ) -> None:
        self.path = path
        self._snapshot = snapshot
        self._flush = flush
        self._guard = guard
        self._counting = threading.Lock()
        self._queries = 0
        self._disk_queries = 0
        self._reported: tuple[int, ...] = (0, 0)
        #: The newest points by metric.
        self.series = Series(self._open, options.alert_window, guard)

    @overload
    def query(
        self,
        n: SupportsIndex | None = 50,
        *,
        include_open: bool = True,
        output_type: RowsOutput = ...,
        **asked: Unpack[Asked],
    ) -> list[Row]: ...
    @overload
    def query(
        self,
        n: SupportsIndex | None = 50,
        *,
        include_open: bool = True,
        output_type: PandasOutput,
        **asked: Unpack[Asked],
    ) -> pd.DataFrame: ...
    @overload
    def query(
        self,
        n: SupportsIndex | None = 50,
        *,
        include_open: bool = True,
        output_type: PolarsOutput,
        **asked: Unpack[Asked],
    ) -> pl.DataFrame: ...
    @overload
    def query(
        self,
        n: SupportsIndex | None = 50,
        *,
        include_open: bool = True,
        output_type: ArrowOutput,
        **asked: Unpack[Asked],
    ) -> pa.Table: ...
    @overload
    def query(
        self,
        n: SupportsIndex | None = 50,
        *,
        include_open: bool = True,
        output_type: str | None,
        **asked: Unpack[Asked],
    ) -> Any: ...
    def query(
        self,
        n: SupportsIndex | None = 50,
        *,
        include_open: bool = True,
        output_type: str | None = "dict",
        **asked: Unpack[Asked],
    ) -> Any:
        """Return what this stream has logged; the keywords are those of ``et.history``.

        Raises:
            QueryError: a keyword has no meaning.
            MissingExtraError: the library for the output is not installed.
            ForkedObjectError: the store belongs to the parent process.
        """
        self._guard()
        question = ask(n, output_type=output_type, **asked)
        with self._open() as source:
            if not include_open:
                source.open_row = None
            self._count(question, source)
            result = answer(source, question)
            self._report(source)
            return result

    def query_several(
        self,
        n: SupportsIndex | None = 50,
        *,
        stream: StreamChoice,
        rank: RankChoice = None,
        include_open: bool = True,
        output_type: str | None = "dict",
        **asked: Unpack[Asked],
    ) -> Any:
        """Return what streams of the same run have logged, this one as it is in memory.

        ``stream`` and ``rank`` are those of `read_history`, the other keywords those of `query`.

        Raises:
            RunNotFoundError: no such stream or rank.
            QueryError: a keyword has no meaning.
            MissingExtraError: the library for the output is not installed.
            ForkedObjectError: the store belongs to the parent process.
        """
        self._guard()
        question = ask(n, output_type=output_type, **asked)

        def open_source(producer: Producer) -> Source:
            is_own = producer.path == self.path
            source = self._open() if is_own else Source.offline(producer)
            if not include_open:
                source.open_row = None
            if is_own:
                self._count(question, source)
            return source

        def report(source: Source) -> None:
            if source.path == self.path:
                self._report(source)
            else:
                source.report()

        return answer_run(
            self.path.parent,
            question,
            stream=stream,
            rank=rank,
            open_source=open_source,
            report=report,
        )

    def flush(self, commit_open: bool = False) -> None:  # noqa: FBT001, FBT002 - known signature
        """Hand what was committed to the file, and the open row to its journal.

        The death of the process loses none of it then. With ``commit_open`` the open row is
        committed first.

        Raises:
            ForkedObjectError: the store belongs to the parent process.
        """
        self._guard()
        self._flush(commit_open)

    def statistics(self) -> dict[str, int]:
        """Return how many queries there were, and how many of them read the file.

        Raises:
            ForkedObjectError: the store belongs to the parent process.
        """
        self._guard()
        with self._counting:
            return {"queries": self._queries, "disk_queries": self._disk_queries}

    def _open(self) -> Source:
        return Source.live(self.path, self._snapshot())

    def _count(self, question: Question, source: Source) -> None:
        with self._counting:
            self._queries += 1
            if source.file is not None and not question.is_empty:
                self._disk_queries += 1

    def _report(self, source: Source) -> None:
        """Warn about damage once, not at every query that passes it."""
        met = (len(source.damage.offsets()), len(source.lost()))
        if any(map(int.__gt__, met, self._reported)):
            self._reported = met
            source.report()


class Series:
    """The newest numeric points of a metric, read backward from the file."""

    def __init__(
        self, open_source: Callable[[], Source], window: int, guard: Callable[[], None]
    ) -> None:
        self._open = open_source
        self._window = window
        self._guard = guard

    def points(self, name: str) -> tuple[Point, ...]:
        """Return the last committed points of a metric, ascending by step.

        At most ``alert_window`` of them. Truth values count as 0 and 1, a row without a time as
        time 0; of a step that was logged again the last value counts.

        Raises:
            ForkedObjectError: the store belongs to the parent process.
        """
        self._guard()
        with self._open() as source:
            return newest_points(source, name, self._window)


def newest_points(source: Source, name: str, window: int) -> tuple[Point, ...]:
    """Return the last ``window`` numeric points of ``name``, ascending by step."""
    view = View(source.index.attempts, None)
    found: dict[int, Point] = {}
    size = _BACKWARD_BYTES
    end = source.size
    while end > 0 and len(found) < window:
        start = source.line_start(max(0, end - size), end)
        size = min(size * 4, _BACKWARD_BYTES_MAX) if start is not None else size * 4
        if start is None:
            continue
        for stretch in view.stretches_backward(start, end):
            keyed = view.keyed(source.rows(stretch.start, stretch.stop), stretch)
            for step, row in reversed(keyed):
                value = row.get(name)
                if not isinstance(value, (int, float)) or step in found or len(found) == window:
                    continue
                number = _number(value)
                if number is not None:
                    found[step] = (step, seconds_in(row.get("_time")) or 0.0, number)
        end = start
    return tuple(found[step] for step in sorted(found))


def _number(value: float) -> float | None:
    """Return a point's value as the windows hold it; ``None`` for a whole number beyond floats."""
    if isinstance(value, bool):
        return int(value)
    try:
        float(value)
    except OverflowError:
        return None
    return value
