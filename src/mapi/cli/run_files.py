"""The commands of `mapi runs` that make files of runs, and take them back."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli import candidates
from mapi.cli.asking import PointedError, asks, pointing
from mapi.cli.naming import counted
from mapi.cli.printing import body_option, print_body
from mapi.cli.transfers import transfer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mapi import Client

__all__ = ["COMMANDS"]

#: Where the server says that a line is wrong, and which member of it.
_LINE: Final = re.compile(r"/lines/([0-9]+)(?:/(.*))?", re.DOTALL)
_FORMS: Final = ("jsonl", "csv", "parquet")


@click.command("export")
@click.argument("run", required=False, shell_complete=candidates.runs)
@click.option(
    "-f",
    "--filter",
    "filters",
    multiple=True,
    metavar="TEXT",
    help="In place of RUN: all runs that it matches.",
)
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="In place of RUN: the project, with every experiment and view.",
)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    type=click.Path(dir_okay=False, allow_dash=True),
    help="The file; - is standard output.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMS),
    help="By default what the file's name says, else jsonl.",
)
@asks
def export(
    api: Client,
    *,
    run: str | None,
    filters: tuple[str, ...],
    is_all: bool,
    target: str,
    form: str | None,
) -> None:
    """Write a run, or many, into a file.

    jsonl holds everything but the bytes of media, and an import takes it back; csv and parquet hold the points. The file
    appears when it is whole; one that is there is replaced.

    \b
    mapi runs export RUN -o run.jsonl
    mapi runs export --all -o project.jsonl
    mapi runs export --filter "tags.team = ads" -o ads.parquet
    """  # noqa: D301 - click reads the control character
    import sys
    from pathlib import Path

    from expr_tracker.cli.terminal import say

    if [run is not None, bool(filters), is_all].count(True) != 1:
        raise click.UsageError(
            "name one of these, and no two: a RUN, --filter, or --all for the whole project"
        )
    ending = target.rpartition(".")[2]
    folder = Path(target).parent
    if target != "-" and not folder.is_dir():
        raise PointedError(f"{folder} is no folder: make it, or name another file.")
    form = form or (ending if ending in _FORMS else "jsonl")
    to: Any = sys.stdout.buffer if target == "-" else target
    if target == "-" and sys.stdout.isatty():
        raise PointedError("-o -: standard output is a terminal; send it on (> FILE, | PROGRAM).")
    with pointing({"filter": filters}), transfer("Exporting") as progress:
        size = api.runs.export(
            to,
            run=run,
            filter=list(filters) or None,
            format=form,
            progress=progress,
        )
    if target != "-":
        # Of what is no file the lines may be what somebody reads.
        is_file = Path(target).is_file() and not target.startswith(("/dev/", "/proc/"))
        say(f"{target}: {size} bytes of {form}", err=not is_file)


#: What lines of a file are called.
_KINDS: Final = {
    "experiment": "experiments",
    "view": "saved views",
    "points": "points",
    "pruned": "pruned curves",
    "param": "params",
    "tag": "tags",
    "log": "log lines",
    "span": "spans",
    "document": "documents",
}


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@body_option
@asks
def import_file(api: Client, *, file: str, output: str | None) -> None:
    """Take back a jsonl export; again changes nothing.

    Ids, times, steps and attempts are those of the file.

    The file may be packed by gzip or zstd. It is checked whole before anything of it is written.

    \b
    mapi runs import run.jsonl
    """  # noqa: D301 - click reads the control character
    with _telling_lines(file), transfer("Importing") as progress:
        found = api.runs.import_file(file, progress=progress)
    if output is not None:
        print_body(found)
        return
    counts = [counted(count, _KINDS[kind]) for kind, count in found.rows.items() if kind in _KINDS]
    held = ", ".join([counted(len(found.runs), "runs"), *counts])
    click.echo(f"All of the file is here: {held}. What was here before is as it was.")
    for text in found.warnings:
        click.echo(f"warning: {text}", err=True)


@contextlib.contextmanager
def _telling_lines(file: str) -> Iterator[None]:
    """Say in which line of the file something is wrong, as editors count them."""
    from mapi.errors import InvalidError, StateError

    try:
        yield
    except (InvalidError, StateError) as error:
        fault = error.faults[0] if error.faults else None
        found = None if fault is None else _LINE.fullmatch(fault.pointer)
        if fault is None or found is None:
            raise
        where = f", {found[2]}" if found[2] else ""
        raise PointedError(f"{file}, line {int(found[1]) + 1}{where}: {fault.message}") from None


COMMANDS: Final = (export, import_file)
