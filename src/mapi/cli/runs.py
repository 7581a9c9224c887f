"""`mapi runs`: find, read and follow runs.

`run_reading` has what lists their series, points and spans, `run_media` their media, `run_writing` what makes and fills
them, `run_life` what changes and ends them, `run_comparing` what sets them side by side, and `run_files` what makes
files of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli import (
    candidates,
    run_comparing,
    run_files,
    run_life,
    run_media,
    run_reading,
    run_writing,
)
from mapi.cli.asking import PointedError, asks, pointing
from mapi.cli.grouping import CommandGroup
from mapi.cli.naming import counted, view_id
from mapi.cli.printing import (
    body_option,
    cell,
    format_option,
    local,
    print_body,
    print_ids,
    print_rows,
    say_there_are_more,
)
from mapi.cli.pruned import run_pruned, say_lines_pruned, series_pruned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mapi import Client
    from mapi.sdk.frames import Frame
    from mapi.sdk.tables import FoundRun
    from mapi.wire.metrics import SeriesSummary

__all__ = ["command"]

_NAMES: Final = ("id", "name", "status", "created", "user")

run_argument = click.argument("run", shell_complete=candidates.runs)


@click.group("runs", cls=CommandGroup)
def command() -> None:
    """Find, read, write and compare runs.

    \b
    mapi runs ls --filter "metrics.loss{split=val}.min < 0.3" --sort -created
    mapi runs show RUN
    mapi runs create --name first --param lr=0.1
    mapi runs log-metric RUN loss=0.5 --step 10
    mapi runs compare RUN RUN
    """  # noqa: D301 - click reads the control character


for one in (
    *run_reading.COMMANDS,
    *run_media.COMMANDS,
    *run_writing.COMMANDS,
    *run_life.COMMANDS,
    *run_comparing.COMMANDS,
    *run_files.COMMANDS,
):
    command.add_command(one)


@command.command("ls")
@click.option(
    "-f",
    "--filter",
    "filters",
    multiple=True,
    metavar="TEXT",
    help="Which runs; all of several hold.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="TEXT",
    help="The same of one metric: loss<0.3 is metrics.loss<0.3.",
)
@click.option(
    "--sort",
    metavar="FIELDS",
    shell_complete=candidates.orders,
    help="In which order; -FIELD is the largest first.",
)
@click.option(
    "--columns",
    metavar="FIELDS",
    shell_complete=candidates.fields,
    help="What else to print of each.",
)
@click.option(
    "--view",
    metavar="VIEW",
    shell_complete=candidates.views,
    help="A saved view, whose filter holds too.",
)
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many."
)
@click.option("--all", "is_all", is_flag=True, help="All of them, however many there are.")
@click.option("--cursor", help="With -o json: next_cursor of the page before.")
@click.option("--trashed", is_flag=True, help="Those in the trash.")
@click.option("--ids", "is_ids", is_flag=True, help="Print nothing but ids, one a line.")
@format_option
@body_option
@asks
def ls(  # noqa: PLR0913 - its options
    api: Client,
    *,
    filters: tuple[str, ...],
    metrics: tuple[str, ...],
    sort: str | None,
    columns: str | None,
    view: str | None,
    limit: int,
    is_all: bool,
    cursor: str | None,
    trashed: bool,
    is_ids: bool,
    form: str,
    output: str | None,
) -> None:
    """List runs, the newest first.

    A filter compares metrics, params, tags and what every run has; AND, OR, NOT and brackets combine.

    \b
    mapi runs ls --filter "status = failed AND created >= -7d"
    mapi runs ls --metric 'loss{split=val}<0.3' --metric 'acc.max>0.9'
    mapi runs ls --filter 'params.optimizer IN (adam, sgd)' --columns params.lr
    mapi runs ls --columns "metrics.loss{split=val}.min" --sort "metrics.loss{split=val}.min"
    mapi runs ls --filter "tags.team = ads" --format csv --all > runs.csv
    mapi runs cancel $(mapi runs ls --filter "status = running AND tags.team = ads" --ids --all)
    """  # noqa: D301 - click reads the control character
    filters += tuple(f"metrics.{one.strip().removeprefix('metrics.')}" for one in metrics)
    asked: dict[str, Any] = {
        "filter": list(filters) or None,
        "sort": sort,
        "columns": columns,
        "view": None if view is None else view_id(api, view),
        "trashed": trashed,
    }
    with pointing({"filter": filters, "sort": sort, "columns": columns}):
        if output is not None:
            print_body(api.runs.page(**asked, limit=min(limit, 500), cursor=cursor))
            return
        if cursor is not None:
            raise PointedError("--cursor goes with -o json; --all goes through all pages.")
        # One more than is shown tells whether there are more.
        found = list(api.runs.list(**asked, limit=None if is_all else limit + 1))
    has_more = not is_all and len(found) > limit
    found = found if is_all else found[:limit]
    if is_ids:
        print_ids(run.id for run in found)
        if has_more:
            say_there_are_more(limit)
        return
    chosen = found[0].columns if found else []
    # What stands in every row does not stand there twice.
    places = [place for place, name in enumerate(chosen) if name not in _NAMES]
    more = [chosen[place] for place in places]
    rows = ([*_row(run), *(run.values[place] for place in places)] for run in found)
    print_rows([*_NAMES, *more], rows, form=form, wanted=["id", "name", *more])
    if has_more:
        say_there_are_more(limit)


def _row(run: FoundRun) -> list[Any]:
    return [run.id, run.name, run.status, run.created, run.user]


@command.command("show")
@run_argument
@body_option
@asks
def show(api: Client, *, run: str, output: str | None) -> None:
    """Print what is known of a run.

    That is its record, its params, its tags and its series.

    \b
    mapi runs show RUN
    mapi runs show RUN -o json
    """  # noqa: D301 - click reads the control character
    from expr_tracker.cli.terminal import say

    facts = api.runs.get(run)
    if output is not None:
        print_body(facts)
        return
    for name in (
        "id", "name", "status", "reason", "experiment", "parent", "retry_of", "user", "created", "started",
        "finished", "trashed", "external_id", "note",
    ):  # fmt: skip
        value = getattr(facts, name)
        if name == "experiment" and value is not None:
            value = f"{api.experiments.get(value).name} ({value})"
        if value not in {None, ""}:
            say(f"{name:12}{local(value)}")
    if facts.pruned is not None:
        say(f"pruned      {run_pruned(facts.pruned)}")
    for key, param in api.runs.params(run).items():
        say(f"param       {key} = {param.text[:200]}")
    for key, text in api.runs.tags(run).items():
        say(f"tag         {key} = {text[:200]}")
    for series in api.runs.metrics(run):
        say(f"metric      {_series_text(series)}")
    for text in run_media.media_texts(api.runs.media(run)):
        say(f"media       {text}")


def _series_text(one: SeriesSummary) -> str:
    from mapi.series.names import canonical_labels, series_text

    name = series_text(one.key, canonical_labels(one.labels))
    if one.is_scalar:
        return f"{name} = {cell(one.last_value)}"
    extremes = (
        f", min {cell(one.min_value)}, max {cell(one.max_value)}"
        if one.min_value is not None and one.max_value is not None
        else ""
    )
    points = counted(one.count, "points")
    gone = "" if one.pruned is None else f"; {series_pruned(one.pruned)}"
    return f"{name} = {cell(one.last_value)} at step {one.last_step} ({points}{extremes}{gone})"


@command.command("tail")
@run_argument
@click.option(
    "--level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="debug",
    show_default=True,
    help="The least that is shown.",
)
@click.option(
    "-n",
    "--lines",
    "count",
    type=click.IntRange(0, 1_000),
    default=10,
    show_default=True,
    help="Lines of before.",
)
@click.option("--no-follow", is_flag=True, help="Stop behind the lines of before.")
@asks
def tail(api: Client, *, run: str, level: str, count: int, no_follow: bool) -> None:
    """Print the newest lines of a run's log.

    While the run goes on, what is new is printed until it ends.

    Values of metrics are printed as they change. Ctrl-C stops.

    \b
    mapi runs tail RUN
    mapi runs tail RUN --no-follow -n 100 --level warning
    """  # noqa: D301 - click reads the control character
    from expr_tracker.cli.terminal import say

    lines = api.runs.lines(run, level=level, limit=count) if count else []
    if len(lines) < count:
        say_lines_pruned(api.runs.get(run).pruned)
    for line in lines:
        say(_line_text(line))
    if no_follow:
        return
    after = lines[-1].id if lines else 0
    status = ""
    for frame in api.runs.events(run):
        for text in _frame_texts(frame, level, after):
            # What else changed at the head of the run, such as its note, is not printed.
            if not text.startswith("(") or text != status:
                say(text)
            status = text if text.startswith("(") else status


_LEVELS: Final = ("debug", "info", "warning", "error")


def _frame_texts(frame: Frame, level: str, after: int) -> Iterable[str]:
    from mapi.wire.events import DeletedFrame, LogFrame, StatusFrame, TrackingFrame

    if isinstance(frame, LogFrame):
        for line in frame.lines:
            if line.id > after and _LEVELS.index(line.level) >= _LEVELS.index(level):
                yield _line_text(line)
    elif isinstance(frame, TrackingFrame):
        yield from (_series_text(one) for one in frame.series)
    elif isinstance(frame, StatusFrame):
        where = ", in the trash" if frame.trashed else ""
        yield f"({frame.status}{f': {frame.reason}' if frame.reason else ''}{where})"
    elif isinstance(frame, DeletedFrame):
        yield "(deleted for good)"
    else:
        yield f"({frame.code}: {frame.message})"


def _line_text(line: Any) -> str:
    import msgspec

    fields = f" {msgspec.json.encode(line.fields).decode()}" if line.fields else ""
    return f"{local(line.time)} {line.level:7} {line.message}{fields}"
