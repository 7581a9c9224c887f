"""``et trace``: the timeline of a run, as a file for a viewer or summed up in the terminal."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import Failure, reported
from expr_tracker.cli.parameters import Rank
from expr_tracker.cli.terminal import say, say_json, shown
from expr_tracker.errors import QueryError, RunNotFoundError, TrackerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.trace import StreamTime

__all__ = ["command"]

#: A path that is wider than this is shown by its end, which tells more than its beginning.
_PATH_CHARACTERS_MAX: Final = 60


class _NotWrittenError(Failure):
    """The question was right, the disk was not."""

    exit_code = 1


@click.command()
@click.argument("run", type=click.Path(path_type=Path), shell_complete=candidates.runs)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default=Path("trace.json"),
    show_default=True, help="The file to write.",
)  # fmt: skip
@click.option(
    "--stream", metavar="A,B", help="Only these streams; 'default' is the unnamed one.",
    shell_complete=candidates.stream_list,
)  # fmt: skip
@click.option("--rank", type=Rank(), help="Only this rank.", shell_complete=candidates.ranks)
@click.option("--step-range", metavar="A:B", help="Spans of these steps: from A, below B.")
@click.option("--time-range", metavar="A:B", help="Spans that overlap these Unix seconds.")
@click.option(
    "--metrics", metavar="A,B", help="Metrics to draw as counters.",
    shell_complete=candidates.metric_list,
)  # fmt: skip
@click.option(
    "--temp-dir", type=click.Path(file_okay=False, exists=True, path_type=Path),
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
    if options["summary"]:
        _print_summary(options)
    else:
        _write(options)


def _filters(options: dict[str, Any]) -> dict[str, Any]:
    return {
        "stream": _streams(options["stream"]),
        "rank": options["rank"],
        "step_range": _range("--step-range", options["step_range"], int),
        "time_range": _range("--time-range", options["time_range"], float),
    }


def _write(options: dict[str, Any]) -> None:
    from expr_tracker.trace import write_trace

    output, metrics = options["output"], options["metrics"]
    try:
        count = write_trace(
            options["run"],
            output,
            **_filters(options),
            temp_dir=options["temp_dir"],
            metrics=_names(metrics) if metrics else None,
        )
    except (TrackerError, FileNotFoundError):
        raise
    except OSError as error:
        raise _NotWrittenError(f"The trace could not be written: {error}") from error
    say(f"{count} spans written to {output}.")
    say("Open it in https://ui.perfetto.dev or chrome://tracing.")


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
    lines = [f"{stream.label}{members}  {stream.seconds:.2f}s in root spans"]
    lines += [
        f"  {name:<{width}}  {time.seconds:>9.2f}s {time.share:>6.1%}  {time.count:>7}x"
        f"  mean {time.mean_ms:.3f}ms  max {time.max_ms:.3f}ms"
        for name, time in zip(names, stream.paths, strict=True)
    ]
    return lines


def _path_cell(path: str) -> str:
    text = shown(path)
    if len(text) <= _PATH_CHARACTERS_MAX:
        return text
    return "..." + text[3 - _PATH_CHARACTERS_MAX :]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _streams(text: str | None) -> str | list[str | None]:
    if text is None or text.strip() == "*":
        return "*"
    names = _names(text)
    if not names:
        raise RunNotFoundError(f"--stream {text!r} names no stream; leave it out for all.")
    return [None if name == "default" else name for name in names]


def _range(option: str, text: str | None, number: Callable[[str], Any]) -> tuple[Any, Any] | None:
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        number(":" if text.count(":") != 1 else "0")
        first = number(low) if low.strip() else None
        end = number(high) if high.strip() else None
    except ValueError:
        kind = "whole numbers" if number is int else "Unix seconds"
        raise QueryError(
            f"{option} {text!r}: expected A:B, {kind}, either of them left out for open."
        ) from None
    if first is not None and end is not None and first >= end:
        raise QueryError(
            f"{option} {text!r}: nothing is in it; the first has to be below the second, which is "
            "left out."
        )
    return first, end
