"""The options that stand for settings; each wins over its variable."""

from __future__ import annotations

import dataclasses
import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mapi.config import VARIABLES, settings_from, unread_variables

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapi.config import Settings

__all__ = ["at_home", "home_option", "settings_of"]

#: How like a name has to be to be a slip: a letter or two of ten.
_NEAR: Final = 0.85


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
    settings = at_home(settings_from(), home)
    for name in unread_variables():
        # Of a name that is like none of ours another program may be the reader.
        near = difflib.get_close_matches(name, VARIABLES, n=1, cutoff=_NEAR)
        if near:
            click.echo(f"Warning: {name} is read by nothing; is {near[0]} meant?", err=True)
    if allow_network_home:
        settings = dataclasses.replace(settings, allow_network_home=True)
    return settings


def at_home(settings: Settings, home: Path | None) -> Settings:
    """Return settings with the home that the command line names, if it names one."""
    if home is None:
        return settings
    return dataclasses.replace(settings, home=home.expanduser().absolute())
