"""`mapi completion`: tab completion for the shells that click knows."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

__all__ = ["command"]

_BASH_CANDIDATE: Final = """case ${COMP_WORDS[COMP_CWORD]} in
                \\'*) COMPREPLY+=("${value//\\'/\\'\\\\\\'\\'}") ;;
                \\"*) COMPREPLY+=("$(printf '%s' "$value" | sed 's/[\\"$`]/\\\\&/g')") ;;
                *) COMPREPLY+=("$(printf '%q' "$value")") ;;
            esac"""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the lines that turn on tab completion for SHELL.

    Commands and options are completed, and what the server knows: runs, experiments, views, metrics,
    labels, tags and the fields of `--sort` and `--columns`; for `mapi admin`, tenants, projects, tokens,
    users and rules.

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
    source = source.replace('(string split "," $', '(string split --max 1 "," $')
    # Those for bash insert a candidate as it is, and braces with a comma in them would be expanded:
    # `loss{rank=1,split=val}` is two words. Within quotes only what ends
    # those, or is read in them, is escaped.
    click.echo(source.replace("COMPREPLY+=($value)", _BASH_CANDIDATE))
