"""``et rescue``: the rows that a full disk kept out of a run, put where they belong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import reported
from expr_tracker.cli.parameters import Rank, RunPath
from expr_tracker.cli.terminal import say
from expr_tracker.notices import counted

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.rescue import RescueReport

__all__ = ["command"]

#: More line numbers help nobody; the count is exact.
_LINES_SHOWN: Final = 10
_NOUNS: Final = {"metrics": "row", "spans": "span", "console": "line"}


@click.command()
@click.argument("file", type=RunPath(), shell_complete=candidates.rescue_files)
@click.argument("run", type=RunPath(), shell_complete=candidates.runs)
@click.option(
    "--stream", metavar="NAME", shell_complete=candidates.streams,
    help="The stream of the rows, or 'default'; only where FILE does not tell.",
)  # fmt: skip
@click.option(
    "--rank", type=Rank(), shell_complete=candidates.ranks,
    help="The rank of the rows; only where FILE does not tell.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@reported()
def command(*, file: Path, run: Path, stream: str | None, rank: int | None, dry_run: bool) -> None:
    """Put the rows of FILE, a rescue file, where they belong in RUN.

    A run whose disk stays full until it ends leaves the rows that were not written in a rescue file in
    the temporary folder, and says so: its closing message has this command, ready to paste. Spans and
    captured output have rescue files too.

    The rows are put behind those of their attempt, also where the run was resumed meanwhile. Room for a
    new file beside the old one is needed. FILE is kept, and a second call adds nothing. Ends with exit
    code 1 if lines of FILE are damaged; they are left out.

    \b
    et rescue saved.jsonl runs/llm/two --dry-run
    et rescue expr-tracker-metrics-k3x9q2ab.jsonl runs/llm/two
    et rescue saved.jsonl runs/llm/two --stream default
    """  # noqa: D301 - click reads the control character
    from expr_tracker.rescue import put_back

    report = put_back(file, run, stream=stream, rank=rank, dry_run=dry_run)
    for line in _lines(report, is_dry=dry_run):
        say(line)
    if report.damaged:
        click.get_current_context().exit(1)


def _lines(report: RescueReport, *, is_dry: bool) -> list[str]:
    lines = [_added(report, is_dry=is_dry)]
    if report.lines and report.lines_before:
        lines.append(f"{report.file}: {counted(report.lines_before, 'line')} already there")
    if report.damaged:
        numbers = ", ".join(map(str, report.damaged[:_LINES_SHOWN]))
        more = len(report.damaged) - _LINES_SHOWN
        numbers += f" and {more} more" if more > 0 else ""
        lines.append(f"damaged lines of {report.file}, left out: {numbers}")
    if not is_dry:
        but = ", for its damaged lines too" if report.damaged else ""
        lines.append(f"{report.file} is kept{but}; it may be deleted now")
    return lines


def _added(report: RescueReport, *, is_dry: bool) -> str:
    if not report.lines:
        return f"nothing to add: {report.path} has every line of {report.file}"
    verb = "would be put" if is_dry else "put"
    text = f"{counted(report.rows, _NOUNS[report.kind])} {verb} back into {report.path}"
    if report.attempt is not None:
        text += f", behind those of attempt {report.attempt}"
    markers = report.lines - report.rows
    return f"{text}; with {counted(markers, 'marker')}" if markers else text
