"""The commands of `mapi runs` that make runs and write into them."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli import candidates
from mapi.cli.asking import PointedError, asks, items_option, pairs_of, pointing
from mapi.cli.naming import counted, series_of
from mapi.cli.printing import body_option, print_body
from mapi.cli.transfers import transfer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapi import Client

__all__ = ["COMMANDS", "run_argument"]

run_argument = click.argument("run", shell_complete=candidates.runs)
label_option = items_option(
    "--label",
    "labels",
    shell_complete=candidates.labels,
    what="What tells apart what has the same key.",
)
step_option = click.option("--step", type=int, help="0 or more.")


@click.command("create")
@click.option("--name", help="What people call it.")
@click.option("--note", help="Markdown.")
@items_option("--param", "params", what="What it was run with; several times.")
@items_option("--tag", "tags", what="A text by a key; several times.")
@click.option("--experiment", shell_complete=candidates.experiments, help="Its id or exact name.")
@click.option("--external-id", help="What you call it: the same again gives the run that has it.")
@click.option("--parent", shell_complete=candidates.runs, help="The run above it.")
@click.option(
    "--spec",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="A file of JSON that says what a runner is to execute; - is the standard input.",
)
@body_option
@asks
def create(  # noqa: PLR0913 - its options
    api: Client,
    *,
    name: str | None,
    note: str | None,
    params: tuple[str, ...],
    tags: tuple[str, ...],
    experiment: str | None,
    external_id: str | None,
    parent: str | None,
    spec: str | None,
    output: str | None,
) -> None:
    """Make a run, and print its id.

    With --spec it waits for a runner. Without, it counts as running until `mapi runs edit RUN --status succeeded`, and as lost when nobody says
    anything of it for a minute; whoever writes to it later is welcome all the same.

    \b
    RUN=$(mapi runs create --name first --param lr=0.1 --tag team=ads)
    """  # noqa: D301 - click reads the control character
    run = api.runs.create(
        name=name,
        note=note,
        params=pairs_of(params, what="a param"),
        tags=pairs_of(tags, what="a tag"),
        experiment=experiment,
        external_id=external_id,
        parent=parent,
        spec=None if spec is None else _spec_of(spec),
    )
    if output is not None:
        print_body(run.facts)
    else:
        click.echo(run.id)


def _spec_of(file: str) -> dict[str, Any]:
    from mapi.wire.decoding import BODY_BYTES_MAX

    with click.open_file(file, "rb") as opened:
        found = _json(opened.read(2 * BODY_BYTES_MAX).decode(errors="replace"))
    if not isinstance(found, dict):
        raise PointedError(
            f"{file}: expected a JSON object with a kind of Fit, Score or Workflow."
        )
    return found


@click.command("log-metric")
@run_argument
@click.argument("values", nargs=-1, required=True, metavar="KEY=VALUE...")
@step_option
@label_option
@body_option
@asks
def log_metric(
    api: Client,
    *,
    run: str,
    values: tuple[str, ...],
    step: int | None,
    labels: tuple[str, ...],
    output: str | None,
) -> None:
    """Log values of metrics.

    Without --step they are scalars, of which the newest value stays.

    \b
    mapi runs log-metric RUN loss=0.5 acc=0.9 --step 10 --label split=val
    mapi runs log-metric RUN "loss{split=val}=0.5" --step 10
    """  # noqa: D301 - click reads the control character
    from mapi.sdk.points import added_counts
    from mapi.wire.metrics import BatchAnswer

    said = BatchAnswer()
    for own, metrics in _by_labels(values, labels):
        said = added_counts(said, api.runs.log_metrics(run, metrics, step=step, labels=own))
    _say_counts(said, output, "points")


def _by_labels(
    values: tuple[str, ...], labels: tuple[str, ...]
) -> list[tuple[dict[str, str], dict[str, float]]]:
    """Return the values, checked, gathered by the labels of their series."""
    found: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    for word in values:
        text, sign, value = word.partition("=")
        if "{" in text:  # the labels have signs of their own
            inside, brace, rest = word.rpartition("}")
            text, sign, value = inside + brace, rest[:1], rest[1:]
        if sign != "=":
            raise PointedError(f"{word!r}: expected a metric as KEY=VALUE.")
        key, own = series_of(text, labels)
        metrics = found.setdefault(tuple(sorted(own.items())), {})
        if key in metrics:
            raise PointedError(f"{word!r}: {text!r} is given twice; a step has one value of each.")
        metrics[key] = _number(text, value)
    return [(dict(one), metrics) for one, metrics in found.items()]


def _number(key: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise PointedError(f"{key}={text}: {text!r} is no number.") from None
    if math.isinf(number) and "inf" not in text.lower():
        raise PointedError(f"{key}={text}: {text!r} is too large for a 64-bit number.")
    return number


def _say_counts(said: Any, output: str | None, what: str) -> None:
    if output is not None:
        print_body(said)
        return
    parts = [f"{counted(said.accepted, what)} kept"]
    parts += [
        f"{count} {words}"
        for count, words in (
            (said.duplicates - said.conflicts, "there already"),
            (said.conflicts, "there already with another value, which stays"),
            (said.rejected, "over a budget"),
        )
        if count
    ]
    click.echo(", ".join(parts))


@click.command("log-param")
@run_argument
@click.argument("values", nargs=-1, required=True, metavar="KEY=VALUE...")
@body_option
@asks
def log_param(api: Client, *, run: str, values: tuple[str, ...], output: str | None) -> None:
    """Write params, once: all or none.

    The same value again is no change.

    \b
    mapi runs log-param RUN lr=0.1 optimizer=adam
    """  # noqa: D301 - click reads the control character
    _say_counts(api.runs.log_params(run, pairs_of(values, what="a param")), output, "params")


@click.command("tag")
@run_argument
@click.argument("values", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--delete",
    "deleted",
    multiple=True,
    metavar="KEY",
    shell_complete=candidates.tags,
    help="Take a tag away.",
)
@asks
def tag(api: Client, *, run: str, values: tuple[str, ...], deleted: tuple[str, ...]) -> None:
    """Write tags, or take them away.

    The last value of a tag stays.

    \b
    mapi runs tag RUN team=ads stage=final
    mapi runs tag RUN --delete stage
    """  # noqa: D301 - click reads the control character
    if not values and not deleted:
        raise click.UsageError("name a tag as KEY=VALUE, or --delete KEY")
    if values:
        _say_counts(api.runs.set_tags(run, pairs_of(values, what="a tag")), None, "tags")
    for key in deleted:
        api.runs.delete_tag(run, key)
        click.echo(f"{key} is gone")


@click.command("log-line")
@run_argument
@click.argument("message")
@click.option(
    "--level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="How much it matters.",
)
@items_option("--field", "fields", what="What goes with it; a value that is JSON is read as such.")
@asks
def log_line(api: Client, *, run: str, message: str, level: str, fields: tuple[str, ...]) -> None:
    """Append a line to the log.

    With - as MESSAGE each line of standard input is one.

    \b
    mapi runs log-line RUN "epoch done" --field epoch=3
    make train 2>&1 | mapi runs log-line RUN -
    """  # noqa: D301 - click reads the control character
    found = {key: _json(text) for key, text in pairs_of(fields, what="a field").items()}
    about = {"level": level, **({"fields": found} if found else {})}
    if message != "-":
        api.runs.log_lines(run, [{"message": message, **about}])
        return
    while texts := [line.rstrip("\n") for line in sys.stdin.readlines(_PIECE_BYTES)]:
        api.runs.log_lines(run, [{"message": text, **about} for text in texts])


#: Of standard input: what one request carries.
_PIECE_BYTES: Final = 1 << 19


def _json(text: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return text


def _media_options(function: Callable[..., Any]) -> Callable[..., Any]:
    caption = click.option("--caption", default="", help="Plain text below it.")
    return step_option(label_option(caption(body_option(function))))


@click.command("log-image")
@run_argument
@click.argument("key")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@_media_options
@asks
def log_image(  # noqa: PLR0913 - its options
    api: Client,
    *,
    run: str,
    key: str,
    file: str,
    step: int | None,
    labels: tuple[str, ...],
    caption: str,
    output: str | None,
) -> None:
    """Keep an image: a PNG or JPEG of at most 8 MiB.

    \b
    mapi runs log-image RUN confusion confusion.png --step 10 --label split=val
    """  # noqa: D301 - click reads the control character
    found = pairs_of(labels, what="a label")
    with (
        pointing({}, about=file),
        transfer("Sending", size_bytes=Path(file).stat().st_size) as progress,
    ):
        kept = api.runs.log_image(
            run, key, file, step=step, labels=found, caption=caption, progress=progress
        )
    _say_media(kept, output)


@click.command("log-table")
@run_argument
@click.argument("key")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@_media_options
@asks
def log_table(  # noqa: PLR0913 - its options
    api: Client,
    *,
    run: str,
    key: str,
    file: str,
    step: int | None,
    labels: tuple[str, ...],
    caption: str,
    output: str | None,
) -> None:
    """Keep a small table.

    FILE is CSV with a header, or JSON with "columns" and "data".

    At most 10 000 rows and 8 MiB. Cells of a CSV file that are numbers become numbers.

    \b
    mapi runs log-table RUN mistakes mistakes.csv
    """  # noqa: D301 - click reads the control character
    columns, rows = _table_of(file)
    found = pairs_of(labels, what="a label")
    size_bytes = 0 if file == "-" else Path(file).stat().st_size
    with pointing({}, about=file), transfer("Sending", size_bytes=size_bytes) as progress:
        kept = api.runs.log_table(
            run,
            key,
            rows,
            columns=columns,
            step=step,
            labels=found,
            caption=caption,
            progress=progress,
        )
    _say_media(kept, output)


def _table_of(file: str) -> tuple[list[str], list[list[Any]]]:
    import csv
    import io

    from mapi.wire.media import MEDIA_BYTES_MAX

    with click.open_file(file, "rb") as opened:
        content = opened.read(2 * MEDIA_BYTES_MAX)
    if content.lstrip()[:1] == b"{":
        document = _json(content.decode(errors="replace"))
        if not isinstance(document, dict) or set(document) != {"columns", "data"}:
            raise PointedError(f'{file}: expected JSON with "columns" and "data", or CSV.')
        columns, rows = document["columns"], document["data"]
        if not isinstance(columns, list) or not isinstance(rows, list):
            raise PointedError(f'{file}: "columns" is a list of names, "data" a list of rows.')
        for at, row in enumerate(rows, 1):
            if not isinstance(row, list) or len(row) != len(columns):
                told = counted(len(row), "cells") if isinstance(row, list) else "no list of cells"
                raise PointedError(
                    f"{file}, row {at} of data: {told}, for {counted(len(columns), 'columns')}."
                )
        return columns, rows
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
        # An empty line is none of a table. Where a line ends is what editors count.
        numbered = [(reader.line_num, line) for line in reader if line]
    except (csv.Error, UnicodeDecodeError) as error:
        raise PointedError(f"{file} is no CSV in UTF-8: {error}") from None
    if not numbered:
        raise PointedError(f"{file} is empty.")
    (_, header), *lines = numbered
    for number, line in lines:
        if len(line) != len(header):
            raise PointedError(
                f"{file}, line {number}: {counted(len(line), 'cells')}, and the header has "
                f"{counted(len(header), 'columns')} ({', '.join(header)[:200]})."
            )
    return header, [[_cell(text) for text in line] for _, line in lines]


def _cell(text: str) -> Any:
    from mapi.series.numbers import number_from_text

    if not text:
        return None
    number = number_from_text(text)
    if number is None:
        return text
    digits = text.removeprefix("-")
    return int(text) if digits.isdigit() and len(digits) <= 15 else number


def _say_media(kept: Any, output: str | None) -> None:
    if output is not None:
        print_body(kept)
    else:
        click.echo(
            f"{kept.id}  {kept.format} {kept.width} x {kept.height}, {kept.size_bytes} bytes"
        )


COMMANDS: Final = (
    create,
    log_metric,
    log_param,
    tag,
    log_line,
    log_image,
    log_table,
)
