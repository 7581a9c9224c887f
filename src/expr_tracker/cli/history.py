"""``et history``: the rows of a run, as a table or for another program."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import Failure, reported
from expr_tracker.cli.parameters import (
    Attempt,
    Count,
    Ranks,
    RunPath,
    StepRange,
    check_choice_within,
    given_options,
    metric_choice,
    stream_choice,
)
from expr_tracker.cli.table import cell_text, echo_table, json_bytes, local_time
from expr_tracker.cli.terminal import is_terminal, print_bytes, say, say_json, shown

__all__ = ["command"]

#: The options that choose rows and columns.
_OF_ROWS: Final = ("-n", "--metrics", "--metric", "--step-range", "--dropna", "--attempt")
#: How the names of metrics begin that spans and the plugins of this package make.
_OF_SPANS: Final = (
    "time_ms/",
    "count/",
    "cpu_time_ms/",
    "cpu_percent/",
    "gpu_percent/",
    "gpu_mem_",
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


@click.command()
@click.argument("run", type=RunPath(), shell_complete=candidates.runs)
@click.option(
    "-n", "count", type=Count(), default=20, show_default=True, help="Steps; -1 for all."
)
@click.option(
    "--metrics", "listed", metavar="A,B", help="Metrics to show, by comma; globs too.",
    shell_complete=candidates.metric_list,
)  # fmt: skip
@click.option(
    "--metric", "named", multiple=True, metavar="NAME", help="One metric; repeatable.",
    shell_complete=candidates.metric,
)  # fmt: skip
@click.option("--step-range", type=StepRange(), help="Steps a to b, b left out.")
@click.option(
    "--stream", metavar="A,B", help="Streams, by comma; 'default', or '*' for all.",
    shell_complete=candidates.stream_list,
)  # fmt: skip
@click.option(
    "--rank", type=Ranks(), help="Ranks, by comma; '*' for all; by default the lowest.",
    shell_complete=candidates.rank_list,
)  # fmt: skip
@click.option("--dropna", is_flag=True, help="Leave out rows that have none of the metrics.")
@click.option(
    "--attempt", type=Attempt(), help="One attempt alone, or all beside each other.",
    shell_complete=candidates.attempts,
)  # fmt: skip
@click.option("--attempts", is_flag=True, help="List the attempts instead of rows.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv", "jsonl"]),
    default="table",
    show_default=True,
    help="How to print.",
)
@reported()
def command(  # noqa: PLR0913 - one argument an option
    *,
    run: Path,
    count: int,
    listed: str | None,
    named: tuple[str, ...],
    step_range: tuple[int | None, int | None] | None,
    stream: str | None,
    rank: int | list[int] | Literal["*"] | None,
    dropna: bool,
    attempt: int | Literal["all"] | None,
    attempts: bool,
    form: str,
) -> None:
    """Show the rows of a run, the newest steps last.

    RUN is a run's directory or a metrics file; it may still be written.

    \b
    et history runs/llm/sft-1 --metrics 'loss,eval/*'
    et history runs/llm/sft-1 --step-range 100:200
    et history runs/llm/sft-1 --rank '*' -n 5
    et history runs/llm/sft-1 -n -1 --format csv > a.csv
    """  # noqa: D301 - click reads the control character
    check_choice_within(run)
    wanted = stream_choice(stream)
    if attempts:
        _check_beside_attempts(given_options())
        if isinstance(wanted, list):
            raise Failure(f"--stream {stream!r}: --attempts lists those of one stream.")
        if isinstance(rank, (list, str)):
            raise Failure("--rank: --attempts lists those of one rank; pass its number.")
        _print(_attempt_rows(run, wanted, rank), form)
        return
    from expr_tracker.history import read_history

    metrics = metric_choice(listed) + list(named)
    rows = read_history(
        run,
        count,
        stream=wanted,
        metrics=metrics or None,
        step_range=step_range,
        dropna=dropna,
        attempt=attempt,
        rank=rank,
    )
    absent = [name for name in metrics if not any(name in row for row in rows)]
    if absent:
        from expr_tracker.history import check_logged

        check_logged(run, absent, stream=wanted, rank=rank)
    _print(rows, form, wanted=metrics)


def _check_beside_attempts(given: set[str]) -> None:
    """Refuse options that choose rows, where none are printed.

    Raises:
        UsageError: there is one.
    """
    for option in _OF_ROWS:
        if option in given:
            raise click.UsageError(
                f"{option} is for rows, and --attempts lists the attempts instead: leave one of them "
                "out."
            )


def _attempt_rows(run: Path, stream: str | None, rank: int | None) -> list[dict[str, Any]]:
    from expr_tracker.history import list_attempts

    attempts = list_attempts(run, stream, rank)
    rows: list[dict[str, Any]] = [
        {
            "attempt": attempt.number,
            "from_step": attempt.from_step,
            "started": attempt.time,
            "pid": attempt.pid,
            "status": attempt.status,
            "ended": attempt.end_time,
        }
        for attempt in attempts
    ]
    if any(attempt.clock_back for attempt in attempts):
        for row, attempt in zip(rows, attempts, strict=True):
            row["clock_back"] = attempt.clock_back
    return rows


def _print(rows: list[dict[str, Any]], form: str, *, wanted: Sequence[str] = ()) -> None:
    if form == "json":
        say_json(json_bytes(rows))
    elif form == "jsonl":
        from expr_tracker.history import encode_line

        for row in rows:
            say_json(encode_line(row)[:-1])
    elif form == "csv":
        _print_csv(rows)
    elif not rows:
        say("No rows.")
    else:
        # Spans end before the row is logged; what was logged is what people look for.
        names = sorted(_names(rows), key=lambda name: name.startswith(_OF_SPANS))
        times = {"_time", "started", "ended"}
        echo_table(
            names,
            [
                [
                    local_time(row.get(name)) if name in times else cell_text(row.get(name))
                    for name in names
                ]
                for row in rows
            ],
            wanted=["_step", *wanted] if wanted else (),
            hint="--metrics chooses" if "_step" in names else "--format json has all",
        )


def _print_csv(rows: list[dict[str, Any]]) -> None:
    from expr_tracker.history import csv_cell

    names = _names(rows)
    text = io.StringIO(newline="")
    cell_shown: Callable[[str], str] = str
    writer = csv.writer(text)
    if is_terminal():
        cell_shown = shown
        writer = csv.writer(text, lineterminator="\n")
    if names:
        writer.writerow(map(cell_shown, names))
    writer.writerows([cell_shown(csv_cell(row.get(name))) for name in names] for row in rows)
    print_bytes(text.getvalue().encode("utf-8", "backslashreplace"), newline=False)


def _names(rows: list[dict[str, Any]]) -> list[str]:
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return list(names)
