"""How a group of commands takes its words: what lists is `ls`, and whoever says `list` means it too."""

from __future__ import annotations

from typing import Final

import click

__all__ = ["CommandGroup"]

#: Taken, and offered nowhere.
_ALIASES: Final = {"list": "ls"}


class CommandGroup(click.Group):
    """A group whose commands have a second word, where people expect one."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command that a word names, by its own or by its second one."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in _ALIASES:
            return super().get_command(ctx, _ALIASES[cmd_name])
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; help and errors call it by its own word."""
        name, found, rest = super().resolve_command(ctx, args)
        return (name if found is None else found.name), found, rest


# A group below one is of the same kind.
CommandGroup.group_class = CommandGroup
