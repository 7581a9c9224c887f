"""`mapi migrate`: bring the database to this version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mapi.cli.settings import home_option, settings_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("migrate")
@home_option
@click.option(
    "--set-password",
    "sets_password",
    is_flag=True,
    help="Give the role of MAPI_DATABASE_URL the password there, if it has another.",
)
def command(*, home: Path | None, sets_password: bool) -> None:
    """Apply the migrations that the database has not.

    MAPI_DATABASE_ADMIN_URL names the database as a role that may create; the role of
    MAPI_DATABASE_URL is made if it is missing, and alone may connect. The database of a home is
    migrated by its start.
    """
    from mapi.serve.platform import migrate_all

    applied = migrate_all(settings_of(home), sets_password=sets_password)
    for name in applied:
        click.echo(f"applied {name}")
    if not applied:
        click.echo("The database is at this version.")
