"""``et ui``: the pages of the platform over run directories, in a browser."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.ending import until_told
from expr_tracker.cli.failure import Failure, reported
from expr_tracker.cli.parameters import RunPath
from expr_tracker.cli.terminal import say
from expr_tracker.errors import PlatformError

if TYPE_CHECKING:
    from mapi.follow.opened import PushReport
    from mapi.serve.beside import Shown

__all__ = ["command"]


class _PagesFailure(Failure):
    """What was asked makes sense, and the pages could not be shown."""

    exit_code = 1


@click.command()
@click.argument("directory", type=RunPath(), required=False, shell_complete=candidates.paths)
@click.option(
    "--project", metavar="NAME",
    help="Show all runs in one project; by default each in the one that is called as its own.",
)  # fmt: skip
@click.option(
    "--port", default=0, type=click.IntRange(0, 65535), metavar="PORT",
    help="Where the server listens; by default on any port that is free.",
)  # fmt: skip
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@reported()
def command(*, directory: Path | None, project: str | None, port: int, no_browser: bool) -> None:
    """Look at the runs at or below DIR in a browser, live, until Ctrl-C.

    DIR is by default where runs are written: ET_DIR, or runs. It starts `mapi serve` with a home for
    this folder, and brings there what the runs hold, and what comes. The folder itself is only read.

    \b
    et ui
    et ui runs/llm --port 8080
    """  # noqa: D301 - click reads the control character
    try:
        from mapi.serve import beside
    except ImportError as error:
        from expr_tracker.extras import missing_extra

        raise missing_extra(error, "platform", what="et ui") from error

    from expr_tracker.options import root_from_environment

    folder = Path(directory or root_from_environment() or "runs")
    if not folder.is_dir():
        raise click.UsageError(f"{folder} is no folder; log a run first, or name another folder")
    opens_browser = not no_browser and sys.stdout.isatty()

    def begun(shown: Shown) -> None:
        say(f"The runs below {folder}, live: {shown.url}")
        say(f"Sign in once: {shown.sign_in_url}")
        found = " ".join(f"{name}={shlex.quote(text)}" for name, text in shown.variables.items())
        say(f"For programs that ask or write to it: export {found}")
        server = "the server, and nothing of the runs" if shown.is_new else "only this command"
        say(f"Ctrl-C ends {server}.")
        if opens_browser:
            webbrowser.open(shown.sign_in_url)

    try:
        with until_told() as pause:
            beside.show(folder, project=project, port=port, begun=begun, pause=pause, tell=_tell)
    except PlatformError as error:
        raise _PagesFailure(str(error)) from error


def _tell(report: PushReport) -> None:
    """Tell what is wrong with a run; how it is doing the pages show."""
    for problem in report.problems:
        say(f"{report.path}: {problem}", err=True)
