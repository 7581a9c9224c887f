"""`mapi limits`: what a run may keep, as the server says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mapi.cli.asking import asks
from mapi.cli.printing import body_option, format_option, print_body, print_rows

if TYPE_CHECKING:
    from mapi import Client

__all__ = ["command"]


@click.command("limits")
@format_option
@body_option
@asks
def command(api: Client, *, form: str, output: str | None) -> None:
    """List what a run of the project may keep, by budget.

    `mapi admin limits set` changes it for a tenant, from a shell on the server's machine.
    """
    found = api.limits.get()
    if output is not None:
        print_body(found)
        return
    print_rows(["budget", "limit"], found.tracking.items(), form=form)
