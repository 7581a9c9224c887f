"""How a run is doing, from its files and locks alone; and which runs there are below a folder.

Every stream and rank is judged by its newest attempt: a held lock means that it is live, an end
marker how it ended, neither that its process was lost. The run is what its worst stream is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from expr_tracker.errors import QueryError, RunNotFoundError, TrackerError
from expr_tracker.history.live import newest_points
from expr_tracker.history.location import Producer, producers_of
from expr_tracker.history.retrieval import highest_step
from expr_tracker.history.source import Source, beginning_of
from expr_tracker.interruption import is_from_signal
from expr_tracker.metric_names import metric_names
from expr_tracker.notices import offer_beside
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import RunFiles, stream_keys
from expr_tracker.store.lock import is_locked
from expr_tracker.store.paths import path_given, real_path
from expr_tracker.store.summary_document import read_summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["RunOverview", "Status", "find_runs", "overview_of", "overviews", "status_of"]

Status = Literal["running", "lost", "failed", "cancelled", "succeeded"]

#: The first that any stream has is the run's.
_ORDER: Final[tuple[Status, ...]] = ("running", "lost", "failed", "cancelled", "succeeded")
#: Runs lie two folders below their root; deeper than this a tree is something else.
_DEPTH_MAX: Final = 6
#: The stream that ``init(system_metrics=True)`` records.
_SYSTEM: Final = "system"


@dataclass(frozen=True)
class RunOverview:
    """One line of ``et ls``."""

    path: Path
    project: str
    name: str
    status: Status | Literal["unreadable"]
    streams: tuple[str, ...]
    """The labels of its producers: ``default``, ``data``, ``data rank 1``."""
    rows: int
    """Metric rows over all producers, patches counted; a warning says where parts are gone."""
    last_step: int | None
    """The highest step of any producer; those of the stream ``system``, which count the looks at the
    machine, only where there is no other. ``None``: no row has been committed."""
    started: float | None
    """Unix seconds."""
    values: dict[str, Any] = field(default_factory=dict)
    """The newest value of each metric that was asked for; ``None`` where the run has none."""
    problem: str | None = None
    """Why the run is ``unreadable``."""
    last_steps: dict[str, int | None] = field(default_factory=dict)
    """The highest step of every producer, by its label."""


def status_of(run: str | os.PathLike[str]) -> Status:
    """Return how a run is doing.

    Of a stream whose file cannot be read no more is known than whether it is written: it is running
    while its lock is held, and says nothing else.

    Raises:
        RunNotFoundError: there is no run at that path.
        OSError: none of its files can be read.
    """
    found: set[Status] = set()
    refused: OSError | TrackerError | None = None
    for producer in producers_of(run, "*"):
        try:
            with Source.offline(producer) as source:
                found.add(_status_of(producer, source))
        except (OSError, TrackerError) as error:
            if is_from_signal(error):
                raise
            refused = error
            if is_locked(producer.files.lock):
                found.add("running")
    if refused is not None and not found:
        raise refused
    return _worst(found)


def _worst(found: set[Status]) -> Status:
    return next(status for status in _ORDER if status in found)


def _status_of(producer: Producer, source: Source) -> Status:
    if source.was_live:
        return "running"
    ended = source.index.attempts[-1].status
    # An end in words that this version does not know is no proof of an end.
    found: Status = next((status for status in _ORDER[1:] if status == ended), "lost")
    # The attempt without an end may have begun only now.
    return "running" if found == "lost" and is_locked(producer.files.lock) else found


def overviews(
    root: str | os.PathLike[str], metrics: str | Iterable[str] = ()
) -> Iterator[RunOverview]:
    """Iterate over what ``et ls`` shows: the runs at or below ``root``, by name.

    A run that cannot be read is ``unreadable`` and costs the others nothing.

    Args:
        root: the folder.
        metrics: names of metrics whose newest values are wanted.

    Raises:
        QueryError: ``root`` is no path, or ``metrics`` are no names.
        RunNotFoundError: there is no such directory.
    """
    folder = path_given(root, "root", QueryError, expected="the folder that holds the runs")
    return _overviews(find_runs(folder), metric_names(metrics))


def _overviews(runs: Iterator[Path], names: tuple[str, ...]) -> Iterator[RunOverview]:
    for run in runs:
        try:
            overview = overview_of(run, names)
        except (OSError, TrackerError) as error:
            if is_from_signal(error):
                raise
            if not os.path.lexists(run):  # removed meanwhile
                continue
            overview = _unreadable(run, error, names)
        yield overview


def _unreadable(run: Path, error: Exception, metrics: tuple[str, ...]) -> RunOverview:
    resolved = real_path(run)
    return RunOverview(
        path=run,
        project=resolved.parent.name,
        name=resolved.name,
        status="unreadable",
        streams=(),
        rows=0,
        last_step=None,
        started=None,
        values=dict.fromkeys(metrics),
        problem=str(error),
    )


def overview_of(run: Path, metrics: str | Iterable[str] = ()) -> RunOverview:
    """Return what ``et ls`` shows of a run.

    Args:
        run: its directory.
        metrics: names of metrics whose newest values are wanted.

    Raises:
        RunNotFoundError: there is no run at that path.
    """
    found: set[Status] = set()
    streams: list[str] = []
    rows = 0
    last_steps: dict[str, int | None] = {}
    times: list[float] = []
    values: dict[str, Any] = dict.fromkeys(metric_names(metrics))
    for producer in producers_of(run, "*"):
        with Source.offline(producer) as source:
            source.report_lost()
            index = source.index
            found.add(_status_of(producer, source))
            streams.append(producer.key.label)
            rows += index.rows
            last_steps[producer.key.label] = highest_step(source)
            first = source.first_time()
            times += [] if first is None else [first]
            left = [name for name, value in values.items() if value is None]
            values.update(_newest_values(producer, source, left))
    identity = read_document(RunFiles(run).identity) or {}
    resolved = real_path(run)
    return RunOverview(
        path=run,
        project=str(identity.get("project") or resolved.parent.name),
        name=str(identity.get("name") or resolved.name),
        status=_worst(found),
        streams=tuple(streams),
        rows=rows,
        last_step=_last_step(last_steps),
        last_steps=last_steps,
        started=beginning_of(identity) or min(times, default=None),
        values=values,
    )


def _last_step(last_steps: dict[str, int | None]) -> int | None:
    own = {label: step for label, step in last_steps.items() if label.split()[0] != _SYSTEM}
    return max((step for step in (own or last_steps).values() if step is not None), default=None)


def _newest_values(producer: Producer, source: Source, metrics: Sequence[str]) -> dict[str, Any]:
    if not metrics:
        return {}
    summary = read_summary(producer.files.summary)
    # While an attempt runs, what waits in memory is in its summary and not in the file.
    is_current = source.index.attempts[-1].is_final and summary.is_current(producer.files)
    values: dict[str, Any] = {}
    for metric in metrics:
        if metric in summary.values and (is_current or metric in summary.pins):
            values[metric] = summary.values[metric]
        else:
            points = newest_points(source, metric, 1)
            values[metric] = points[-1][2] if points else None
    return values


def find_runs(root: Path) -> Iterator[Path]:
    """Iterate over the run directories at or below ``root``, by name.

    Folders that cannot be listed come last: they may be runs.

    Raises:
        RunNotFoundError: there is no such directory.
    """
    if not root.is_dir():
        what = "is a file" if root.is_file() else "is no directory"
        near = "" if root.exists() else offer_beside(root, only_folders=True)
        raise RunNotFoundError(f"{root} {what}; pass the directory that holds the runs.{near}")
    return _runs_below(root)


def _runs_below(root: Path) -> Iterator[Path]:
    depth = len(root.parts)
    refused: list[Path] = []

    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            refused.append(Path(error.filename))

    for folder, names, _ in os.walk(root, onerror=note):
        path = Path(folder)
        if _is_run(path):
            names.clear()
            yield path
            continue
        names[:] = sorted(
            name for name in names if not name.startswith(".") and name != "artifacts"
        )
        if len(path.parts) - depth >= _DEPTH_MAX:
            names.clear()
    yield from refused


def _is_run(path: Path) -> bool:
    try:
        return bool(stream_keys(path))
    except OSError as error:  # closed to us since it was listed
        if is_from_signal(error):
            raise
        return True
