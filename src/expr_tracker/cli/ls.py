"""``et ls``: the runs below a folder, how they are doing, what they reached and were set to."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import reported
from expr_tracker.cli.parameters import RUN_COLUMNS, RunPath
from expr_tracker.cli.table import cell_text, echo_table, json_bytes, local_time
from expr_tracker.cli.terminal import say, say_json
from expr_tracker.errors import TrackerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from expr_tracker.history import RunOverview

__all__ = ["command"]

#: Runs that are looked through for what was probably meant.
_RUNS_SEARCHED: Final = 50
_STATUSES: Final = ("running", "lost", "failed", "cancelled", "succeeded", "unreadable")

_ColumnKind = Literal["own", "metric", "config"]


@dataclasses.dataclass(frozen=True)
class _Column:
    """One column, and where its values are."""

    title: str
    kind: _ColumnKind
    name: str


@dataclasses.dataclass(frozen=True)
class _Listed:
    """A run in the list."""

    overview: RunOverview
    config: dict[str, Any]
    """The settings that were asked for."""

    def value(self, column: _Column) -> Any:
        if column.kind == "config":
            return self.config[column.name]
        if column.kind == "metric":
            return self.overview.values[column.name]
        value = getattr(self.overview, column.name)
        return ",".join(value) if column.name == "streams" else value

    def document(self) -> dict[str, Any]:
        """Return what JSON has of it."""
        row = {**dataclasses.asdict(self.overview), "path": str(self.overview.path)}
        row["streams"] = list(self.overview.streams)
        values = row.pop("values")
        if values:
            row["metric"] = values
        if self.config:
            row["config"] = self.config
        return row


@click.command()
@click.argument("directory", type=RunPath(), required=False, shell_complete=candidates.paths)
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME",
    help="Show the newest value of this metric; repeatable.",
    shell_complete=candidates.metric_below,
)  # fmt: skip
@click.option(
    "--config", "settings", multiple=True, metavar="KEY",
    help="Show this setting of the configuration, a/b for b within a; repeatable.",
    shell_complete=candidates.setting_below,
)  # fmt: skip
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(_STATUSES), metavar="STATUS",
    help="Only runs that are this; repeatable: running, lost, failed, cancelled, succeeded or "
    "unreadable.",
)  # fmt: skip
@click.option(
    "--sort", "order", metavar="NAME",
    help="Sort by a column of the table, or by the metric of that name, lowest first.",
    shell_complete=candidates.column_below,
)  # fmt: skip
@click.option("--reverse", "is_reversed", is_flag=True, help="With --sort: highest first.")
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table",
    show_default=True, help="How to print.",
)  # fmt: skip
@reported()
def command(  # noqa: PLR0913 - one argument an option
    *,
    directory: Path | None,
    metrics: tuple[str, ...],
    settings: tuple[str, ...],
    statuses: tuple[str, ...],
    order: str | None,
    is_reversed: bool,
    form: str,
) -> None:
    """List the runs below DIRECTORY, by default the root of all runs (ET_DIR, or runs).

    Runs without a value stand last, whichever way the list is sorted.

    \b
    et ls --sort started --reverse
    et ls runs/llm --metric loss --config lr --sort loss
    et ls --status running --status lost
    et ls --format json > runs.json
    """  # noqa: D301 - click reads the control character
    from expr_tracker.history import overviews
    from expr_tracker.history.status import Status
    from expr_tracker.options import root_from_environment

    assert (*get_args(Status), "unreadable") == _STATUSES
    if is_reversed and order is None:
        raise click.UsageError("--reverse is for --sort, which is not given.")
    root = Path(directory or root_from_environment() or "runs")
    columns, by = _columns(metrics, settings, order)
    found = list(overviews(root, [column.name for column in columns if column.kind == "metric"]))
    keys = [column.name for column in columns if column.kind == "config"]
    listed = [
        _Listed(overview, _settings(overview, keys))
        for overview in found
        if not statuses or overview.status in statuses
    ]
    if by is not None:
        listed = _sorted(listed, by, is_reversed=is_reversed)
    if form == "json":
        say_json(json_bytes([run.document() for run in listed]))
    elif listed:
        _print_table(listed, columns, sought=order if order not in metrics else None)
    else:
        what = f" that are {' or '.join(dict.fromkeys(statuses))}" if found else ""
        say(f"No runs{what} below {root}.")


def _print_table(listed: list[_Listed], columns: list[_Column], sought: str | None) -> None:
    """Print the runs, and on standard error what was asked for in vain.

    Args:
        listed: the runs.
        columns: what is shown of them.
        sought: the column that only the order of the list asks for.
    """
    added = [column for column in columns if column.kind != "own"]
    echo_table(
        [column.title for column in columns],
        [[_cell(column, run.value(column)) for column in columns] for run in listed],
        wanted=["name", *(column.title for column in added), "status"],
    )
    for column in added:
        if all(run.value(column) is None for run in listed):
            is_sought = column.kind == "metric" and column.name == sought
            near = _nearest(column, listed, more=RUN_COLUMNS if is_sought else ())
            option = "sort" if is_sought else column.kind
            say(f"--{option} {column.name}: no run here has a value of it.{near}", err=True)
    for run in listed:
        if run.overview.problem is not None:
            say(f"{run.overview.path} is unreadable: {run.overview.problem}", err=True)


def _columns(
    metrics: Iterable[str], settings: Iterable[str], order: str | None
) -> tuple[list[_Column], _Column | None]:
    """Return the columns, and the one to sort by.

    Each has a title of its own, whatever metrics and settings are called.
    """
    columns = [_Column(name, "own", name) for name in RUN_COLUMNS]
    asked: list[tuple[_ColumnKind, str]] = [("metric", name) for name in dict.fromkeys(metrics)]
    asked += [("config", name) for name in dict.fromkeys(settings)]
    for kind, name in asked:
        is_taken = any(column.title == name for column in columns)
        columns.append(_Column(f"{kind} {name}" if is_taken else name, kind, name))
    by = next((column for column in columns if column.title == order), None)
    if by is None and order is not None:  # no title: a metric, which is shown too
        by = _Column(order, "metric", order)
        columns.append(by)
    return columns, by


def _settings(overview: RunOverview, keys: Sequence[str]) -> dict[str, Any]:
    from expr_tracker.history import config_of
    from expr_tracker.history.configuration import setting_of

    if not keys:
        return {}
    config: dict[str, Any] = {}
    with contextlib.suppress(TrackerError):  # unreadable, or removed meanwhile
        config = config_of(overview.path)
    return {key: setting_of(config, key) for key in keys}


def _cell(column: _Column, value: Any) -> str:
    return local_time(value) if column.title == "started" else cell_text(value)


def _sorted(listed: list[_Listed], by: _Column, *, is_reversed: bool) -> list[_Listed]:
    """Return the runs by a column, equal ones by name; those without a value, or NaN, come last."""
    known = [run for run in listed if not _is_missing(run.value(by))]
    missing = [run for run in listed if _is_missing(run.value(by))]
    return [*sorted(known, key=lambda run: _rank(run.value(by)), reverse=is_reversed), *missing]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _rank(value: Any) -> tuple[int, float, str]:
    """Return what values of any kind are compared by: numbers first, then texts, then the rest."""
    if isinstance(value, (int, float)):
        return 0, value, ""
    return (1, 0, value) if isinstance(value, str) else (2, 0, cell_text(value))


def _nearest(column: _Column, listed: list[_Listed], more: Iterable[str]) -> str:
    """Return what was probably meant by a name that no run has a value of."""
    known = {*more}
    for run in listed[:_RUNS_SEARCHED]:
        with contextlib.suppress(OSError, TrackerError):
            known.update(_names_in(run.overview.path, column.kind))
    near = difflib.get_close_matches(column.name, sorted(known), n=3)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def _names_in(run: Path, kind: _ColumnKind) -> Iterator[str]:
    from expr_tracker.history import config_of
    from expr_tracker.history.configuration import settings_in
    from expr_tracker.history.glimpse import keys_seen, metrics_seen

    if kind == "config":
        yield from settings_in(config_of(run))
    else:
        yield from (name for key in keys_seen(run) for name in metrics_seen(run, key))
