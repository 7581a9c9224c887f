"""The commands of `mapi runs` that list what a run has logged: series, points, spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from mapi.cli import candidates
from mapi.cli.asking import asks, items_option, pairs_of
from mapi.cli.naming import series_of
from mapi.cli.printing import body_option, format_option, labels_text, print_body, print_rows
from mapi.cli.pruned import say_points_pruned, say_spans_pruned
from mapi.cli.run_writing import run_argument

if TYPE_CHECKING:
    from mapi import Client

__all__ = ["COMMANDS"]

_SERIES: Final = (
    "key",
    "labels",
    "count",
    "last_step",
    "last_value",
    "min_value",
    "max_value",
    "mean",
    "pruned_count",
)


@click.command("metrics")
@run_argument
@items_option(
    "--label", "labels", shell_complete=candidates.labels, what="Only series that have it."
)
@format_option
@body_option
@asks
def metrics(
    api: Client, *, run: str, labels: tuple[str, ...], form: str, output: str | None
) -> None:
    """List the series of a run with their summaries.

    \b
    mapi runs metrics RUN --label split=val
    """  # noqa: D301 - click reads the control character
    found = api.runs.metrics(run, labels=pairs_of(labels, what="a label"))
    if output is not None:
        print_body({"series": list(found)})
        return
    rows = [
        [
            one.key,
            labels_text(one.labels) if form == "table" else one.labels,
            *(getattr(one, name) for name in _SERIES[2:-1]),
            None if one.pruned is None else one.pruned.count,
        ]
        for one in found
    ]
    print_rows(_SERIES, rows, form=form, wanted=["key", "last_value"])


@click.command("points")
@run_argument
@click.argument("key", shell_complete=candidates.metrics)
@items_option(
    "--label", "labels", shell_complete=candidates.labels, what="Of the series: exactly these."
)
@format_option
@body_option
@asks
def points(
    api: Client,
    *,
    run: str,
    key: str,
    labels: tuple[str, ...],
    form: str,
    output: str | None,
) -> None:
    """Print the points of one series exactly as they were logged.

    \b
    mapi runs points RUN "loss{split=val}" --format csv
    mapi runs points RUN loss --label split=val
    """  # noqa: D301 - click reads the control character
    from mapi.wire.times import time_from_us
    from mapi.wire.values import value_to_wire

    key, own = series_of(key, labels)
    found = api.runs.points(run, key, labels=own)
    values = [value_to_wire(value) for value in found.values]
    if output is not None:
        listed = [
            {"step": step, "time": time, "value": value}
            for step, time, value in zip(found.steps, found.times_us, values, strict=True)
        ]
        about = {"key": found.key, "labels": found.labels, "pruned": found.pruned}
        print_body({**about, "points": listed})
        return
    rows = zip(found.steps, map(time_from_us, found.times_us), values, strict=True)
    print_rows(["step", "time", "value"], rows, form=form)
    say_points_pruned(found.pruned)


_SPANS: Final = ("name", "start", "duration_ms", "stream", "rank", "step", "depth")


@click.command("spans")
@run_argument
@click.option("--stream", shell_complete=candidates.streams, help="Only of this one.")
@click.option(
    "--rank",
    type=click.IntRange(0),
    shell_complete=candidates.ranks,
    help="Only of this one.",
)
@format_option
@body_option
@asks
def spans(
    api: Client,
    *,
    run: str,
    stream: str | None,
    rank: int | None,
    form: str,
    output: str | None,
) -> None:
    """List the spans of a run, by their start.

    \b
    mapi runs spans RUN --rank 0 --format csv
    """  # noqa: D301 - click reads the control character
    from mapi.wire.times import time_from_us

    pruned = api.runs.get(run).pruned
    found = api.runs.spans(run, stream=stream, rank=rank)
    if output is not None:
        gone = 0 if pruned is None else pruned.spans
        print_body({"pruned_count": gone, "spans": list(found)})
        return
    rows = (
        [
            one.name,
            time_from_us(one.start_ns // 1_000),
            one.duration_ns / 1e6,
            one.stream,
            one.rank,
            one.step,
            one.depth,
        ]
        for one in found
    )
    print_rows(_SPANS, rows, form=form, wanted=["name", "duration_ms"])
    say_spans_pruned(pruned)


COMMANDS: Final = (metrics, points, spans)
