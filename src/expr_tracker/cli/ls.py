"""``et ls``: the runs below a folder and how they are doing."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from pathlib import Path
from typing import Any, Final

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import reported
from expr_tracker.cli.parameters import RunPath
from expr_tracker.cli.table import cell_text, echo_table, json_bytes, local_time
from expr_tracker.cli.terminal import say, say_json

__all__ = ["command"]

#: Runs whose metrics are looked through for what was probably meant.
_RUNS_SEARCHED: Final = 50


@click.command()
@click.argument("directory", type=RunPath(), required=False, shell_complete=candidates.paths)
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
def command(*, directory: Path | None, metric: str | None, form: str) -> None:
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
    wanted = ["name", "status"]
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
    if metric is not None:
        # A column of its own, also for a metric that is called as one of ours.
        title = metric if metric not in names else f"metric {metric}"
        names, wanted = [*names, title], ["name", title, "status"]
        lines = [
            [*line, cell_text(row["metric"][metric])]
            for line, row in zip(lines, rows, strict=True)
        ]
    echo_table(names, lines, wanted=wanted)
    if metric is not None and all(overview.value is None for overview in found):
        say(f"--metric {metric}: {_nothing_logged([o.path for o in found], metric)}", err=True)
    for overview in found:
        if overview.problem is not None:
            say(f"{overview.path} is unreadable: {overview.problem}", err=True)


def _nothing_logged(runs: list[Path], metric: str) -> str:
    """Say that no run has a value of a metric, and what was probably meant."""
    from expr_tracker.history.glimpse import keys_seen, metrics_seen

    known: set[str] = set()
    for run in runs[:_RUNS_SEARCHED]:
        with contextlib.suppress(OSError):
            known.update(name for key in keys_seen(run) for name in metrics_seen(run, key))
    near = difflib.get_close_matches(metric, sorted(known), n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"no run here has a value of it.{hint}"
