"""The commands of `mapi runs` that change runs, end them, try them again and take them away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli import candidates
from mapi.cli.asking import asks
from mapi.cli.printing import body_option, format_option, print_body, print_rows
from mapi.cli.run_writing import run_argument

if TYPE_CHECKING:
    from mapi import Client

__all__ = ["COMMANDS"]

_STATUSES: Final = ("running", "succeeded", "failed", "cancelled")


@click.command("edit")
@run_argument
@click.option("--name", help="What people call it.")
@click.option("--note", help="Markdown.")
@click.option("--experiment", shell_complete=candidates.experiments, help="Its id or exact name.")
@click.option("--no-experiment", is_flag=True, help="Take it out of its experiment.")
@click.option("--status", type=click.Choice(_STATUSES), help="How it ended.")
@click.option("--reason", help="Why it ended.")
@body_option
@asks
def edit(
    api: Client,
    *,
    run: str,
    no_experiment: bool,
    output: str | None,
    **wanted: str | None,
) -> None:
    """Change name, note, experiment or status of a run.

    What is not named stays.

    \b
    mapi runs edit RUN --status failed --reason "out of memory"
    """  # noqa: D301 - click reads the control character
    changes: dict[str, Any] = {name: text for name, text in wanted.items() if text is not None}
    if no_experiment:
        changes["experiment"] = None
    if not changes:
        raise click.UsageError("say what to change, such as --name")
    facts = api.runs.update(run, **changes)
    if output is not None:
        print_body(facts)
    else:
        click.echo(f"{facts.id} is changed")


@click.command("cancel")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=candidates.runs)
@asks
def cancel(api: Client, *, runs: tuple[str, ...]) -> None:
    """Stop runs that go on or wait.

    The program that logs one learns of it within 15 seconds.

    \b
    mapi runs cancel RUN
    """  # noqa: D301 - click reads the control character
    for run in runs:
        click.echo(f"{api.runs.cancel(run).id} is cancelled")


@click.command("retry")
@run_argument
@body_option
@asks
def retry(api: Client, *, run: str, output: str | None) -> None:
    """Make a run that tries RUN again, and print its id.

    It has the name, note, tags, parent, experiment and spec of RUN, and an empty log. One with a spec
    waits for a runner; another one is yours to log.

    \b
    AGAIN=$(mapi runs retry RUN)
    """  # noqa: D301 - click reads the control character
    again = api.runs.retry(run)
    if output is not None:
        print_body(again.facts)
    else:
        click.echo(again.id)


@click.command("life")
@run_argument
@format_option
@body_option
@asks
def life(api: Client, *, run: str, form: str, output: str | None) -> None:
    """Print what happened to a run.

    That is changes of status, name, experiment and trash, warnings, and what retention deleted.

    \b
    mapi runs life RUN --format csv
    """  # noqa: D301 - click reads the control character
    found = api.runs.life(run)
    if output is not None:
        print_body(found)
        return
    names = ("time", "kind", "user", "before", "after", "reason", "message")
    rows = [[getattr(one, name) for name in names] for one in found]
    print_rows(names, rows, form=form, wanted=names)


@click.command("rm")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=candidates.runs)
@asks
def remove(api: Client, *, runs: tuple[str, ...]) -> None:
    """Put runs into the trash.

    `mapi runs restore` brings them back for a while.

    \b
    mapi runs rm RUN RUN
    """  # noqa: D301 - click reads the control character
    for run in runs:
        api.runs.delete(run)
        click.echo(f"{run} is in the trash")


@click.command("restore")
@click.argument(
    "runs", nargs=-1, required=True, metavar="RUN...", shell_complete=candidates.trashed
)
@asks
def restore(api: Client, *, runs: tuple[str, ...]) -> None:
    """Take runs out of the trash.

    `mapi runs ls --trashed` lists what is there.

    \b
    mapi runs restore RUN
    """  # noqa: D301 - click reads the control character
    for run in runs:
        click.echo(f"{api.runs.restore(run).id} is back")


COMMANDS: Final = (edit, cancel, retry, life, remove, restore)
