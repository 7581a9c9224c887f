"""Finished spans, read back from the span files of a run: which files, which spans, in what form.

A record that is no span (damaged, negative or non-finite times, a wrong type) is left out and
counted; what is left is known to be whole, so `lanes`, `trace` and `timeline` check nothing again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.errors import RunNotFoundError
from expr_tracker.ranges import StepRange, Steps, TimeRange, Times, steps_from, times_from
from expr_tracker.store.files import StreamKey
from expr_tracker.store.producers import RankChoice, StreamChoice, producers_of
from expr_tracker.store.reader import whole_rows
from expr_tracker.store.sidecar import warn_of_lost_parts

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from expr_tracker.row import Row
    from expr_tracker.store.files import LineKind

__all__ = [
    "RankChoice",
    "Selection",
    "SpanRecord",
    "SpanSource",
    "StepRange",
    "StreamChoice",
    "record_from",
    "sources_of",
]

#: The year 2223 in epoch seconds: nanoseconds still fit 64 bits, later is no clock but damage.
_START_SECONDS_MAX: Final = 8e9
#: 31 years, so start and duration together fit 64 bits too.
_DURATION_MS_MAX: Final = 1e12
_NS_PER_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """One finished span."""

    path: str
    start_ns: int
    """Epoch nanoseconds."""
    duration_ns: int
    depth: int | None
    track: int
    step: int | None
    error: str | None
    attributes: Row
    """What the user gave, and what plugins measured."""

    @property
    def stop_ns(self) -> int:
        """When it ended, in epoch nanoseconds."""
        return self.start_ns + self.duration_ns


@dataclass(frozen=True, slots=True)
class SpanSource:
    """One producer's span file, and its metrics file beside it."""

    key: StreamKey
    spans: Path
    metrics: Path

    @property
    def label(self) -> str:
        """How the timeline names it."""
        return self.key.label

    def records(self, selection: Selection) -> Iterator[SpanRecord]:
        """Yield the selected spans in file order; nothing where there is no span file."""
        for row in self._rows(self.spans):
            record = record_from(row)
            if record is not None and selection.has(record):
                yield record

    def metric_rows(self) -> Iterator[Row]:
        """Yield the rows of the metrics file; nothing where there is none."""
        return self._rows(self.metrics)

    @staticmethod
    def _rows(path: Path) -> Iterator[Row]:
        try:
            rows = whole_rows(path)
            first = next(rows, None)
        except FileNotFoundError:
            return
        warn_of_lost_parts(path)
        if first is not None:
            yield first
            yield from rows


@dataclass(frozen=True, slots=True)
class Selection:
    """Which spans are asked for: half-open ranges, and both must match."""

    steps: Steps = (None, None)
    times: Times = (None, None)

    @classmethod
    def asked(cls, step_range: StepRange, time_range: TimeRange) -> Selection:
        """Return the selection that the two ranges of a caller mean.

        Raises:
            QuestionTypeError: one of them is no range.
        """
        return cls(steps_from(step_range), times_from(time_range))

    def has(self, record: SpanRecord) -> bool:
        """Say whether a span is of the steps, and overlaps the times."""
        if not self.has_step(record.step):
            return False
        low, high = self.times
        if low is None and high is None:
            return True
        # A span of no length covers no time.
        return (
            record.duration_ns > 0
            and (high is None or record.start_ns < high * _NS_PER_SECOND)
            and (low is None or record.stop_ns > low * _NS_PER_SECOND)
            and not (low is not None and high is not None and low >= high)
        )

    def has_step(self, step: int | None) -> bool:
        """Say whether a step is in the range; no step is in none but the open one."""
        low, high = self.steps
        if low is None and high is None:
            return True
        return step is not None and (low is None or step >= low) and (high is None or step < high)

    def has_moment(self, seconds: float) -> bool:
        """Say whether a moment (epoch seconds) is in the time range."""
        low, high = self.times
        return (low is None or seconds >= low) and (high is None or seconds < high)


def record_from(row: Row) -> SpanRecord | None:
    """Return a decoded line as a span, or ``None`` where it is none."""
    path: Any = row.get("name")
    start: Any = row.get("start")
    duration: Any = row.get("dur_ms")
    depth, track, step = row.get("depth"), row.get("track"), row.get("_step")
    error = row.get("error")
    metrics, arguments = row.get("metrics", {}), row.get("args", {})
    if not (
        isinstance(path, str)
        and _is_number(start, _START_SECONDS_MAX)
        and _is_number(duration, _DURATION_MS_MAX)
        and (depth is None or _is_count(depth))
        and (track is None or _is_count(track))
        and (step is None or (isinstance(step, int) and not isinstance(step, bool)))
        and (error is None or isinstance(error, str))
        and isinstance(metrics, dict)
        and isinstance(arguments, dict)
    ):
        return None
    return SpanRecord(
        path=path,
        start_ns=round(start * _NS_PER_SECOND),
        duration_ns=round(duration * 1_000_000),
        depth=depth,
        track=track or 0,
        step=step,
        error=error,
        attributes={**arguments, **metrics},
    )


def _is_number(value: Any, highest: float) -> bool:
    return type(value) in (int, float) and 0 <= value <= highest


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _check_span_file(path: Path) -> None:
    """Refuse a file that is no span file by its name nor by anything in it.

    Raises:
        RunNotFoundError: it is a metrics file, a configuration or something else.
    """
    if not path.is_file():
        return
    folder = path.parent.name
    name = folder.removesuffix(".parts") if folder.endswith(".jsonl.parts") else path.name
    if StreamKey.from_file(name, "spans") is not None:
        return  # damage in it is for its reader to see
    if any(record_from(row) is not None for row in whole_rows(path)):
        return
    raise RunNotFoundError(
        f"{path} is not a span file: it has no span. Pass a run's directory, or one of its files "
        "spans*.jsonl."
    )


def sources_of(
    run: str | os.PathLike[str],
    stream: StreamChoice = "*",
    *,
    rank: RankChoice = None,
    with_metrics: bool = False,
) -> list[SpanSource]:
    """Return the producers that are asked for, the default one first.

    Args:
        run: a run directory, or one span file.
        stream: ``"*"`` for all, ``None`` for the default producer, a name, or several of them.
        rank: only this rank, or these; ``None`` and ``"*"`` are all.
        with_metrics: whether a producer that has metrics and no spans counts.

    Raises:
        RunNotFoundError: there is no such run, stream or rank; the message lists what there is. Or
            the file is no span file.
    """
    kinds: tuple[LineKind, ...] = ("spans", "metrics") if with_metrics else ("spans",)
    # No rank is every rank here: a timeline has a lane for each.
    producers = producers_of(run, stream, "*" if rank is None else rank, kinds=kinds)
    for producer in producers:
        _check_span_file(producer.path)
    producers.sort(key=lambda producer: producer.key.order)
    return [SpanSource(each.key, each.path, each.files.metrics) for each in producers]
