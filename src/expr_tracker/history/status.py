"""How a run is doing, from its files and locks alone; and which runs there are below a folder.

Every stream and rank is judged by its newest attempt: a held lock means that it is live, an end
marker how it ended, neither that its process was lost. The run is what its worst stream is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from expr_tracker.errors import RunNotFoundError, TrackerError
from expr_tracker.history.live import newest_points
from expr_tracker.history.location import Producer, producers_of
from expr_tracker.history.retrieval import highest_step
from expr_tracker.history.source import Source, beginning_of
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import RunFiles, stream_keys
from expr_tracker.store.lock import is_locked

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    value: Any = None
    """The newest value of the metric that was asked for."""
    problem: str | None = None
    """Why the run is ``unreadable``."""
    last_steps: dict[str, int | None] = field(default_factory=dict)
    """The highest step of every producer, by its label."""


def status_of(run: str | os.PathLike[str]) -> Status:
    """Return how a run is doing.

    Raises:
        RunNotFoundError: there is no run at that path.
    """
    found = set()
    for producer in producers_of(run, "*"):
        with Source.offline(producer) as source:
            found.add(_status_of(producer, source))
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


def overviews(root: Path, metric: str | None = None) -> Iterator[RunOverview]:
    """Yield what ``et ls`` shows: the runs at or below ``root``, by name.

    A run that cannot be read is ``unreadable`` and costs the others nothing.

    Raises:
        RunNotFoundError: there is no such directory.
    """
    for run in find_runs(root):
        try:
            overview = overview_of(run, metric)
        except (OSError, TrackerError) as error:
            if not os.path.lexists(run):  # removed meanwhile
                continue
            overview = _unreadable(run, error)
        yield overview


def _unreadable(run: Path, error: Exception) -> RunOverview:
    resolved = run.resolve()
    return RunOverview(
        path=run,
        project=resolved.parent.name,
        name=resolved.name,
        status="unreadable",
        streams=(),
        rows=0,
        last_step=None,
        started=None,
        problem=str(error),
    )


def overview_of(run: Path, metric: str | None = None) -> RunOverview:
    """Return what ``et ls`` shows of a run.

    Args:
        run: its directory.
        metric: the metric whose newest value is wanted.

    Raises:
        RunNotFoundError: there is no run at that path.
    """
    found: set[Status] = set()
    streams: list[str] = []
    rows = 0
    last_steps: dict[str, int | None] = {}
    times: list[float] = []
    value: Any = None
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
            if metric is not None and value is None:
                value = _newest_value(producer, source, metric)
    identity = read_document(RunFiles(run).identity) or {}
    resolved = run.resolve()
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
        value=value,
    )


def _last_step(last_steps: dict[str, int | None]) -> int | None:
    own = {label: step for label, step in last_steps.items() if label.split()[0] != _SYSTEM}
    return max((step for step in (own or last_steps).values() if step is not None), default=None)


def _newest_value(producer: Producer, source: Source, metric: str) -> Any:
    summary = read_document(producer.files.summary) or {}
    pinned = summary.get("_pinned")
    is_pinned = isinstance(pinned, list) and metric in pinned
    # A killed attempt logged more than it had time to sum up: only an end vouches for the rest.
    is_final = source.index.attempts[-1].is_final
    if metric in summary and (is_pinned or is_final):
        return summary[metric]
    points = newest_points(source, metric, 1)
    return points[-1][2] if points else None


def find_runs(root: Path) -> Iterator[Path]:
    """Yield the run directories at or below ``root``, by name.

    Folders that cannot be listed come last: they may be runs.

    Raises:
        RunNotFoundError: there is no such directory.
    """
    if not root.is_dir():
        what = "is a file" if root.is_file() else "is no directory"
        raise RunNotFoundError(f"{root} {what}; pass the directory that holds the runs.")
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
    except OSError:  # closed to us since it was listed
        return True
