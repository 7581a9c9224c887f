"""What a half-typed word may become: runs, keys, labels, experiments, views of the server that is meant.

The shell asks while somebody waits with a finger on a key: one short question, and no answer where
the server does not give it at once.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    from mapi import Client
    from mapi.search import Column

    _Found = Iterable[tuple[str, str]]
    _Candidates = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

__all__ = [
    "experiments",
    "fields",
    "keys",
    "labels",
    "media",
    "media_keys",
    "metrics",
    "orders",
    "params",
    "projects",
    "ranks",
    "runs",
    "streams",
    "tags",
    "trashed",
    "views",
]

_SECONDS: Final = 2.0
_COUNT_MAX: Final = 100


def _completer(find: Callable[[Client, str], _Found], *, signed: bool = False) -> _Candidates:
    """Return what click asks.

    Args:
        find: asks the server; gets the half-typed word.
        signed: a minus may stand before what it finds.
    """

    def complete(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
        del param
        return _found(ctx, word, lambda api: find(api, word), signed=signed)

    return complete


def _run_completer(find: Callable[[Client, str], _Found]) -> _Candidates:
    """Return what click asks, of the run that the command line names: ``find`` gets that."""

    def complete(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
        del param
        return _found(ctx, word, lambda api: find(api, _run_of(ctx)))

    return complete


def _found(
    ctx: click.Context, word: str, ask: Callable[[Client], _Found], *, signed: bool = False
) -> list[CompletionItem]:
    from mapi.cli.asking import client

    try:
        with client(ctx.params.get("project"), timeout_seconds=_SECONDS) as api:
            return [
                CompletionItem(text, help=said, signed=signed)
                for text, said in ask(api)
                if text.startswith(word)
            ]
    except Exception:  # noqa: BLE001 - a prompt is no place for errors
        return []


def _run_of(ctx: click.Context) -> str:
    """Return the run of a command line whose last option waits for its value.

    Click stops at that option, and leaves the words as they stand.
    """
    return str(ctx.params.get("run") or ctx.args[0])


def _runs(api: Client, word: str) -> _Found:
    del word
    return [(run.id, run.name) for run in api.runs.list(limit=_COUNT_MAX)]


def _trashed(api: Client, word: str) -> _Found:
    del word
    return [(run.id, run.name) for run in api.runs.list(limit=_COUNT_MAX, trashed=True)]


def _projects(api: Client, word: str) -> _Found:
    del word
    return [(one.name, one.role or "") for one in api.projects.list()]


def _metrics(api: Client, word: str) -> _Found:
    found = api.runs.fields(word, limit=_COUNT_MAX)
    return [(key, "") for key in dict.fromkeys(one.key for one in found.metrics)]


def _params(api: Client, word: str) -> _Found:
    return [(key, "") for key in api.runs.fields(word, limit=_COUNT_MAX).params]


def _tags(api: Client, word: str) -> _Found:
    return [(key, "") for key in api.runs.fields(word, limit=_COUNT_MAX).tags]


def _labels(api: Client, word: str) -> _Found:
    del word
    found = api.runs.fields(limit=_COUNT_MAX).label_values
    return [(f"{name}={value}", "") for name, values in found.items() for value in values]


def _keys(api: Client, word: str) -> _Found:
    before, comma, last = word.rpartition(",")
    return [(f"{before}{comma}{key}", said) for key, said in _metrics(api, last)]


def _media(api: Client, run: str) -> _Found:
    return [(one.id, one.key) for one in islice(api.runs.media(run), _COUNT_MAX)]


def _media_keys(api: Client, run: str) -> _Found:
    found = dict.fromkeys(one.key for one in islice(api.runs.media(run), _COUNT_MAX))
    return [(key, "") for key in found]


def _streams(api: Client, run: str) -> _Found:
    found = {one.labels.get("stream", "") for one in api.runs.metrics(run)}
    found |= {one.stream for one in api.runs.attempts(run)}
    return [(stream, "") for stream in sorted(found) if stream]


def _ranks(api: Client, run: str) -> _Found:
    found = {int(one.labels.get("rank", "0")) for one in api.runs.metrics(run)}
    found |= {one.rank for one in api.runs.attempts(run)}
    return [(str(rank), "") for rank in sorted(found)]


def _orders(api: Client, word: str) -> _Found:
    before, comma, last = word.rpartition(",")
    sign = last[: last.startswith("-")]
    return [
        (f"{before}{comma}{sign}{field}", said)
        for field, said in _fields(api, last.removeprefix("-"))
    ]


def _fields(api: Client, word: str) -> _Found:
    from mapi.search import column_text
    from mapi.search.nodes import ATTRIBUTES, Metric, Param, Tag

    before, comma, last = word.rpartition(",")
    family, dot, prefix = last.partition(".")
    if not dot:
        names = [*ATTRIBUTES, "metrics.", "params.", "tags."]
    else:
        found = api.runs.fields(prefix, limit=_COUNT_MAX)
        texts: dict[str, list[Column]] = {
            "metrics": [
                Metric(one.key, tuple(sorted(one.labels.items()))) for one in found.metrics
            ],
            "params": [Param(key) for key in found.params],
            "tags": [Tag(key) for key in found.tags],
        }
        names = [column_text(one) for one in texts.get(family, ())]
    return [(f"{before}{comma}{name}", "") for name in names]


def _experiments(api: Client, word: str) -> _Found:
    del word
    return [(one.id, one.name) for one in api.experiments.page(limit=_COUNT_MAX).experiments]


def _views(api: Client, word: str) -> _Found:
    del word
    return [(one.id, one.name) for one in api.views.list()]


runs = _completer(_runs)
trashed = _completer(_trashed)
projects = _completer(_projects)
metrics = _completer(_metrics)
params = _completer(_params)
fields = _completer(_fields)
orders = _completer(_orders, signed=True)
keys = _completer(_keys)
labels = _completer(_labels)
tags = _completer(_tags)
media = _run_completer(_media)
media_keys = _run_completer(_media_keys)
streams = _run_completer(_streams)
ranks = _run_completer(_ranks)
experiments = _completer(_experiments)
views = _completer(_views)
