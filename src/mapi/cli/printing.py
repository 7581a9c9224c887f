"""How commands print lists and answers: as a table, JSON or CSV, or as the server's own body."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "body_option",
    "cell",
    "format_option",
    "labels_text",
    "local",
    "plain",
    "print_body",
    "print_ids",
    "print_rows",
    "say_there_are_more",
]

_FORMATS: Final = ("table", "json", "csv")
#: On a terminal one text must not push everything else off the line. Ids, which are copied, are whole.
_TEXT_CHARACTERS_MAX: Final = 40
_ID: Final = re.compile(r"[a-z]{2,5}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def format_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--format`` for a list."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(_FORMATS),
        default="table",
        show_default=True,
        help="How the list is printed.",
    )(function)


def body_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``-o json``: the body of the server's answer."""
    return click.option(
        "-o",
        "--output",
        "output",
        type=click.Choice(["json"]),
        help="Print the server's answer as it is.",
    )(function)


def print_body(found: Any) -> None:
    """Print an answer as the JSON that the server sent."""
    import msgspec

    from expr_tracker.cli.terminal import say_json

    say_json(msgspec.json.format(msgspec.json.encode(found), indent=2))


def print_ids(ids: Iterable[str]) -> None:
    """Print ids one a line, for the words of another command."""
    for one in ids:
        click.echo(one)


def print_rows(
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    form: str,
    wanted: Sequence[str] = (),
) -> None:
    """Print a list.

    Args:
        names: of the columns.
        rows: their values.
        form: ``table``, ``json`` (an array of objects) or ``csv``.
        wanted: columns to which others give way on a narrow terminal.

    In a table on a terminal long texts are cut, and ids are not; what goes into a pipe is whole.
    """
    from expr_tracker.cli.table import echo_table
    from expr_tracker.cli.terminal import is_terminal, print_bytes

    if form == "table":
        is_cut = is_terminal()
        cells = [[_cell(value, is_cut=is_cut) for value in row] for row in rows]
        echo_table(names, cells, wanted=wanted)
    elif form == "json":
        print_body([dict(zip(names, row, strict=True)) for row in rows])
    else:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([plain(value) for value in row] for row in rows)
        print_bytes(text.getvalue().encode("utf-8", "backslashreplace"), newline=False)


def _cell(value: Any, *, is_cut: bool) -> str:
    text = cell(value)
    if is_cut and len(text) > _TEXT_CHARACTERS_MAX and _ID.fullmatch(text) is None:
        return f"{text[: _TEXT_CHARACTERS_MAX - 1]}…"
    return text


def cell(value: Any) -> str:
    """Return a value as tables have it: floats to six digits, times as the reader's own, all printable."""
    import msgspec

    from expr_tracker.cli.terminal import shown

    value = local(value)
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return shown(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels as a series has them between its braces; none are an empty cell."""
    from mapi.series.names import canonical_labels, series_text

    return series_text("", canonical_labels(labels)).removeprefix("{").removesuffix("}")


def say_there_are_more(count: int) -> None:
    """Say on standard error that a list has ended before its end."""
    from expr_tracker.cli.terminal import say

    these = "this one" if count == 1 else f"these {count}"
    say(f"(there are more than {these}: --limit N or --all)", err=True)


def local(value: Any) -> Any:
    """Return a time as the reader's own, without fractions; other values as they are."""
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return str(value) if isinstance(value, str) else value


def plain(value: Any) -> Any:
    """Return a value as one cell of a file."""
    import msgspec

    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return "" if value is None else str(value) if isinstance(value, str) else value
