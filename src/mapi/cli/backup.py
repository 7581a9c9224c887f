"""`mapi backup`: database and objects in one file."""

from __future__ import annotations

from pathlib import Path

import click

from mapi.cli import version
from mapi.cli.settings import home_option, settings_of

__all__ = ["command"]


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@home_option
def command(*, file: Path, home: Path | None) -> None:
    """Write database and objects into FILE; the server may run meanwhile."""
    from mapi.serve.backup import write_backup

    manifest = write_backup(settings_of(home), file.absolute(), version=version())
    if manifest.missing_objects:
        click.echo(
            f"Warning: the store has lost {manifest.missing_objects} objects that rows name; the "
            "backup holds all else.",
            err=True,
        )
    click.echo(f"{file}: {len(manifest.migrations)} migrations, {file.stat().st_size} bytes")
