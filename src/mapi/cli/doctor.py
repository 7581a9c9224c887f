"""`mapi doctor`: what is wrong, and the fix."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from mapi.cli.settings import home_option, settings_of

if TYPE_CHECKING:
    from pathlib import Path

    from mapi.config import Settings

__all__ = ["command"]


@click.command("doctor")
@home_option
def command(*, home: Path | None) -> None:
    """Check settings, home, database and store.

    It ends with exit code 1 if one of them would not work.
    """
    from mapi.errors import SettingError

    try:
        settings = settings_of(home)
    except SettingError as error:
        # The other checks go by the settings.
        click.echo(f"{'failed':8}{'settings':10}{error}")
        raise click.exceptions.Exit(1) from None
    if asyncio.run(_examine(settings)):
        raise click.exceptions.Exit(1)


async def _examine(settings: Settings) -> bool:
    from mapi.serve.doctor import Verdict, examine

    has_failed = False
    async for finding in examine(settings):
        click.echo(f"{finding.verdict.value:8}{finding.subject:10}{finding.text}")
        has_failed |= finding.verdict is Verdict.FAILED
    return has_failed
