"""`mapi usage`: what is kept, as the server counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mapi.cli.asking import asks
from mapi.cli.printing import body_option, format_option, print_body, print_rows

if TYPE_CHECKING:
    from mapi import Client

__all__ = ["command"]


@click.command("usage")
@format_option
@body_option
@asks
def command(api: Client, *, form: str, output: str | None) -> None:
    """List rows and bytes by kind, of each project that you see."""
    found = api.limits.usage()
    if output is not None:
        print_body(found)
        return
    rows = [
        [one.project, kind, one.rows.get(kind), one.size_bytes.get(kind)]
        for one in found.projects
        for kind in sorted({*one.rows, *one.size_bytes})
    ]
    rows += [
        [one.project, "media content", one.media_items, one.media_bytes] for one in found.projects
    ]
    print_rows(["project", "kind", "rows", "bytes"], rows, form=form)
