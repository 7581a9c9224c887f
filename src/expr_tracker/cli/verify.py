"""``et verify``: whether a run's files are whole, or hold the same as another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import reported
from expr_tracker.cli.parameters import RunPath
from expr_tracker.cli.progress import progress_bar
from expr_tracker.cli.terminal import say
from expr_tracker.notices import counted

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.history import StreamReport

__all__ = ["command"]


@click.command()
@click.argument("run", type=RunPath(), shell_complete=candidates.runs)
@click.option(
    "--against", metavar="DIR", help="Another run, which should hold the same rows.",
    shell_complete=candidates.runs,
)  # fmt: skip
@reported()
def command(*, run: Path, against: str | None) -> None:
    """Read every line of a run and say what is there and what is wrong.

    Ends with exit code 1 if anything is wrong, or differs from the run given with --against.

    \b
    et verify runs/llm/sft-1
    et verify runs/llm/sft-1 --against backup/sft-1
    """  # noqa: D301 - click reads the control character
    from expr_tracker.history import compare, producers_of, verify

    if against is not None:
        producers_of(against, "*")  # a name that is wrong is refused before all is read
    with progress_bar("Verifying") as progress:
        report = verify(run, progress=progress)
    say(f"{report.path}: {report.status}")
    for stream in report.streams:
        for line in _lines(stream):
            say(line)
    for note in report.notes:
        say(f"note: {note}")
    problems = report.problems
    for problem in problems:
        say(f"wrong: {problem}")
    differences: list[str] = []
    if against is not None:
        differences = compare(run, against)
        for difference in differences:
            say(f"differs: {difference}")
        if not differences:
            say(f"equal to {against}")
    if problems or differences:
        click.get_current_context().exit(1)
    say("ok")


def _lines(stream: StreamReport) -> list[str]:
    steps = counted(stream.steps, "step")
    if stream.min_step is not None:
        steps += f" ({stream.min_step} to {stream.max_step})"
    lines = [f"  {stream.label}: {counted(stream.rows, 'row')}, {steps}, sidecar {stream.sidecar}"]
    if len(stream.attempts) > 1:
        for attempt in stream.attempts:
            begins = "" if attempt.from_step is None else f", from step {attempt.from_step}"
            rows = f"{counted(attempt.rows, 'row')}{begins}"
            if attempt.clock_back:
                rows += f", its clock {attempt.clock_back:.0f} s back"
            lines.append(f"    attempt {attempt.number}: {rows}, {attempt.status}")
    if stream.has_open_row:
        lines.append("    the open row of a process that died is counted (from its journal)")
    if stream.media:
        lines.append(f"    {counted(stream.media, 'media file')}")
    lines.append(f"    sha256 {stream.sha256}")
    return lines
