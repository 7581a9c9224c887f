"""`mapi doctor`: what is wrong, and the fix."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from mapi.cli.settings import at_home, home_option
from mapi.config import sound_settings

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
    settings, faults = sound_settings()
    for fault in faults:
        click.echo(f"{'failed':8}{'settings':10}{fault}")
    # The others are made as if what is wrong were not set.
    has_failed = asyncio.run(_examine(at_home(settings, home), is_sound=not faults))
    if faults or has_failed:
        raise click.exceptions.Exit(1)


async def _examine(settings: Settings, *, is_sound: bool) -> bool:
    from mapi.serve.doctor import Verdict, examine

    has_failed = False
    async for finding in examine(settings):
        if not is_sound and (finding.subject, finding.verdict) == ("settings", Verdict.OK):
            continue
        click.echo(f"{finding.verdict.value:8}{finding.subject:10}{finding.text}")
        has_failed |= finding.verdict is Verdict.FAILED
    return has_failed
