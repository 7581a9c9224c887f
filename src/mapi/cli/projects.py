"""`mapi projects`: what runs, members and limits belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli.asking import asks
from mapi.cli.grouping import CommandGroup
from mapi.cli.printing import body_option, format_option, print_body, print_rows

if TYPE_CHECKING:
    from mapi import Client

__all__ = ["command"]

_NAMES: Final = ("name", "role", "created")


@click.group("projects", cls=CommandGroup)
def command() -> None:
    """Make and list projects.

    \b
    mapi projects create vision
    mapi runs create --project vision --name first
    """  # noqa: D301 - click reads the control character


@command.command("ls")
@format_option
@body_option
@asks
def ls(api: Client, *, form: str, output: str | None) -> None:
    """List the projects that you see, by name, and what you are in each.

    \b
    mapi projects ls --format csv
    """  # noqa: D301 - click reads the control character
    found = api.projects.list()
    if output is not None:
        print_body({"projects": found})
        return
    rows = [[getattr(one, name) for name in _NAMES] for one in found]
    print_rows(_NAMES, rows, form=form, wanted=["name"])


@command.command("create")
@click.argument("name")
@click.option(
    "--if-exists",
    type=click.Choice(["fail", "get"]),
    default="fail",
    show_default=True,
    help="What to do where the name is in use.",
)
@body_option
@asks
def create(api: Client, *, name: str, if_exists: Any, output: str | None) -> None:
    """Make a project, and print its name; an admin of the tenant may.

    \b
    mapi projects create vision --if-exists get
    """  # noqa: D301 - click reads the control character
    made = api.projects.create(name, if_exists=if_exists)
    if output is not None:
        print_body(made)
    else:
        click.echo(made.name)
