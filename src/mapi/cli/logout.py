"""`mapi logout`: forget what `mapi login` has kept."""

from __future__ import annotations

import click

from mapi.config import profile_path

__all__ = ["command"]


@click.command("logout")
def command() -> None:
    """Delete the file that `mapi login` has written.

    The token stays good where it was copied to: an admin ends it with `mapi admin token revoke`.
    """
    path = profile_path()
    try:
        path.unlink()
    except FileNotFoundError:
        click.echo(f"Nobody is logged in: there is no {path}.")
    else:
        click.echo(f"Logged out: {path} is gone. The token is still good; revoke it if need be.")
