"""`mapi restore`: a backup into an empty place."""

from __future__ import annotations

from pathlib import Path

import click

from mapi.cli.backup import held_in
from mapi.cli.settings import home_option, settings_of

__all__ = ["command"]


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@home_option
def command(*, file: Path, home: Path | None) -> None:
    """Restore FILE into an empty home or database.

    A database is empty that has no schema of ours.
    """
    from mapi.serve.backup import restore_backup

    manifest = restore_backup(settings_of(home), file.absolute())
    click.echo(
        f"Restored what version {manifest.version} wrote on {manifest.created}: "
        f"{held_in(manifest)}."
    )
