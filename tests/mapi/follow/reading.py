"""What a run's files and the platform hold of it, in one form, so that they can be compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from expr_tracker.history import producers_of, read_history
from expr_tracker.row import RESERVED_NAMES
from mapi.series.name_map import writer_from_labels

if TYPE_CHECKING:
    from pathlib import Path

    from mapi import Client

__all__ = ["in_files", "on_platform"]

#: Whose, which metric, at which step.
Place = tuple[str, int, str, int]


def in_files(run: Path, *, attempt: int | None = None) -> dict[Place, Any]:
    """Return each number that the reading of a run's files shows, of steps that the platform has."""
    found: dict[Place, Any] = {}
    for producer in producers_of(run, "*"):
        key = producer.key
        rows = read_history(run, -1, stream=key.stream, rank=key.rank, attempt=attempt)
        for row in rows:
            for name, value in row.items():
                if name in RESERVED_NAMES or type(value) not in {int, float} or row["_step"] < 0:
                    continue
                found[key.stream or "", key.rank, name, row["_step"]] = _comparable(value)
    return found


def on_platform(api: Client, run: str, *, attempt: int | None = None) -> dict[Place, Any]:
    """Return each point that the reading of a run on the platform shows."""
    found: dict[Place, Any] = {}
    for series in api.runs.metrics(run):
        writer = writer_from_labels(series.labels)
        assert writer is not None
        name = series.name
        points = api.runs.points(run, series.key, labels=series.labels, attempt=attempt)
        for step, value in zip(points.steps, points.values, strict=True):
            if step is not None:
                found[*writer, name, step] = _comparable(value)
    return found


def _comparable(value: float) -> float | str:
    return "NaN" if math.isnan(value) else float(value)
