"""``et completion``: tab completion for the shells that click knows.

What is completed is in `candidates`; the commands name it at their arguments and options.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the lines that turn on tab completion for SHELL.

    Commands and options are completed, and the names that a run holds: its path, streams, ranks,
    attempts and metrics.

    \b
    bash   echo 'eval "$(et completion bash)"' >> ~/.bashrc
    zsh    echo 'eval "$(et completion zsh)"' >> ~/.zshrc
    fish   et completion fish > ~/.config/fish/completions/et.fish
    """  # noqa: D301 - click reads the control character
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click has no completion for {shell!r}.", ctx)
    source = kind(ctx.find_root().command, {}, "et", "_ET_COMPLETE").source()
    # Click's lines for fish cut an answer at its second comma: `--metrics loss,acc` has one.
    click.echo(source.replace('(string split "," $', '(string split --max 1 "," $'))
