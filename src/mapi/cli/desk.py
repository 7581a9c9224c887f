"""What commands of `mapi admin` share: whose, and how the platform is reached."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from mapi.cli import desk_candidates
from mapi.cli.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mapi.serve.administration import Administration

__all__ = ["address_of", "administer", "project_option", "tenant_option"]


def tenant_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--tenant``."""
    return click.option(
        "--tenant",
        default="local",
        show_default=True,
        shell_complete=desk_candidates.tenants,
        help="Whose.",
    )(function)


def project_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--project``, which may be left out."""
    return click.option(
        "--project",
        shell_complete=desk_candidates.projects,
        help="One project; without it, all of the tenant.",
    )(function)


def administer(home: Path | None, work: Callable[[Administration], Awaitable[None]]) -> None:
    """Do some work with the platform of a home, whether its server runs or not."""
    from mapi.serve.administration import administration

    async def run() -> None:
        async with administration(settings_of(home)) as found:
            await work(found)

    asyncio.run(run())


def address_of(home: Path | None, url: str | None) -> str:
    """Return where browsers find the server: what was said, the public address, or that of this home.

    Args:
        home: of which server, where it has one.
        url: what the command line says.

    Raises:
        SettingError: what was said is no address, or nothing says where.
    """
    from mapi.errors import SettingError
    from mapi.sdk.addresses import checked_url
    from mapi.sdk.server import kept_server

    settings = settings_of(home)
    if url is not None:
        return checked_url(url)
    if settings.public_url is not None:
        return settings.public_url
    kept = kept_server(settings.home / "local.json")
    if kept is None:
        raise SettingError(
            f"{settings.home} has no server that runs, and MAPI_PUBLIC_URL is not set: name the "
            "address of the server with --url."
        )
    return kept.url
