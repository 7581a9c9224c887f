"""A glimpse of a run: what it holds, as far as that is told without reading a file whole.

For prompts that somebody waits at. Names of files, summaries, sidecars, and the first and last lines
of a metrics file are all that is opened, so what only stands in the middle of a long run is missed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Literal

from expr_tracker.store.documents import read_document
from expr_tracker.store.files import RunFiles, StreamKey, sidecar_of, stream_keys
from expr_tracker.store.lines import decode_line
from expr_tracker.store.reader import part_paths
from expr_tracker.store.regular import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["attempts_seen", "is_run", "keys_seen", "metrics_seen"]

#: Read of either end of a metrics file for the names in it: a thousand rows of five metrics.
_BYTES_READ: Final = 128 * 1024


def is_run(directory: Path) -> bool:
    """Say whether a directory has a run's identity or its metrics."""
    return RunFiles(directory).identity.is_file() or bool(stream_keys(directory))


def keys_seen(run: Path, kind: Literal["metrics", "console"] = "metrics") -> list[StreamKey]:
    """Return the producers that have a file of that kind; the one whose file ``run`` is.

    Args:
        run: a run's directory or one of its files.
        kind: what kind of file is meant.
    """
    if run.is_file():
        key = StreamKey.from_file(run.name)
        return [] if key is None else [key]
    return stream_keys(run, kind)


def attempts_seen(run: Path, key: StreamKey) -> list[int]:
    """Return the numbers of the attempts that a stream's sidecar knows."""
    sidecar = read_document(sidecar_of(_files(run, key).metrics)) or {}
    return [int(attempt[0]) for attempt in sidecar.get("attempts", ())]


def metrics_seen(run: Path, key: StreamKey) -> set[str]:
    """Return the names in a stream's summary and at both ends of its file."""
    files = _files(run, key)
    names = {*(read_document(files.summary) or ()), *_names_at_both_ends(files.metrics)}
    return {name for name in names if name[:1] != "_"}


def _files(run: Path, key: StreamKey) -> RunFiles:
    return RunFiles(run.parent if run.is_file() else run, key)


def _names_at_both_ends(path: Path) -> Iterator[str]:
    """Yield the names in the first and the last lines: a live or killed run has no summary yet."""
    try:
        if not path.exists():  # set aside: the newest part stands for it
            path = part_paths(path)[0][-1]
        with open(open_regular(path), "rb") as file:  # noqa: PTH123 - a descriptor
            ends = [file.read(_BYTES_READ)]
            size = os.fstat(file.fileno()).st_size
            if size > _BYTES_READ:
                file.seek(max(_BYTES_READ, size - _BYTES_READ))
                ends.append(file.read(_BYTES_READ))
    except (OSError, IndexError):
        return
    for line in b"\n".join(ends).split(b"\n"):
        row = decode_line(line) if line else None
        yield from row or ()
