"""The commands of `mapi runs` that list the media of a run, and fetch what one of them holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli import candidates
from mapi.cli.asking import PointedError, asks, items_option, pairs_of
from mapi.cli.naming import counted
from mapi.cli.printing import body_option, format_option, labels_text, print_body, print_rows
from mapi.cli.pruned import say_media_pruned
from mapi.cli.run_writing import run_argument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mapi import Client
    from mapi.wire.media import MediaFacts

__all__ = ["COMMANDS", "media_texts"]

_MEDIA: Final = ("id", "key", "labels", "step", "format", "width", "height", "bytes", "caption")


def media_texts(items: Iterable[MediaFacts]) -> list[str]:
    """Return a line for each key with its labels: how many items it has, and up to which step.

    Args:
        items: by key, labels and step, as a run lists them.
    """
    from mapi.series.names import canonical_labels, series_text

    found: dict[str, list[MediaFacts]] = {}
    for one in items:
        name = series_text(one.key, canonical_labels(one.labels))
        found.setdefault(name, []).append(one)
    texts = []
    for name, those in found.items():
        newest = max((one.step for one in those if one.step is not None), default=None)
        at = "" if newest is None else f", the newest at step {newest}"
        kinds = ", ".join(sorted({one.format for one in those}))
        texts.append(f"{name}: {counted(len(those), 'items')} ({kinds}{at})")
    return texts


@click.command("media")
@run_argument
@click.option(
    "--key",
    "keys",
    multiple=True,
    shell_complete=candidates.media_keys,
    help="Only items that are called so; several times.",
)
@items_option(
    "--label", "labels", shell_complete=candidates.labels, what="Only items that have it."
)
@click.option("--step", type=int, help="Only those of one step; -1 are those without.")
@format_option
@body_option
@asks
def media(  # noqa: PLR0913 - its options
    api: Client,
    *,
    run: str,
    keys: tuple[str, ...],
    labels: tuple[str, ...],
    step: int | None,
    form: str,
    output: str | None,
) -> None:
    """List the images and tables of a run.

    `mapi runs media-content` fetches one. Of a table, width and height are its columns and rows.

    \b
    mapi runs media RUN --key confusion --label split=val
    """  # noqa: D301 - click reads the control character
    found = list(
        api.runs.media(
            run, keys=list(keys) or None, labels=pairs_of(labels, what="a label"), step=step
        )
    )
    if output is not None:
        print_body({"media": found})
        return
    rows = (
        [
            one.id,
            one.key,
            labels_text(one.labels) if form == "table" else one.labels,
            one.step,
            one.format,
            one.width,
            one.height,
            one.size_bytes,
            one.caption,
        ]
        for one in found
    )
    print_rows(_MEDIA, rows, form=form, wanted=["id", "key", "step"])
    say_media_pruned(api.runs.get(run).pruned)


@click.command("media-content")
@run_argument
@click.argument("item", shell_complete=candidates.media)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    type=click.Path(dir_okay=False, allow_dash=True),
    help="The file; - is standard output.",
)
@asks
def media_content(api: Client, *, run: str, item: str, target: str) -> None:
    """Write an image or a table of a run into a file.

    ITEM is an id of `mapi runs media RUN`. An image is what was logged, byte for byte; a table is JSON with "columns"
    and "data". A file that is there is replaced.

    \b
    mapi runs media-content RUN ITEM -o confusion.png
    """  # noqa: D301 - click reads the control character
    folder = Path(target).parent
    if target != "-" and not folder.is_dir():
        raise PointedError(f"{folder} is no folder: make it, or name another file.")
    if target == "-" and sys.stdout.isatty():
        raise PointedError("-o -: standard output is a terminal; send it on (> FILE, | PROGRAM).")
    content = api.runs.media_content(run, item)
    if target == "-":
        sys.stdout.buffer.write(content)
        return
    from expr_tracker.cli.terminal import say
    from expr_tracker.store.output import output_place, writing_to

    with writing_to(output_place(target)) as partial:
        partial.write_bytes(content)
    is_file = Path(target).is_file() and not target.startswith(("/dev/", "/proc/"))
    say(f"{target}: {len(content)} bytes", err=not is_file)


COMMANDS: Final[tuple[Any, ...]] = (media, media_content)
