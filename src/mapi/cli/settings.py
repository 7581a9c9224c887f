"""The options that stand for settings; each wins over its variable."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mapi.config import settings_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapi.config import Settings

__all__ = ["home_option", "settings_of"]


def home_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--home``."""
    return click.option(
        "--home",
        type=click.Path(path_type=Path, file_okay=False),
        help="The directory of database and objects; by default MAPI_HOME.",
    )(command)


def settings_of(home: Path | None, *, allow_network_home: bool = False) -> Settings:
    """Return the settings of the environment with what the command line says otherwise.

    Raises:
        SettingError: a variable breaks its rule.
    """
    settings = settings_from()
    if home is not None:
        settings = dataclasses.replace(settings, home=home.expanduser().absolute())
    if allow_network_home:
        settings = dataclasses.replace(settings, allow_network_home=True)
    return settings
