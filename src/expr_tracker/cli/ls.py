"""``et ls``: the runs below a folder and how they are doing."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import reported
from expr_tracker.cli.table import cell_text, echo_table, json_bytes, local_time
from expr_tracker.cli.terminal import say, say_json

__all__ = ["command"]


@click.command()
@click.argument("directory", required=False, shell_complete=candidates.paths)
@click.option("--metric", metavar="NAME", help="Show the newest value of this metric.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print.",
)
@reported()
def command(*, directory: str | None, metric: str | None, form: str) -> None:
    """List the runs below DIRECTORY, by default the root of all runs (ET_DIR, or runs).

    \b
    et ls
    et ls runs/llm --metric loss
    et ls --format json > runs.json
    """  # noqa: D301 - click reads the control character
    from expr_tracker.history import overviews
    from expr_tracker.options import root_from_environment

    root = Path(directory or root_from_environment() or "runs")
    found = list(overviews(root, metric))
    rows: list[dict[str, Any]] = []
    for overview in found:
        row = {**dataclasses.asdict(overview), "path": str(overview.path)}
        row["streams"] = list(overview.streams)
        value = row.pop("value")
        if metric is not None:
            row["metric"] = {metric: value}
        rows.append(row)
    if form == "json":
        say_json(json_bytes(rows))
        return
    if not rows:
        say(f"No runs below {root}.")
        return
    names = ["project", "name", "status", "streams", "rows", "last_step", "started"]
    lines = [
        [
            local_time(row[name])
            if name == "started"
            else ",".join(row[name])
            if name == "streams"
            else cell_text(row[name])
            for name in names
        ]
        for row in rows
    ]
    wanted = []
    if metric is not None:
        # A column of its own, also for a metric that is called as one of ours.
        title = metric if metric not in names else f"metric {metric}"
        names, wanted = [*names, title], ["name", title]
        lines = [
            [*line, cell_text(row["metric"][metric])]
            for line, row in zip(lines, rows, strict=True)
        ]
    echo_table(names, lines, wanted=wanted)
    for overview in found:
        if overview.problem is not None:
            say(f"{overview.path} is unreadable: {overview.problem}", err=True)
