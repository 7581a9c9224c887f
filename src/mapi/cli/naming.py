"""What a word of the command line names: an experiment or a view by id or by name, a series by its text."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from mapi.cli.asking import PointedError, pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mapi import Client

__all__ = ["counted", "experiment_id", "series_of", "view_id"]


def experiment_id(api: Client, word: str) -> str:
    """Return the id of an experiment that is named by it, or by its exact name."""
    return _id_of(word, "exp_", api.experiments.list, what="experiment")


def view_id(api: Client, word: str) -> str:
    """Return the id of a saved view that is named by it, or by its exact name."""
    return _id_of(word, "view_", api.views.list, what="saved view")


def _id_of(word: str, prefix: str, listed: Callable[[], Iterable[Any]], *, what: str) -> str:
    if _is_id(word, prefix):
        return word
    names = {one.name: str(one.id) for one in listed()}
    if word in names:
        return names[word]
    near = difflib.get_close_matches(word, names, n=1)
    advice = f"; did you mean {near[0]!r}?" if near else "."
    raise click.ClickException(f"There is no {what} {word!r}{advice}")


def _is_id(word: str, prefix: str) -> bool:
    """Say whether a word is an id: ``exp_7`` is a name."""
    try:
        UUID(word.removeprefix(prefix))
    except ValueError:
        return False
    return word.startswith(prefix)


def series_of(word: str, labels: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return key and labels of a series: ``loss``, or ``loss{split=val}`` as lists print it.

    Raises:
        PointedError: the text is no series, or has labels beside ``--label``.
    """
    found = pairs_of(labels, what="a label")
    if "{" not in word:
        return word, found
    if found:
        raise PointedError(f"{word!r}: labels stand in the series or in --label, not in both.")
    from mapi.errors import InvalidError
    from mapi.search import parse_columns
    from mapi.search.nodes import Metric
    from mapi.series.name_map import series_from_name

    try:
        columns = parse_columns(f"metrics.{word}", series_from_name=series_from_name)
    except InvalidError as error:
        raise PointedError(f"{word!r}: {error.faults[0].message}") from None
    if len(columns) != 1 or not isinstance(columns[0], Metric) or columns[0].stat != "last":
        raise PointedError(
            f"{word!r} is no series: write a key with its labels, loss{{split=val}}."
        )
    return columns[0].key, dict(columns[0].labels)


def counted(count: int, what: str) -> str:
    """Return a number with what it counts: ``1 point``, ``2 points``."""
    return f"{count} {what[:-1] if count == 1 else what}"
