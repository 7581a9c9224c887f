"""``et trace``: the timeline of a run, as a file for a viewer or summed up in the terminal."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import reported
from expr_tracker.cli.output import output_of
from expr_tracker.cli.parameters import (
    Ranks,
    RunPath,
    StepRange,
    TimeRange,
    check_choice_within,
    given_options,
    metric_choice,
    stream_choice,
)
from expr_tracker.cli.terminal import say, say_json, shown
from expr_tracker.notices import counted

if TYPE_CHECKING:
    from expr_tracker.trace import StreamTime

__all__ = ["command"]

#: A path that is wider than this is shown by its end, which tells more than its beginning.
_PATH_CHARACTERS_MAX: Final = 60
_UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


@click.command()
@click.argument("run", type=RunPath(), shell_complete=candidates.runs)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), default="trace.json", show_default=True,
    help="The file to write, '-' for standard output.",
)  # fmt: skip
@click.option(
    "--stream", metavar="A,B", help="Only these streams; 'default' is the unnamed one.",
    shell_complete=candidates.stream_list,
)  # fmt: skip
@click.option(
    "--rank", type=Ranks(), help="Only these ranks, by comma.",
    shell_complete=candidates.rank_list,
)  # fmt: skip
@click.option("--step-range", type=StepRange(), help="Spans of steps a to b, b left out.")
@click.option("--time-range", type=TimeRange(), help="Spans that overlap these Unix seconds.")
@click.option(
    "--metrics", metavar="A,B", help="Metrics to draw as counters.",
    shell_complete=candidates.metric_list,
)  # fmt: skip
@click.option(
    "--temp-dir", type=click.Path(path_type=Path),
    help="Where the temporary database goes.",
)  # fmt: skip
@click.option("--summary", is_flag=True, help="Print the time by span path instead.")
@click.option("--group", is_flag=True, help="With --summary: worker-1, worker-2, ... as one.")
@click.option(
    "--format", "shape", type=click.Choice(["table", "json"]), default="table",
    show_default=True, help="With --summary: how to print it.",
)  # fmt: skip
@reported()
def command(**options: Any) -> None:
    """Write RUN's spans as Chrome Trace JSON, one process per stream and rank.

    Open the file in https://ui.perfetto.dev or chrome://tracing.

    \b
    et trace runs/llm/sft-1 -o sft-1.json --metrics loss
    et trace runs/llm/sft-1 --step-range 100:200
    et trace runs/llm/sft-1 --summary --group
    """  # noqa: D301 - click reads the control character
    check_choice_within(options["run"])
    _check_together(given=given_options())
    if options["summary"]:
        _print_summary(options)
    else:
        _write(options)


def _check_together(given: set[str]) -> None:
    """Refuse options that would do nothing beside the others.

    Raises:
        UsageError: there is one.
    """
    if "--summary" in given:
        for option in ("--output", "--metrics", "--temp-dir"):
            if option in given:
                raise click.UsageError(
                    f"{option} is for the timeline, and --summary prints a table instead: leave one "
                    "of them out."
                )
    else:
        for option in ("--group", "--format"):
            if option in given:
                raise click.UsageError(f"{option} is for --summary, which is not given.")


def _filters(options: dict[str, Any]) -> dict[str, Any]:
    return {
        "stream": _streams(options["stream"]),
        "rank": options["rank"],
        "step_range": options["step_range"],
        "time_range": options["time_range"],
    }


def _write(options: dict[str, Any]) -> None:
    from expr_tracker.trace import write_trace

    metrics = options["metrics"]
    with output_of(options["output"]) as output:
        count = write_trace(
            options["run"],
            output.path,
            **_filters(options),
            temp_dir=options["temp_dir"],
            metrics=metric_choice(metrics) or None,
        )
    where = "standard output" if output.is_standard else output.path
    say(f"{counted(count, 'span')} written to {where}.", err=output.is_standard)
    say("Open it in https://ui.perfetto.dev or chrome://tracing.", err=output.is_standard)


def _print_summary(options: dict[str, Any]) -> None:
    from expr_tracker.trace import summarize

    streams = summarize(options["run"], **_filters(options), group=options["group"])
    if options["shape"] == "json":
        document = [dataclasses.asdict(stream) for stream in streams]
        say_json(json.dumps(document, indent=2).encode())
        return
    for number, stream in enumerate(streams):
        if number:
            say()
        for line in _block(stream):
            say(line)


def _block(stream: StreamTime) -> list[str]:
    members = f" ({len(stream.members)} streams)" if len(stream.members) > 1 else ""
    if not stream.paths:
        return [f"{stream.label}{members}  no spans"]
    names = [_path_cell(time.path) for time in stream.paths]
    width = max(map(len, names))
    lines = [f"{stream.label}{members}  {_duration(stream.seconds)} in root spans"]
    lines += [
        f"  {name:<{width}}  {_duration(time.seconds):>10} {time.share:>6.1%}  {time.count:>7}x"
        f"  mean {_duration(time.mean_ms / 1000)}  max {_duration(time.max_ms / 1000)}"
        for name, time in zip(names, stream.paths, strict=True)
    ]
    return lines


def _duration(seconds: float) -> str:
    """Return a duration in the unit that leaves it digits before the point."""
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.2f}{unit}"
    return "0s"


def _path_cell(path: str) -> str:
    text = shown(path)
    if len(text) <= _PATH_CHARACTERS_MAX:
        return text
    return "..." + text[3 - _PATH_CHARACTERS_MAX :]


def _streams(text: str | None) -> str | list[str | None]:
    choice = "*" if text is None else stream_choice(text)
    # A list, also of one: each stream with all its ranks.
    return choice if choice == "*" or isinstance(choice, list) else [choice]
