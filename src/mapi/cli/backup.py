"""`mapi backup`: database and objects in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapi.cli import version
from mapi.cli.settings import home_option, settings_of

if TYPE_CHECKING:
    from mapi.serve.backup_file import Manifest

__all__ = ["command", "held_in"]


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@home_option
def command(*, file: Path, home: Path | None) -> None:
    """Write database and objects into FILE.

    The server may run meanwhile.
    """
    from mapi.serve.backup import write_backup

    manifest = write_backup(settings_of(home), file.absolute(), version=version())
    if manifest.missing_objects:
        click.echo(
            f"Warning: the store has lost {manifest.missing_objects} objects that rows name; the "
            "backup holds all else.",
            err=True,
        )
    click.echo(f"{file}: {held_in(manifest)}, {file.stat().st_size} bytes")


def held_in(manifest: Manifest) -> str:
    """Return what a backup holds, as its closing line says it."""
    counts = {
        "tenant": manifest.tenants,
        "run": manifest.runs,
        "object": manifest.objects,
    }
    return ", ".join(
        f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items()
    )
