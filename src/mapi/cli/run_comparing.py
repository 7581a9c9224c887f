"""The commands of `mapi runs` that set runs side by side, or sum them up in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli import candidates
from mapi.cli.asking import asks, pointing
from mapi.cli.printing import body_option, format_option, print_body, print_rows
from mapi.cli.pruned import run_pruned, say_members_pruned

if TYPE_CHECKING:
    from mapi import Client

__all__ = ["COMMANDS"]


@click.command("compare")
@click.argument(
    "runs", nargs=-1, required=True, metavar="RUN RUN...", shell_complete=candidates.runs
)
@click.option(
    "--keys", metavar="KEY,...", shell_complete=candidates.keys, help="Only these metrics."
)
@click.option("--same", is_flag=True, help="Params that are equal in all of them, too.")
@format_option
@body_option
@asks
def compare(
    api: Client,
    *,
    runs: tuple[str, ...],
    keys: str | None,
    same: bool,
    form: str,
    output: str | None,
) -> None:
    """Set 2 to 10 runs side by side.

    It shows the params that differ, the tags, and the last value of each series.

    A param that a run lacks counts as different.

    \b
    mapi runs compare RUN RUN
    mapi runs compare RUN RUN RUN --keys loss,acc --format csv
    """  # noqa: D301 - click reads the control character
    from mapi.series.names import canonical_labels, series_text

    if not 2 <= len(set(runs)) <= 10:
        raise click.UsageError(f"name 2 to 10 different runs, not {len(set(runs))}")
    found = api.runs.compare(*runs, keys=None if keys is None else keys.split(","), curves=False)
    if output is not None:
        print_body(found)
        return
    rows: list[list[Any]] = [["name", *(run.name for run in found.runs)]]
    rows.append(["status", *(run.status for run in found.runs)])
    if any(found.pruned):
        rows.append(
            ["pruned", *(None if one is None else run_pruned(one) for one in found.pruned)]
        )
    rows += [[f"params.{one.key}", *one.texts] for one in found.params if same or one.is_different]
    rows += [[f"tags.{one.key}", *one.texts] for one in found.tags if same or one.is_different]
    rows += [
        [
            f"metrics.{series_text(one.key, canonical_labels(one.labels))}",
            *(None if summary is None else summary.last_value for summary in one.summaries),
        ]
        for one in found.series
    ]
    print_rows(["field", *(run.id for run in found.runs)], rows, form=form, wanted=["field"])


_GROUP: Final = ("step", "runs", "nonfinite", "mean", "std", "min", "max")


@click.command("groups")
@click.argument("y", metavar="SERIES", shell_complete=candidates.metrics)
@click.option(
    "--by",
    metavar="FIELDS",
    shell_complete=candidates.fields,
    help="Runs with the same values of these are a group; without it all are one.",
)
@click.option(
    "-f",
    "--filter",
    "filters",
    multiple=True,
    metavar="TEXT",
    help="Which runs; all of several hold.",
)
@click.option("--from", "start", type=click.IntRange(0), help="The first step.")
@click.option("--to", "last", type=click.IntRange(0), help="The last step.")
@format_option
@body_option
@asks
def groups(  # noqa: PLR0913 - its options
    api: Client,
    *,
    y: str,
    by: str | None,
    filters: tuple[str, ...],
    start: int | None,
    last: int | None,
    form: str,
    output: str | None,
) -> None:
    """Print mean and spread of a series in groups of runs.

    Each step has the number of runs, their mean, deviation, minimum and maximum.

    \b
    mapi runs groups "loss{split=val}" --by params.lr --filter "status = succeeded"
    """  # noqa: D301 - click reads the control character
    with pointing({"y": y, "by": by, "filter": filters}):
        found = api.runs.groups(
            y,
            by=by,
            filter=list(filters) or None,
            start=start,
            stop=None if last is None else last + 1,
        )
    if output is not None:
        print_body(found)
        return
    fields = list(found.groups[0].by) if found.groups else []
    rows = (
        [
            *group.by.values(),
            *(point.step, point.count, point.nonfinite_count),
            *(point.mean, point.std, point.min, point.max),
        ]
        for group in found.groups
        for point in group.points
    )
    print_rows([*fields, *_GROUP], rows, form=form, wanted=[*fields, "step", "mean"])
    say_members_pruned(sum(group.runs_pruned for group in found.groups))


COMMANDS: Final = (compare, groups)
