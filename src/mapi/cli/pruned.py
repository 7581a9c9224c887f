"""What retention has deleted of a run, as commands print it beside what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mapi.cli.naming import counted
from mapi.cli.printing import local

if TYPE_CHECKING:
    from mapi.wire.metrics import PrunedPoints
    from mapi.wire.runs import Pruned

__all__ = [
    "run_pruned",
    "say_lines_pruned",
    "say_media_pruned",
    "say_members_pruned",
    "say_points_pruned",
    "say_spans_pruned",
    "series_pruned",
]

#: Where it is told when and by which rule.
_WHY = "`mapi runs life` says why"


def run_pruned(pruned: Pruned) -> str:
    """Return what is gone of a run, and when it went."""
    from msgspec import structs

    from mapi.series.prunings import pruned_text

    counts = structs.asdict(pruned)
    return f"{local(counts.pop('time'))} {pruned_text(counts)}; {_WHY}"


def series_pruned(pruned: PrunedPoints) -> str:
    """Return what is gone of a series, for the end of a line about it."""
    count = "all" if pruned.count is None else counted(pruned.count, "points")
    return f"{count} up to step {pruned.last_step} deleted by retention"


def say_points_pruned(pruned: PrunedPoints | None) -> None:
    """Say on standard error that points are missing in what was printed."""
    if pruned is not None:
        click.echo(f"({series_pruned(pruned)}; {_WHY})", err=True)


def say_lines_pruned(pruned: Pruned | None) -> None:
    """Say on standard error that log lines are missing in what was printed."""
    _say_pruned(0 if pruned is None else pruned.log_lines, "log lines")


def say_spans_pruned(pruned: Pruned | None) -> None:
    """Say on standard error that spans are missing in what was printed."""
    _say_pruned(0 if pruned is None else pruned.spans, "spans")


def say_media_pruned(pruned: Pruned | None) -> None:
    """Say on standard error that media items are missing in what was printed."""
    if pruned is not None and pruned.media_items:
        items = counted(pruned.media_items, "media items")
        click.echo(f"({items} deleted by retention; {_WHY})", err=True)


def say_members_pruned(count: int) -> None:
    """Say on standard error that points of so many runs are missing in what was printed."""
    if count:
        runs = counted(count, "runs")
        click.echo(f"({runs} without points that retention deleted; {_WHY})", err=True)


def _say_pruned(count: int, what: str) -> None:
    if count:
        click.echo(f"({counted(count, what)} deleted by retention; {_WHY})", err=True)
