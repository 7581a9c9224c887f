"""``et push``: run directories into the platform."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.ending import until_told
from expr_tracker.cli.failure import Failure, reported
from expr_tracker.cli.parameters import RunPath
from expr_tracker.cli.progress import progress_bar
from expr_tracker.cli.terminal import say
from expr_tracker.errors import PlatformError
from expr_tracker.notices import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mapi.follow.opened import PushReport

__all__ = ["command"]


class _PushFailure(Failure):
    """What was asked makes sense, and the platform could not be told of it."""

    exit_code = 1


@click.command()
@click.argument(
    "directories", metavar="DIR...", nargs=-1, required=True, type=RunPath(),
    shell_complete=candidates.paths,
)  # fmt: skip
@click.option(
    "--project", metavar="NAME",
    help="Where all of them go; by default MAPI_PROJECT or that of the token, else the project that is "
    "called as a run's own.",
)  # fmt: skip
@click.option("--again", is_flag=True, help="Send everything from the first row.")
@click.option(
    "--watch", is_flag=True, help="Go on with runs that grow and runs that begin, until Ctrl-C."
)
@reported()
def command(
    *, directories: tuple[Path, ...], project: str | None, again: bool, watch: bool
) -> None:
    """Bring runs to the platform: those at or below each DIR.

    What the platform has is not sent again, so the command may be repeated at any time, also while a
    run goes on. Ends with exit code 1 if a run is not whole there.

    \b
    et push runs
    et push runs/llm/sft-1 --project team
    et push runs --watch
    """  # noqa: D301 - click reads the control character
    try:
        from mapi.follow import front
    except ImportError as error:
        from expr_tracker.extras import missing_extra

        raise missing_extra(error, "client", what="et push") from error

    reports: list[PushReport] = []
    try:
        if watch:
            with until_told() as pause:
                front.watch(
                    directories,
                    project=project,
                    again=again,
                    pause=pause,
                    tell_outage=_tell_outage,
                    tell=_tell,
                    begun=_tell_watch,
                )
            return
        with progress_bar("Pushing") as progress:
            front.push_once(
                directories,
                project=project,
                again=again,
                pause=_slept,
                tell_outage=_tell_outage,
                progress=progress,
                reports=reports,
            )
    except PlatformError as error:
        # Where nothing got through, the error says it of all of them.
        if any(report.run is not None for report in reports):
            _tell_all(reports)
        raise _PushFailure(str(error)) from error
    if _tell_all(reports):
        click.get_current_context().exit(1)


def _slept(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def _tell_outage(why: str | None) -> None:
    say(f"Waiting: {why}" if why is not None else "Going on.", err=True)


def _tell_watch() -> None:
    say("Watching for rows and runs that come; Ctrl-C ends it.", err=True)


def _tell(report: PushReport) -> None:
    if report.run is not None:
        new, there = _spelled(report.sent), _spelled(report.there)
        known = f"; there already: {there}" if there else ""
        where = f"{report.path}: {report.status}, {report.run} in {report.project}"
        say(f"{where}, {new or 'nothing'} new{known}")
    for note in report.notes:
        say(f"  note: {note}")
    for problem in report.problems:
        say(f"  wrong: {problem}" if report.run is not None else f"{report.path}: {problem}")


def _spelled(counts: Mapping[str, int]) -> str:
    return ", ".join(counted(count, what) for what, count in counts.items() if count)


def _tell_all(reports: Sequence[PushReport]) -> bool:
    """Tell what became of the runs; return whether one is not whole."""
    for report in reports:
        _tell(report)
    bad = [str(report.path) for report in reports if report.problems]
    if bad:
        say(f"Not whole on the platform: {', '.join(bad)}", err=True)
    return bool(bad)
