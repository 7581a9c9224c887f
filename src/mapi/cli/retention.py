"""`mapi retention`: what would be deleted for its age now, as the server counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from mapi.cli.asking import asks
from mapi.cli.printing import body_option, format_option, print_body, print_rows

if TYPE_CHECKING:
    from mapi import Client

__all__ = ["FREED", "command"]

#: What a pass of retention deletes and keeps, as columns of a table.
FREED: Final = (
    "purged_runs",
    "pruned_runs",
    "kept_runs",
    "points",
    "spans",
    "log_lines",
    "media_items",
    "rows",
    "size_bytes",
)
_RULE: Final = ("number", "project", "filter", "best", "sort", "kept_runs")


@click.command("retention")
@click.option("--rules", is_flag=True, help="List the rules that keep runs instead.")
@format_option
@body_option
@asks
def command(api: Client, *, rules: bool, form: str, output: str | None) -> None:
    """List what would be deleted now, of each project.

    The server deletes it within the hour. It tells admins of their projects, and lists none that loses and
    keeps nothing. `-o json` has the days after which what goes as well. The operator sets them, and the
    rules, with `mapi admin retention`.
    """
    found = api.limits.retention()
    if output is not None:
        print_body(found)
        return
    names = _RULE if rules else ("project", *FREED)
    rows = [
        [getattr(one, name) for name in names]
        for one in (found.rules if rules else found.projects)
    ]
    print_rows(names, rows, form=form, wanted=["project", "filter", "rows", "size_bytes"])
