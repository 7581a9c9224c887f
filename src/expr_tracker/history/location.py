"""Where a run's metrics are: the streams of a directory, and the file of one of them.

How names become files is `expr_tracker.store.producers`, which spans go by too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from expr_tracker.store.files import stream_keys
from expr_tracker.store.producers import Producer, existing_run, producers_of

if TYPE_CHECKING:
    import os
    from pathlib import Path

__all__ = ["Producer", "list_streams", "producers_of", "resolve_run_path"]


def list_streams(run: str | os.PathLike[str]) -> list[str | None]:
    """Return the streams of a run directory, the default one (``None``) first.

    The files of several ranks count as one stream. A directory without metrics has none.

    Raises:
        RunNotFoundError: there is no such directory.
    """
    directory = existing_run(run)
    if directory.is_file():
        directory = directory.parent
    return list(dict.fromkeys(key.stream for key in stream_keys(directory)))


def resolve_run_path(run: str | os.PathLike[str], stream: str | None = None) -> Path:
    """Return the metrics file of one stream of a run.

    Args:
        run: the run's directory, or a metrics file (returned as it is; ``stream`` is ignored).
        stream: the stream; ``None`` is the default producer. A stream that only has files of
            higher ranks is answered with the lowest of them.

    Raises:
        RunNotFoundError: there is no such path or stream; the message lists what there is.
    """
    return producers_of(run, stream)[0].path
