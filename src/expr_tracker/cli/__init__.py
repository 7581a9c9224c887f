"""The command ``et``: parse, call a public function, print.

One module a command, loaded when it is asked for: ``et history`` must not pay for ``et export``.
The console script calls `main`, a click group: ``click.testing.CliRunner`` invokes it, and commands may
be added to it.
`ls`, `history`, `export`, `verify`, `trace`, `console`, `artifact`, `rescue`, `push`, `ui` and `completion` are what
their names say. What they share: `parameters` are the kinds of values that options take, `candidates` what
a half-typed word may become, `output` where a file goes, `table` and `terminal` print, `progress`
draws a bar, `ending` waits for Ctrl-C, and `failure` makes one line of whatever goes wrong.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from expr_tracker.cli.failure import check_command, one_line_usage_errors
from expr_tracker.cli.terminal import (
    OutputLostError,
    drop_unwritten_output,
    open_closed_streams,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["COMMANDS", "main"]

#: Command → what `et --help` says of it. The text stands here so that help loads no command.
COMMANDS: Final = {
    "ls": "List the runs below a folder.",
    "history": "Show the rows of a run.",
    "export": "Write a run as Parquet, CSV, JSON lines or Arrow.",
    "verify": "Check that a run's files are whole, or equal to another's.",
    "trace": "Write a run's spans as a timeline, or sum them up.",
    "console": "Show the captured output of a run.",
    "artifact": "List, show, fetch and check stored artifacts.",
    "rescue": "Put the rows that a full disk kept out back into a run.",
    "push": "Bring runs to the platform.",
    "ui": "Look at runs in a browser, live.",
    "completion": "Print the lines that turn on tab completion.",
}


@contextlib.contextmanager
def _output_may_end() -> Iterator[None]:
    """End quietly when the reader of the output went away, and with one line when it is lost."""
    try:
        yield
    except BrokenPipeError:
        # It has read what it wanted (`| head`).
        raise click.exceptions.Exit(0) from None
    except OSError as error:
        # Commands report what they meet themselves: what is left is click's own printing of help.
        raise OutputLostError(error) from error


class _LazyGroup(click.Group):
    """Loads a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *(name for name in super().list_commands(ctx) if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # A program that uses the group may have added one of its own, or in place of one of ours.
        if cmd_name in self.commands or cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"expr_tracker.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        check_command(ctx, args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        with _output_may_end(), one_line_usage_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _output_may_end(), one_line_usage_errors(ctx):
            return super().invoke(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer commands; click would load the module of each to see whether it is hidden."""
        if incomplete[:1] == "-":
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, text in self._described()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(self._described())

    def _described(self) -> list[tuple[str, str]]:
        added = {
            name: command.get_short_help_str(limit=80)
            for name, command in self.commands.items()
            if not command.hidden
        }
        return list({**COMMANDS, **added}.items())

    def main(self, *args: Any, **extra: Any) -> Any:
        if not open_closed_streams():
            say("Error: standard output is closed.", err=True)
            sys.exit(1)
        try:
            return super().main(*args, **{"prog_name": self.name, **extra})
        finally:
            drop_unwritten_output()


@click.group(
    "et",
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.option("--version", is_flag=True, help="Print the version and leave.")
@click.pass_context
def main(ctx: click.Context, *, version: bool) -> None:
    """Look at runs that expr_tracker logged.

    RUN is a run's directory (runs/PROJECT/NAME) or one of its files.

    \b
    et ls                             which runs there are
    et history runs/llm/sft-1         the newest rows
    et trace runs/llm/sft-1           a timeline for Perfetto
    et export runs/llm/sft-1 -o a.parquet
    """  # noqa: D301 - click reads the control character
    if version:
        import expr_tracker

        click.echo(f"et, version {expr_tracker.__version__}")
        return
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
