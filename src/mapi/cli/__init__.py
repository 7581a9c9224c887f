"""The command ``mapi``: parse, call a room, print.

One module a command, loaded when it is asked for: `mapi --help` must not pay for a web server. They
are `serve`, `migrate`, `doctor`, `backup`, `restore` and `admin` for who keeps a server, `login`, `logout`,
`runs` (with `run_reading`, `run_media`, `run_writing`, `run_life`, `run_comparing` and `run_files`), `projects`, `experiments`, `views`,
`limits`, `usage`, `retention` and `completion` for who uses one. `upkeep` are the commands of `admin` that delete and compact, `desk` what they
share. `settings` are the options that the first share, `grouping` says how a group takes its words, and `confirming` asks before what is for good; the others ask by
`asking`, read words by `naming`, print by `printing` (`pruned` says what is gone of a run), show a `transfers` bar and
complete words by `candidates`, those of `admin` by `desk_candidates`, as `shells` ask. `failure` makes one line of an error.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import sys
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from mapi.cli.failure import one_line_errors
from mapi.cli.shells import learn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["COMMANDS", "main", "version"]

#: Command → what `mapi --help` says of it. The text stands here so that help loads no command.
COMMANDS: Final = {
    "serve": "Run the platform.",
    "migrate": "Bring the database to this version.",
    "doctor": "Check settings, database and store, and say the fix.",
    "backup": "Write database and objects into one file.",
    "restore": "Read a backup into an empty place.",
    "admin": "Manage tenants, tokens, members and limits.",
    "login": "Keep the address and the token of a server for other commands.",
    "logout": "Forget what `mapi login` keeps.",
    "runs": "Find, read, write and compare runs.",
    "projects": "Make and list projects.",
    "experiments": "Gather runs in experiments.",
    "views": "Keep searches under a name.",
    "limits": "List what a run may keep.",
    "usage": "List what is kept.",
    "retention": "List what is deleted for its age.",
    "completion": "Print the lines that turn on tab completion.",
}


def version() -> str:
    """Return the version of the program."""
    from importlib import metadata

    try:
        return metadata.version("expr-tracker")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "0"


@contextlib.contextmanager
def _output_may_end() -> Iterator[None]:
    """End well when the reader of the output (`| head`) went away; click would call it a failure."""
    try:
        yield
    except BrokenPipeError:
        from expr_tracker.cli.terminal import drop_unwritten_output

        drop_unwritten_output()
        raise click.exceptions.Exit(0) from None


class _LazyGroup(click.Group):
    """Loads a command's module when the command is used."""

    def invoke(self, ctx: click.Context) -> object:
        with _output_may_end():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and name[:1] != "-" and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            advice = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"No such command {name!r}.{advice}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"mapi.cli.{cmd_name}").command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer commands; click would load the module of each to see whether it is hidden."""
        if incomplete[:1] == "-":
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(version(), "--version", prog_name="mapi")
def _group() -> None:
    """Keep the log of every run of a team.

    \b
    mapi serve                        on this machine, with nothing else to set up
    mapi doctor                       what is wrong, and how to mend it
    mapi admin token create NAME      a token for a program
    mapi runs ls --filter "status = failed AND created >= -7d"
    """  # noqa: D301 - click reads the control character


def _do_without_streams() -> None:
    """Do without the standard streams that the program was started without (``<&-``, ``>&-``).

    Nothing comes from an input that is none. Without an output no command has anywhere to answer to.
    """
    from expr_tracker.cli.terminal import open_closed_streams

    has_output = open_closed_streams()
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    if not has_output:
        print("Error: standard output is closed.", file=sys.stderr)
        raise SystemExit(1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; the console script calls this."""
    if None in {sys.stdin, sys.stdout, sys.stderr}:
        _do_without_streams()
    learn()
    with one_line_errors():
        ended = _group.main(
            args=None if arguments is None else list(arguments),
            prog_name="mapi",
            standalone_mode=False,
        )
        # Where it does not end the program itself, click returns the exit code that a command asked
        # for.
        if isinstance(ended, int) and ended != 0:
            raise SystemExit(ended)
