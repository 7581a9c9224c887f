"""`mapi experiments`: groups of runs under a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli import candidates
from mapi.cli.asking import asks
from mapi.cli.grouping import CommandGroup
from mapi.cli.naming import experiment_id
from mapi.cli.printing import body_option, format_option, local, print_body, print_rows

if TYPE_CHECKING:
    from mapi import Client
    from mapi.wire.experiments import ExperimentFacts

__all__ = ["command"]

_NAMES: Final = (
    "id",
    "name",
    "runs",
    "runs_active",
    "last_activity",
    "created",
    "archived",
    "description",
)

experiment_argument = click.argument("experiment", shell_complete=candidates.experiments)


@click.group("experiments", cls=CommandGroup)
def command() -> None:
    """Gather runs in experiments.

    \b
    mapi experiments create "learning rates"
    mapi runs create --experiment "learning rates" --param lr=0.1
    mapi experiments ls
    """  # noqa: D301 - click reads the control character


@command.command("ls")
@click.option("--archived/--active", default=None, help="Only those; by default both.")
@click.option(
    "--limit",
    type=click.IntRange(1, 500),
    default=50,
    show_default=True,
    help="With -o json: of one page.",
)
@click.option("--cursor", help="With -o json: next_cursor of the page before.")
@format_option
@body_option
@asks
def ls(
    api: Client,
    *,
    archived: bool | None,
    limit: int,
    cursor: str | None,
    form: str,
    output: str | None,
) -> None:
    """List experiments, the newest first.

    \b
    mapi experiments ls --active --format csv
    """  # noqa: D301 - click reads the control character
    if output is not None:
        print_body(api.experiments.page(archived=archived, limit=limit, cursor=cursor))
        return
    rows = [
        [getattr(one, name) for name in _NAMES] for one in api.experiments.list(archived=archived)
    ]
    print_rows(_NAMES, rows, form=form, wanted=["id", "name"])


@command.command("show")
@experiment_argument
@body_option
@asks
def show(api: Client, *, experiment: str, output: str | None) -> None:
    """Print what is known of an experiment.

    \b
    mapi experiments show "learning rates"
    """  # noqa: D301 - click reads the control character
    _say(api.experiments.get(experiment_id(api, experiment)), output)


@command.command("create")
@click.argument("name")
@click.option("--description", default="", help="Markdown.")
@click.option(
    "--if-exists",
    type=click.Choice(["fail", "get"]),
    default="fail",
    show_default=True,
    help="What to do where the name is in use.",
)
@body_option
@asks
def create(
    api: Client, *, name: str, description: str, if_exists: Any, output: str | None
) -> None:
    """Make an experiment, and print its id.

    \b
    mapi experiments create "learning rates" --if-exists get
    """  # noqa: D301 - click reads the control character
    made = api.experiments.create(name, description=description, if_exists=if_exists)
    if output is not None:
        print_body(made)
    else:
        click.echo(made.id)


@command.command("edit")
@experiment_argument
@click.option("--name", help="Unique in the project.")
@click.option("--description", help="Markdown.")
@body_option
@asks
def edit(api: Client, *, experiment: str, output: str | None, **wanted: str | None) -> None:
    """Change the name or the description; what is not named stays.

    \b
    mapi experiments edit "learning rates" --description "which one is best"
    """  # noqa: D301 - click reads the control character
    changes: dict[str, Any] = {name: text for name, text in wanted.items() if text is not None}
    if not changes:
        raise click.UsageError("say what to change, such as --name")
    _say(api.experiments.update(experiment_id(api, experiment), **changes), output)


@command.command("archive")
@experiment_argument
@body_option
@asks
def archive(api: Client, *, experiment: str, output: str | None) -> None:
    """Let an experiment take no new runs.

    Those that it has stay as they are.

    \b
    mapi experiments archive "learning rates"
    """  # noqa: D301 - click reads the control character
    _say(api.experiments.archive(experiment_id(api, experiment)), output)


@command.command("unarchive")
@experiment_argument
@body_option
@asks
def unarchive(api: Client, *, experiment: str, output: str | None) -> None:
    """Let an experiment take new runs again.

    \b
    mapi experiments unarchive "learning rates"
    """  # noqa: D301 - click reads the control character
    _say(api.experiments.unarchive(experiment_id(api, experiment)), output)


@command.command("rm")
@experiment_argument
@asks
def remove(api: Client, *, experiment: str) -> None:
    """Delete an experiment and its saved views.

    Its runs stay, in no experiment.

    \b
    mapi experiments rm "learning rates"
    """  # noqa: D301 - click reads the control character
    api.experiments.delete(experiment_id(api, experiment))
    click.echo(f"{experiment} is gone")


def _say(found: ExperimentFacts, output: str | None) -> None:
    from expr_tracker.cli.terminal import say

    if output is not None:
        print_body(found)
        return
    for name in _NAMES:
        value = getattr(found, name)
        if value not in {None, ""}:
            say(f"{name:12}{local(value)}")
