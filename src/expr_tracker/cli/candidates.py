"""What a half-typed word may become: runs, streams, ranks, attempts, metrics, artifacts.

The shell asks while somebody waits with a finger on a key, so nothing here reads a whole file: names
of files, summaries, sidecars, and the first and last lines of a metrics file are all that is opened.
Nothing raises either. A name that a shell would take apart (spaces, quotes, globs) is not offered.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import click

    from expr_tracker.history import StreamKey

    _Candidates = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

__all__ = [
    "attempts",
    "column_below",
    "completer",
    "is_plain_word",
    "metric",
    "metric_below",
    "metric_list",
    "paths",
    "rank_list",
    "ranks",
    "rescue_files",
    "runs",
    "setting_below",
    "stream_list",
    "streams",
]

#: More entries than anybody reads, of folders and of answers: a root may hold a year of sweeps.
_ENTRIES_MAX: Final = 2000
#: Runs that are looked into for the names in them, while somebody waits.
_RUNS_READ: Final = 20
#: What the shells of `et completion` pass on as one word.
_PLAIN_WORD: Final = re.compile(r"[^\s'\"\\$`!*?\[\](){}<>|&;#~,]+")


def completer(
    find: Callable[[click.Context, str], Iterable[str] | None],
) -> _Candidates:
    """Make a completer: words from ``find``; where it returns ``None``, paths."""

    @functools.wraps(find)
    def complete(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
        del param
        try:
            found = find(ctx, word)
            if found is None:
                return [CompletionItem(word, type="file")]
            return [CompletionItem(text) for text in found]
        except Exception:  # noqa: BLE001 - a prompt is no place for the faults of a run
            return []

    return complete


def is_plain_word(text: str) -> bool:
    """Say whether the shells pass ``text`` on as one word."""
    return _PLAIN_WORD.fullmatch(text) is not None


def paths(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
    """Leave the word to the shell, which knows paths."""
    del ctx, param
    return [CompletionItem(word, type="file")]


@completer
def runs(ctx: click.Context, word: str) -> Iterable[str] | None:
    """Offer the runs below the root and below what is typed; paths where there is none."""
    del ctx
    from expr_tracker.options import root_from_environment

    root = root_from_environment() or "runs"
    folder, slash, _ = word.rpartition("/")
    if root.startswith(word):
        start = root
    elif slash:
        start = folder or "/"
    else:
        return None
    found = [path for path in _runs_below(start, word) if is_plain_word(path)]
    return found or None


def _runs_below(start: str, word: str) -> Iterator[str]:
    """Yield the runs of ``start`` and of its folders whose paths begin with ``word``, by name."""
    for path in _folders(start):
        if not (path.startswith(word) or word.startswith(path + "/")):
            continue
        if _is_run(path):
            yield path
        else:
            yield from (run for run in _folders(path) if run.startswith(word) and _is_run(run))


def _folders(path: str) -> list[str]:
    names: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name[0] != "." and entry.is_dir():
                    names.append(entry.name)
                if len(names) == _ENTRIES_MAX:
                    break
    except OSError:
        return []
    return [os.path.join(path, name) for name in sorted(names)]  # noqa: PTH118 - as it was typed


def _is_run(path: str) -> bool:
    from expr_tracker.history.glimpse import is_run

    return is_run(Path(path))


@completer
def rescue_files(ctx: click.Context, word: str) -> Iterable[str] | None:
    """Offer the rescue files of the temporary folder; paths where there is none."""
    del ctx
    import tempfile

    from expr_tracker.rescue import is_rescue_name

    names: list[str] = []
    with os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if is_rescue_name(entry.name) and entry.path.startswith(word):
                names.append(entry.path)
            if len(names) == _ENTRIES_MAX:
                break
    return sorted(filter(is_plain_word, names)) or None


@completer
def streams(ctx: click.Context, word: str) -> Iterable[str]:
    """Offer the streams of the run."""
    return (name for name in _stream_names(ctx) if name.startswith(word))


@completer
def stream_list(ctx: click.Context, word: str) -> Iterable[str]:
    """Offer the streams of the run, one after the comma."""
    return _continued(word, _stream_names(ctx))


def _stream_names(ctx: click.Context) -> list[str]:
    from expr_tracker.history import stream_label

    return list(dict.fromkeys(stream_label(key.stream) for key in _keys(ctx)))


@completer
def ranks(ctx: click.Context, word: str) -> Iterable[str]:
    """Offer the ranks of the stream."""
    numbers = sorted({key.rank for key in _keys_meant(ctx)})
    return (text for text in map(str, numbers) if text.startswith(word))


@completer
def rank_list(ctx: click.Context, word: str) -> Iterable[str]:
    """Offer the ranks of the stream, one after the comma."""
    return _continued(word, map(str, sorted({key.rank for key in _keys_meant(ctx)})))


@completer
def attempts(ctx: click.Context, word: str) -> Iterable[str]:
    """Offer the attempts that the sidecar of the stream knows."""
    from expr_tracker.history.glimpse import attempts_seen

    numbers = [
        str(number) for key in _keys_meant(ctx)[:1] for number in attempts_seen(_run(ctx), key)
    ]
    return (text for text in [*numbers, "all"] if text.startswith(word))


@completer
def metric(ctx: click.Context, word: str) -> Iterable[str]:
    """Offer the metrics of the stream."""
    return (name for name in _metric_names(ctx) if name.startswith(word))


@completer
def metric_list(ctx: click.Context, word: str) -> Iterable[str]:
    """Offer the metrics of the stream, one after the comma."""
    return _continued(word, _metric_names(ctx))


@completer
def metric_below(ctx: click.Context, word: str) -> Iterable[str]:
    """Offer the metrics of the first runs below the folder."""
    return _chosen(word, _metrics_below(ctx))


@completer
def setting_below(ctx: click.Context, word: str) -> Iterable[str]:
    """Offer what the first runs below the folder were configured with."""
    return _chosen(word, _settings_below(ctx))


@completer
def column_below(ctx: click.Context, word: str) -> Iterable[str]:
    """Offer the columns of the list, and the metrics below the folder."""
    from expr_tracker.cli.parameters import RUN_COLUMNS

    return [*(name for name in RUN_COLUMNS if name.startswith(word)),
            *_chosen(word, [*_metrics_below(ctx), *(ctx.params.get("settings") or ())])]  # fmt: skip


def _chosen(word: str, names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(word) and is_plain_word(name)})


def _metrics_below(ctx: click.Context) -> Iterator[str]:
    from expr_tracker.history.glimpse import keys_seen, metrics_seen

    for run in _runs_listed(ctx):
        for key in keys_seen(run):
            yield from metrics_seen(run, key)


def _settings_below(ctx: click.Context) -> Iterator[str]:
    from expr_tracker.history import config_of
    from expr_tracker.history.configuration import settings_in

    for run in _runs_listed(ctx):
        yield from settings_in(config_of(run))


def _runs_listed(ctx: click.Context) -> Iterator[Path]:
    from expr_tracker.history.status import find_runs
    from expr_tracker.options import root_from_environment

    given = ctx.params.get("directory") or next(iter(ctx.args), None)
    root = Path(given or root_from_environment() or "runs").expanduser()
    return itertools.islice(find_runs(root), _RUNS_READ)


def _continued(word: str, names: Iterable[str]) -> list[str]:
    """Return the lists that ``word`` can become with one more of the names; none stands twice."""
    before, comma, last = word.rpartition(",")
    listed = before.split(",")
    return [
        before + comma + name for name in names if name.startswith(last) and name not in listed
    ]


def _metric_names(ctx: click.Context) -> list[str]:
    from expr_tracker.history.glimpse import metrics_seen

    names = {name for key in _keys_meant(ctx) for name in metrics_seen(_run(ctx), key)}
    return sorted(name for name in names if is_plain_word(name))


def _keys_meant(ctx: click.Context) -> list[StreamKey]:
    """Return the producers of the streams on the command line; of the default one without any."""
    from expr_tracker.cli.parameters import stream_choice

    wanted = stream_choice(ctx.params.get("stream"))
    keys = _keys(ctx)
    if wanted == "*" or _run(ctx).is_file():
        return keys
    names = wanted if isinstance(wanted, list) else [wanted]
    return [key for key in keys if key.stream in names]


def _keys(ctx: click.Context) -> list[StreamKey]:
    from expr_tracker.history.glimpse import keys_seen

    return keys_seen(_run(ctx), "console" if ctx.info_name == "console" else "metrics")


def _run(ctx: click.Context) -> Path:
    # An option that still waits for its value keeps click from giving the arguments their names.
    names = [param.name for param in ctx.command.params if param.param_type_name == "argument"]
    given = ctx.params.get("run") or ctx.args[names.index("run")]
    return Path(given).expanduser()
