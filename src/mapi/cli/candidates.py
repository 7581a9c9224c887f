"""What a half-typed word may become: runs, keys, experiments, views of the server that is meant.

The shell asks while somebody waits with a finger on a key: one short question, and no answer where
the server does not give it at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    from mapi import Client
    from mapi.search import Column

    _Found = Iterable[tuple[str, str]]
    _Candidates = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

__all__ = ["experiments", "fields", "metrics", "params", "runs", "views"]

_SECONDS: Final = 2.0
_COUNT_MAX: Final = 100


def _completer(find: Callable[[Client, str], _Found]) -> _Candidates:
    def complete(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
        del param
        from mapi.cli.asking import client

        try:
            with client(ctx.params.get("project"), timeout_seconds=_SECONDS) as api:
                return [
                    CompletionItem(text, help=said)
                    for text, said in find(api, word)
                    if text.startswith(word)
                ]
        except Exception:  # noqa: BLE001 - a prompt is no place for errors
            return []

    return complete


def _runs(api: Client, word: str) -> _Found:
    del word
    return [(run.id, run.name) for run in api.runs.list(limit=_COUNT_MAX)]


def _metrics(api: Client, word: str) -> _Found:
    found = api.runs.fields(word, limit=_COUNT_MAX)
    return [(key, "") for key in dict.fromkeys(one.key for one in found.metrics)]


def _params(api: Client, word: str) -> _Found:
    return [(key, "") for key in api.runs.fields(word, limit=_COUNT_MAX).params]


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
metrics = _completer(_metrics)
params = _completer(_params)
fields = _completer(_fields)
experiments = _completer(_experiments)
views = _completer(_views)
