"""What a run was configured with, read back, and the single settings in it.

The newest configuration is meant; those that a resume replaced stand beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from expr_tracker.history.location import producers_of
from expr_tracker.history.nested import heads_of, reached
from expr_tracker.store.documents import read_document

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from expr_tracker.row import Row
    from expr_tracker.store.producers import RankChoice, StreamChoice

__all__ = ["config_of", "setting_of", "settings_in"]


def config_of(
    run: str | os.PathLike[str], stream: StreamChoice = "*", rank: RankChoice = None
) -> Row:
    """Return what ``init(config=...)`` was given; ``{}`` where nothing was.

    Args:
        run: the run's directory, or one of its metrics files.
        stream: whose configuration: of several streams the first that has one counts, the default
            producer before the others.
        rank: as for `read_history`.

    Raises:
        RunNotFoundError: no such run, stream or rank.
        QueryError: the run is no path, or the stream or the rank none that can be asked for.
        NameRefusedError: the stream's name cannot be one.
    """
    documents = (
        read_document(producer.files.config) for producer in producers_of(run, stream, rank)
    )
    return next((document for document in documents if document), {})


def setting_of(config: Row, name: str) -> Any:
    """Return one value of a configuration; ``a/b`` is the member ``b`` of ``a``, as for metrics.

    ``None`` where there is none.
    """
    value = config.get(name, UNSET)
    if value is UNSET:
        value = reached(config, heads_of(name))
    return None if value is UNSET else value


def settings_in(config: Row) -> Iterator[str]:
    """Yield the names by which `setting_of` finds what is no dict itself."""
    for name, value in config.items():
        if isinstance(value, dict) and value:
            yield from (f"{name}/{inner}" for inner in settings_in(value))
        else:
            yield name
