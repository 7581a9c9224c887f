"""`mapi completion`: tab completion for the shells that click knows."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the lines that turn on tab completion for SHELL.

    Commands and options are completed, and what the server knows: runs, experiments, views, metrics,
    params and the fields of `--sort` and `--columns`.

    \b
    bash   echo 'eval "$(mapi completion bash)"' >> ~/.bashrc
    zsh    echo 'eval "$(mapi completion zsh)"' >> ~/.zshrc
    fish   mapi completion fish > ~/.config/fish/completions/mapi.fish
    """  # noqa: D301 - click reads the control character
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click has no completion for {shell!r}.", ctx)
    source = kind(ctx.find_root().command, {}, "mapi", "_MAPI_COMPLETE").source()
    # Click's lines for fish cut an answer at its second comma: `--columns name,user` has one.
    click.echo(source.replace('(string split "," $', '(string split --max 1 "," $'))
