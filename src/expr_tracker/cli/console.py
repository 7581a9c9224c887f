"""``et console``: what a run printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import reported
from expr_tracker.cli.parameters import Rank, RunPath, check_choice_within
from expr_tracker.cli.terminal import print_bytes, shown_coloured

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command()
@click.argument("run", type=RunPath(), shell_complete=candidates.runs)
@click.option(
    "--stream", metavar="NAME", help="A stream; 'default' is the unnamed one.",
    shell_complete=candidates.streams,
)  # fmt: skip
@click.option(
    "--rank", type=Rank(), help="The rank; by default the lowest.",
    shell_complete=candidates.ranks,
)  # fmt: skip
@click.option("--raw", is_flag=True, help="As it was printed, control characters included.")
@click.option(
    "--source", type=click.Choice(["stdout", "stderr"]), help="Only output, or only errors."
)
@reported()
def command(
    *, run: Path, stream: str | None, rank: int | None, raw: bool, source: str | None
) -> None:
    """Show the captured output of RUN, a run's directory or a console file.

    Progress bars are shown in their last state, colours are kept; other control characters are
    shown as escapes. A run is captured with capture_console=True.

    \b
    et console runs/llm/sft-1
    et console runs/llm/sft-1 --source stderr
    et console runs/llm/sft-1 --raw > sft-1.log
    """  # noqa: D301 - click reads the control character
    from expr_tracker.console import console_file, read_console
    from expr_tracker.history import stream_named

    check_choice_within(run)
    wanted = None if stream is None else stream_named(stream)
    for row in read_console(console_file(run, wanted, rank), raw=raw):
        if source is None or row.get("source") == source:
            text = row["text"] if raw else shown_coloured(row["text"])
            # Bytes, because a terminal of another encoding must not end the output.
            print_bytes(text.encode("utf-8", "backslashreplace"))
