"""``et export``: what a run logged, as Parquet, CSV, JSON lines or Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import reported
from expr_tracker.cli.output import output_of
from expr_tracker.cli.parameters import Attempt, Ranks, RunPath, check_choice_within, stream_choice
from expr_tracker.cli.progress import progress_bar
from expr_tracker.cli.terminal import say
from expr_tracker.notices import counted

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]

_FORMATS = ("parquet", "csv", "jsonl", "arrow")


@click.command()
@click.argument("run", type=RunPath(), shell_complete=candidates.runs)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=candidates.paths,
    help="The file to write, '-' for standard output; with --format, by default the run's name and "
    "that ending.",
)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="By default what FILE ends with."
)
@click.option(
    "--stream", default="*", metavar="A,B",
    help="Streams, by comma, or 'default'; all if left out.",
    shell_complete=candidates.stream_list,
)  # fmt: skip
@click.option(
    "--rank", type=Ranks(), help="Ranks, by comma; '*' for all, the default unless one stream is named.",
    shell_complete=candidates.rank_list,
)  # fmt: skip
@click.option(
    "--attempt", type=Attempt(), help="One attempt alone, or all beside each other.",
    shell_complete=candidates.attempts,
)  # fmt: skip
@reported()
def command(
    *,
    run: Path,
    output: str | None,
    form: str | None,
    stream: str,
    rank: int | list[int] | Literal["*"] | None,
    attempt: int | Literal["all"] | None,
) -> None:
    """Write everything that a run logged to one file.

    One line per step and stream; several streams are told apart by the columns _stream and _rank.
    Rows that a later attempt replaced are left out; --attempt all has them too, with _attempt.

    \b
    et export runs/llm/sft-1 --format csv
    et export runs/llm/sft-1 -o sft-1.parquet
    et export runs/llm/sft-1 -o data.csv --stream data
    et export runs/llm/sft-1 -o first.csv --attempt 1
    """  # noqa: D301 - click reads the control character
    from expr_tracker.history import Format, export

    assert get_args(Format) == _FORMATS
    if output is None:
        if form is None:
            raise click.UsageError(
                "Say what to write: -o FILE, or --format for a file named as the run."
            )
        output = f"{_name_of(run)}.{form}"
    check_choice_within(run)
    chosen: Any = form
    wanted = stream_choice(stream)
    with output_of(output) as target, progress_bar("Exporting") as progress:
        report = export(
            run,
            target.path,
            chosen,
            stream=wanted,
            rank=rank,
            attempt=attempt,
            progress=progress,
        )
    streams = ", ".join(report.streams)
    where = "standard output" if target.is_standard else report.path
    say(f"{counted(report.rows, 'row')} of {streams} written to {where}", err=target.is_standard)


def _name_of(run: Path) -> str:
    """Return the run's name: its folder's, also where one of its files is given."""
    path = run.absolute()
    return path.parent.name if path.suffix == ".jsonl" else path.name
