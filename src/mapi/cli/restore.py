"""`mapi restore`: a backup into an empty place."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

import click

from mapi.cli.backup import held_in
from mapi.cli.settings import home_option, settings_of

__all__ = ["command"]

#: Tenants that are named.
_NAMED_MAX: Final = 10


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@home_option
def command(*, file: Path, home: Path | None) -> None:
    """Restore FILE into an empty home or database.

    A database is empty that has no schema of ours.
    """
    from mapi.serve.platform import LOCAL_TENANT
    from mapi.serve.restoring import restore_backup

    settings = settings_of(home)
    manifest, tenants = restore_backup(settings, file.absolute())
    click.echo(
        f"Restored what version {manifest.version} wrote on {manifest.created}: "
        f"{held_in(manifest)}."
    )
    others = [name for name in tenants if name != LOCAL_TENANT]
    if settings.database_url is not None:
        click.echo(f"Its tenants are: {_named(tenants)}.")
        if LOCAL_TENANT in tenants:
            click.echo(
                f"The tenant {LOCAL_TENANT} is that of a laptop: the token of that machine is ended, `mapi "
                "admin token create NAME` makes others. It may have no limits on points: `mapi admin "
                "limits show` tells, and `mapi admin limits set` sets them."
            )
    elif others:
        # Programs of this machine find its own tenant by themselves, and would see nothing.
        click.echo(
            f"Its tenants are: {_named(others)}. A token of one, which `mapi admin token create NAME "
            f"--tenant {shlex.quote(others[0])}` makes, is the way to its runs: without it commands "
            f"here work for the tenant {LOCAL_TENANT}."
        )


def _named(names: list[str]) -> str:
    return ", ".join(names[:_NAMED_MAX]) + (", …" if names[_NAMED_MAX:] else "")
