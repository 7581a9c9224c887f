"""`mapi serve`: run the platform."""

from __future__ import annotations

import sys
import webbrowser
from typing import TYPE_CHECKING

import click

from mapi.cli import version
from mapi.cli.settings import home_option, settings_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]

_SIGN_IN = "Sign in once: "


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    default=8765,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="0 takes any that is free.",
)
@home_option
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@click.option(
    "--allow-network-home",
    is_flag=True,
    help="Trust a network file system with the database.",
)
@click.option(
    "--stop-at-eof",
    is_flag=True,
    help="Stop when standard input ends, as it does when the program that holds it is gone.",
)
def command(
    *,
    host: str,
    port: int,
    home: Path | None,
    no_browser: bool,
    allow_network_home: bool,
    stop_at_eof: bool,
) -> None:
    """Run the platform until Ctrl-C.

    With nothing set up it starts a database of its own below --home. With MAPI_DATABASE_URL it
    serves from that one, as one of any number of replicas.
    """
    from mapi.serve.command import serve

    opens_browser = not no_browser and sys.stdout.isatty()

    def say(text: str) -> None:
        click.echo(text)
        if opens_browser and text.startswith(_SIGN_IN):
            webbrowser.open(text.removeprefix(_SIGN_IN))

    serve(
        settings_of(home, allow_network_home=allow_network_home),
        host=host,
        port=port,
        version=version(),
        say=say,
        stops_at_eof=stop_at_eof,
    )
