"""`mapi usage`: what is kept, as the server counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    rows: list[list[Any]] = []
    for one in found.projects:
        for kind in sorted({*one.rows, *one.size_bytes}):
            # Media are counted by their content, which is outside the database.
            count = one.media_items if kind == "media" else one.rows.get(kind)
            rows.append([one.project, kind, count, one.size_bytes.get(kind)])
        rows.append([one.project, "media content", one.media_items, one.media_bytes])
    print_rows(["project", "kind", "rows", "bytes"], rows, form=form)
