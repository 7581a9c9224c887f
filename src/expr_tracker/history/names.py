"""Whether a stream has ever logged a metric, and which name was probably meant instead."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.errors import QueryError
from expr_tracker.history.location import producers_of
from expr_tracker.history.question import ask, is_glob
from expr_tracker.history.reading import answer_run
from expr_tracker.history.source import Source
from expr_tracker.metric_names import metric_names
from expr_tracker.notices import offer
from expr_tracker.store.documents import read_document

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = ["check_logged"]

#: Rows that are asked for names that no summary has: a killed run has none.
_ROWS_ASKED: Final = 50


def check_logged(
    run: str | os.PathLike[str], names: Sequence[str], *, stream: Any = None, rank: Any = None
) -> None:
    """Refuse a name that is in no line of the streams; globs and the tracker's own names pass.

    The lines are searched for the name and not decoded, so a name that only stands among the
    values passes too.

    Raises:
        QueryError: they are no names, or nothing of that name was logged; the message offers the nearest names.
        RunNotFoundError: no such run, stream or rank.
    """
    producers = producers_of(run, stream, rank)
    left = [name for name in metric_names(names, "names") if name[:1] != "_" and not is_glob(name)]
    known: set[str] = set()
    for producer in producers:
        known.update(read_document(producer.files.summary) or ())
    left = [name for name in left if name not in known]
    if not left:
        return
    has_rows = False
    for producer in producers:
        with Source.offline(producer) as source:
            has_rows = has_rows or source.index.rows > 0 or source.open_row is not None
            left = [name for name in left if not _has(source, name)]
    if not left or not has_rows:
        return
    question = ask(_ROWS_ASKED)
    rows = answer_run(run, question, stream=stream, rank=rank, report=_say_nothing)
    known.update(name for row in rows for name in row)
    offered = offer(left[0], (name for name in known if name[:1] != "_"))
    raise QueryError(f"No row has a metric {left[0]!r}.{offered}")


def _say_nothing(source: Source) -> None:
    del source


def _has(source: Source, name: str) -> bool:
    if source.open_row is not None and name in source.open_row:
        return True
    spellings = [(name,), tuple(name.split("/"))]  # the second leads into a dict
    searched = [[_keys(part) for part in parts] for parts in spellings]
    return any(
        all(any(key in piece for key in keys) for keys in parts)
        for _, piece in source.pieces(0, source.size)
        for parts in searched
    )


def _keys(name: str) -> set[bytes]:
    """Return how a file may spell a member's name."""
    return {
        json.dumps(name, ensure_ascii=escaped).encode("utf-8", "backslashreplace")
        for escaped in (False, True)
    }
