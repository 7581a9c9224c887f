"""`mapi views`: searches under a name, shared by all of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli import candidates
from mapi.cli.asking import asks, pointing
from mapi.cli.grouping import CommandGroup
from mapi.cli.naming import view_id
from mapi.cli.printing import body_option, format_option, local, print_body, print_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapi import Client
    from mapi.wire.experiments import ViewFacts

__all__ = ["command"]

_NAMES: Final = ("id", "name", "filter", "sort", "columns", "experiment")

view_argument = click.argument("view", shell_complete=candidates.views)


@click.group("views", cls=CommandGroup)
def command() -> None:
    """Keep searches under a name.

    \b
    mapi views create good --filter "metrics.loss.min < 0.3" --columns metrics.loss.min
    mapi runs ls --view VIEW
    """  # noqa: D301 - click reads the control character


def _search_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--experiment", shell_complete=candidates.experiments, help="Whose view it is."
        ),
        click.option(
            "--columns",
            metavar="FIELDS",
            shell_complete=candidates.fields,
            help="With which columns.",
        ),
        click.option(
            "--sort", metavar="FIELDS", shell_complete=candidates.orders, help="In which order."
        ),
        click.option("-f", "--filter", metavar="TEXT", help="Which runs."),
    ):
        function = option(function)
    return function


@command.command("ls")
@click.option("--experiment", shell_complete=candidates.experiments, help="Only those of one.")
@format_option
@body_option
@asks
def ls(api: Client, *, experiment: str | None, form: str, output: str | None) -> None:
    """List the saved views of a project, by name.

    \b
    mapi views ls --experiment study
    """  # noqa: D301 - click reads the control character
    found = api.views.list(experiment=experiment)
    if output is not None:
        print_body({"views": found})
        return
    rows = [[getattr(one, name) for name in _NAMES] for one in found]
    print_rows(_NAMES, rows, form=form, wanted=["id", "name"])


@command.command("show")
@view_argument
@body_option
@asks
def show(api: Client, *, view: str, output: str | None) -> None:
    """Print a saved view.

    \b
    mapi views show good
    """  # noqa: D301 - click reads the control character
    _say(api.views.get(view_id(api, view)), output)


@command.command("create")
@click.argument("name")
@click.option(
    "--if-exists",
    type=click.Choice(["fail", "get"]),
    default="fail",
    show_default=True,
    help="What to do where the name is in use.",
)
@_search_options
@body_option
@asks
def create(
    api: Client, *, name: str, if_exists: Any, output: str | None, **search: str | None
) -> None:
    """Save a search under a name, and print its id.

    A project has at most 200.

    \b
    mapi views create good --filter "metrics.loss.min < 0.3" --sort metrics.loss.min
    """  # noqa: D301 - click reads the control character
    wanted: dict[str, Any] = {key: text for key, text in search.items() if text is not None}
    with pointing(wanted):
        made = api.views.create(name, if_exists=if_exists, **wanted)
    if output is not None:
        print_body(made)
    else:
        click.echo(made.id)


@command.command("edit")
@view_argument
@click.option("--name", help="Unique in the project.")
@_search_options
@body_option
@asks
def edit(api: Client, *, view: str, output: str | None, **search: str | None) -> None:
    """Change a saved view; what is not named stays.

    \b
    mapi views edit good --columns name,params.lr
    """  # noqa: D301 - click reads the control character
    wanted: dict[str, Any] = {key: text for key, text in search.items() if text is not None}
    if not wanted:
        raise click.UsageError("say what to change, such as --filter")
    with pointing(wanted):
        _say(api.views.update(view_id(api, view), **wanted), output)


@command.command("rm")
@view_argument
@asks
def remove(api: Client, *, view: str) -> None:
    """Delete a saved view.

    \b
    mapi views rm good
    """  # noqa: D301 - click reads the control character
    api.views.delete(view_id(api, view))
    click.echo(f"{view} is gone")


def _say(found: ViewFacts, output: str | None) -> None:
    from expr_tracker.cli.terminal import say

    if output is not None:
        print_body(found)
        return
    for name in _NAMES:
        value = getattr(found, name)
        if value not in {None, ""}:
            say(f"{name:12}{local(value)}")
