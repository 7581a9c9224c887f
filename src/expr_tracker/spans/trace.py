"""Chrome Trace JSON of a run: a process per stream and rank, nested boxes for its spans.

The format is the "JSON Object Format" with complete events (``ph: X``), counter events
(``ph: C``) and metadata events (``ph: M``); Perfetto and ``chrome://tracing`` open it.
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU

Spans are put in order and onto lanes in a temporary SQLite database, so memory does not grow with
the run. Its tables are keyed by the orders that are read, so nothing is ever sorted.
"""

from __future__ import annotations

import contextlib
import errno
import math
import sqlite3
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.errors import QueryError
from expr_tracker.metric_names import metric_names
from expr_tracker.notices import offer, offer_beside
from expr_tracker.spans.lanes import Box, Lanes
from expr_tracker.spans.records import (
    RankChoice,
    Selection,
    SpanRecord,
    SpanSource,
    StreamChoice,
    sources_of,
)
from expr_tracker.store.bounds import is_own_file
from expr_tracker.store.lines import decode_line, encode_line
from expr_tracker.store.names import stream_label
from expr_tracker.store.output import output_place, writing_to
from expr_tracker.store.paths import path_given
from expr_tracker.store.producers import existing_run

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from expr_tracker.ranges import StepRange, TimeRange
    from expr_tracker.row import Row

__all__ = ["build_trace", "write_trace"]

#: Rows that are handed to SQLite in one call.
_BATCH: Final = 1_000
#: SQLite's page cache: the only memory that the spool holds.
_CACHE_KIB: Final = 8 * 1024
_SCHEMA: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE spans (
    id INTEGER PRIMARY KEY, process INTEGER, event BLOB, lane INTEGER, start INTEGER, stop INTEGER);
CREATE TABLE ordered (
    process INTEGER, track INTEGER, start INTEGER, backward_stop INTEGER, depth INTEGER, id INTEGER,
    path BLOB,
    PRIMARY KEY (process, track, start, backward_stop, depth, id)) WITHOUT ROWID;
CREATE TABLE points (
    id INTEGER PRIMARY KEY, process INTEGER, metric INTEGER, moment INTEGER, value REAL);
"""


def build_trace(  # noqa: PLR0913 - one keyword a filter
    run: str | os.PathLike[str],
    stream: StreamChoice = "*",
    *,
    step_range: StepRange = None,
    time_range: TimeRange = None,
    temp_dir: str | os.PathLike[str] | None = None,
    metrics: str | Sequence[str] | None = None,
    rank: RankChoice = None,
) -> dict[str, Any]:
    """Return the trace of a run as one object, ready for ``json.dump``.

    Args:
        run: a run directory, or one span file.
        stream: ``"*"`` for all, ``None`` for the default producer, a name, or several of them.
        step_range: spans of these steps, ``(start, stop)``, half-open, either side ``None``.
        time_range: spans that overlap these epoch seconds, half-open; spans are not cut.
        temp_dir: where the temporary database goes; the system's place by default.
        metrics: metrics to draw as counters, at the ``_time`` of their rows.
        rank: only this rank, or these; ``None`` and ``"*"`` are all.

    Raises:
        RunNotFoundError: no such run, stream or rank.
        QueryError: a range that is none, or a metric that the run has not.
        OSError: the temporary database could not be written.
    """
    selection = Selection.asked(step_range, time_range)
    with _spooled(run, stream, selection, temp_dir=temp_dir, metrics=metrics, rank=rank) as spool:
        return {"traceEvents": list(spool.events()), "displayTimeUnit": "ms"}


def write_trace(  # noqa: PLR0913 - one keyword a filter
    run: str | os.PathLike[str],
    output: str | os.PathLike[str],
    stream: StreamChoice = "*",
    *,
    step_range: StepRange = None,
    time_range: TimeRange = None,
    temp_dir: str | os.PathLike[str] | None = None,
    metrics: str | Sequence[str] | None = None,
    rank: RankChoice = None,
) -> int:
    """Write the trace of a run to ``output`` and return the number of spans.

    The file is written beside ``output`` and renamed over it: on a failure the old one stays. A link
    stays too, and what it leads to is replaced; a device or FIFO is written into.
    Memory does not grow with the run. The arguments are those of `build_trace`.

    Raises:
        RunNotFoundError: no such run, stream or rank.
        QueryError: a range that is none, a metric that the run has not, or an ``output`` that
            would overwrite a file of a run.
        OSError: ``output`` or the temporary database could not be written.
    """
    selection = Selection.asked(step_range, time_range)
    target = output_place(output)
    if is_own_file(target, existing_run(run)):
        raise QueryError(f"output={output}: that is the name of a run's own file; choose another.")
    with _spooled(run, stream, selection, temp_dir=temp_dir, metrics=metrics, rank=rank) as spool:
        with writing_to(target) as beside, beside.open("wb") as file:
            separator = b'{"traceEvents": [\n'
            for event in spool.events():
                file.write(separator)
                file.write(encode_line(event)[:-1])
                separator = b",\n"
            file.write(b'\n],\n"displayTimeUnit": "ms"}\n')
        return spool.span_count


@contextlib.contextmanager
def _spooled(
    run: str | os.PathLike[str],
    stream: StreamChoice,
    selection: Selection,
    *,
    temp_dir: str | os.PathLike[str] | None,
    metrics: str | Sequence[str] | None,
    rank: RankChoice,
) -> Iterator[_Spool]:
    names = [] if metrics is None else list(metric_names(metrics))
    sources = sources_of(run, stream, rank=rank, with_metrics=bool(names))
    with tempfile.TemporaryDirectory(prefix="et-trace-", dir=_folder(temp_dir)) as directory:
        database = sqlite3.connect(Path(directory) / "spool.db", isolation_level=None)
        try:
            with _as_os_error():
                database.executescript(_SCHEMA)
                database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
                database.execute("BEGIN")
                spool = _Spool(database, sources, names, selection)
                spool.fill()
            yield spool
        finally:
            database.close()


def _folder(temp_dir: object) -> Path | None:
    if temp_dir is None:
        return None
    folder = path_given(temp_dir, "temp_dir", QueryError, expected="the path of a folder")
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "temp_dir: that is no folder", str(folder))
    if not folder.is_dir():
        near = offer_beside(folder, only_folders=True)
        raise FileNotFoundError(
            errno.ENOENT, f"temp_dir: there is no such folder.{near}", str(folder)
        )
    return folder


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(
            f"The temporary database of the trace could not be written ({error}); "
            "name a directory with room (temp_dir, --temp-dir)."
        ) from error


@dataclass
class _Spool:
    """The selected spans of a run in a temporary database."""

    database: sqlite3.Connection
    sources: list[SpanSource]
    metrics: list[str]
    selection: Selection
    span_count: int = 0
    origin_ns: int | None = None
    #: By process: its lanes as (track, lane within the track), in the order of their numbers.
    lanes: list[list[tuple[int, int]]] = field(default_factory=list)

    def fill(self) -> None:
        """Read the files, then give every span its lane."""
        for process, source in enumerate(self.sources):
            self._read_spans(process, source)
            if self.metrics:
                self._read_points(process, source)
        self._check_metrics()
        for process in range(len(self.sources)):
            self._arrange(process)

    def events(self) -> Iterator[Row]:
        """Yield metadata, then spans in file order, then counters."""
        origin = self.origin_ns or 0
        for process, source in enumerate(self.sources):
            yield _metadata("process_name", process, 0, name=source.label)
            lanes = self.lanes[process]
            for lane, (track, _) in enumerate(lanes, start=1):
                name = f"thread {track}" if _has_several_tracks(lanes) else source.label
                yield _metadata("thread_name", process, lane, name=name)
        rows = self.database.execute(
            "SELECT process, event, lane, start, stop FROM spans ORDER BY id"
        )
        for process, event, lane, start, stop in rows:
            span = decode_line(event)
            assert span is not None
            lanes = self.lanes[process]
            span |= {"ph": "X", "pid": process, "tid": lane + 1}
            span |= {"ts": (start - origin) / 1000, "dur": (stop - start) / 1000}
            span["args"] = span.pop("args")  # last, where a reader looks for them
            if _has_several_tracks(lanes):
                span["args"]["track"] = lanes[lane][0]
            yield span
        rows = self.database.execute(
            "SELECT process, metric, moment, value FROM points ORDER BY id"
        )
        for process, metric, moment, value in rows:
            yield {
                "name": self.metrics[metric],
                "cat": stream_label(self.sources[process].key.stream),
                "ph": "C",
                "pid": process,
                "tid": 0,
                "ts": (moment - origin) / 1000,
                "args": {"value": value},
            }

    def _read_spans(self, process: int, source: SpanSource) -> None:
        spans: list[tuple[Any, ...]] = []
        ordered: list[tuple[Any, ...]] = []
        for record in source.records(self.selection):
            self.span_count += 1
            self._note(record.start_ns)
            event = encode_line(_event(record, source))[:-1]
            spans.append((self.span_count, process, event))
            path = record.path.encode("utf-8", "replace")  # half a surrogate pair is no UTF-8
            depth = -1 if record.depth is None else record.depth
            order = (record.start_ns, -record.stop_ns, depth, self.span_count)
            ordered.append((process, record.track, *order, path))
            if len(spans) >= _BATCH:
                self._insert(spans, ordered)
        self._insert(spans, ordered)

    def _insert(self, spans: list[tuple[Any, ...]], ordered: list[tuple[Any, ...]]) -> None:
        self.database.executemany("INSERT INTO spans (id, process, event) VALUES (?, ?, ?)", spans)
        self.database.executemany("INSERT INTO ordered VALUES (?, ?, ?, ?, ?, ?, ?)", ordered)
        spans.clear()
        ordered.clear()

    def _read_points(self, process: int, source: SpanSource) -> None:
        points: list[tuple[Any, ...]] = []
        insert = "INSERT INTO points (process, metric, moment, value) VALUES (?, ?, ?, ?)"
        for row in source.metric_rows():
            step: Any = row.get("_step")
            seconds: Any = row.get("_time")
            if type(seconds) not in (int, float) or not 0 <= seconds < 2**33:
                continue
            if not (self.selection.has_step(step) and self.selection.has_moment(seconds)):
                continue
            for number, name in enumerate(self.metrics):
                value = _counter_value(row.get(name))
                if value is not None:
                    moment = round(seconds * 1e9)
                    self._note(moment)
                    points.append((process, number, moment, value))
            if len(points) >= _BATCH:
                self.database.executemany(insert, points)
                points.clear()
        self.database.executemany(insert, points)

    def _check_metrics(self) -> None:
        for number, name in enumerate(self.metrics):
            found = self.database.execute("SELECT 1 FROM points WHERE metric = ?", (number,))
            if found.fetchone() is None:
                raise QueryError(
                    f"No number is recorded under the metric {name!r} in the selected streams and "
                    f"ranges.{self._offered(name)}"
                )

    def _offered(self, name: str) -> str:
        names: set[str] = set()
        for source in self.sources:
            # A thousand rows tell which metrics there are, well enough for a hint.
            for row, _ in zip(source.metric_rows(), range(_BATCH), strict=False):
                names.update(row)
        return offer(name, (known for known in names if known[:1] != "_"))

    def _arrange(self, process: int) -> None:
        lanes_of_process: list[tuple[int, int]] = []
        tracks = self.database.execute(
            "SELECT track FROM ordered WHERE process = ? GROUP BY track ORDER BY MIN(start), track",
            (process,),
        ).fetchall()
        for (track,) in tracks:
            self._arrange_track(process, track, lanes_of_process)
        self.lanes.append(lanes_of_process)

    def _arrange_track(self, process: int, track: int, numbered: list[tuple[int, int]]) -> None:
        lanes, first = Lanes(), len(numbered)
        placed: list[tuple[int, int, int, int]] = []
        update = "UPDATE spans SET lane = ?, start = ?, stop = ? WHERE id = ?"
        # Reading one table while writing another is safe; both walk in key order.
        rows = self.database.execute(
            "SELECT start, backward_stop, depth, id, path FROM ordered "
            "WHERE process = ? AND track = ? ORDER BY start, backward_stop, depth, id",
            (process, track),
        )
        for start, backward_stop, depth, ordinal, path in rows:
            known_depth = None if depth < 0 else depth
            place = lanes.place(
                Box(path.decode("utf-8"), start=start, stop=-backward_stop, depth=known_depth)
            )
            if first + place.lane == len(numbered):
                numbered.append((track, place.lane))
            placed.append((first + place.lane, place.start_ns, place.stop_ns, ordinal))
            if len(placed) >= _BATCH:
                self.database.executemany(update, placed)
                placed.clear()
        self.database.executemany(update, placed)

    def _note(self, moment_ns: int) -> None:
        if self.origin_ns is None or moment_ns < self.origin_ns:
            self.origin_ns = moment_ns


def _event(record: SpanRecord, source: SpanSource) -> Row:
    arguments = {name: _exportable(value) for name, value in record.attributes.items()}
    if record.step is not None:
        arguments["step"] = record.step
    if record.error is not None:
        arguments["error"] = record.error
    return {"name": record.path, "cat": stream_label(source.key.stream), "args": arguments}


def _exportable(value: Any) -> Any:
    """Return ``value`` with the numbers that JSON has not as their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _exportable(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_exportable(member) for member in value]
    return value


def _counter_value(value: Any) -> float | None:
    """Return what a counter can show, or ``None``."""
    if not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _has_several_tracks(lanes: list[tuple[int, int]]) -> bool:
    return len({track for track, _ in lanes}) > 1


def _metadata(kind: str, process: int, lane: int, *, name: str) -> Row:
    return {"name": kind, "ph": "M", "pid": process, "tid": lane, "args": {"name": name}}
