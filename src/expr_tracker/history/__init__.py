"""History: what a run logged, read back — live or from its files.

`store` hands over lines; this room makes rows of them, rows of one step into one answer, and
answers into tables, exports and proofs. It writes nothing into a run directory.

::

    from expr_tracker.history import read_history
    rows = read_history("runs/project/name", 50)
    frame = read_history("runs/project/name", -1, output_type="polars")

From a question to its answer: `question` checks the keywords, `location` finds the files that they
mean, `source` opens one and keeps count of its `damage`, `view` says which of its lines count, and
`retrieval` makes them rows by step; `answer` gives the rows their form, `columns` and `frames` make
tables, with `nested` for values within values. `bulk` and `plain` are the short ways for whole
streams. `reading` asks runs on disk, `live` the run of this process, and `follower` what was appended
since.

About runs: `attempts`, `status`, `configuration`, `names` (what was logged, and what was probably
meant) and `glimpse` (the same for who cannot wait). To others: `exports`; `verification` with
`media_files`, `comparison`; `progress` counts the bytes of long work.

Every name is loaded when it is first used: this package is imported by ``import expr_tracker``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from expr_tracker.history.comparison import compare
    from expr_tracker.history.configuration import config_of
    from expr_tracker.history.exports import ExportReport, Format, csv_cell, export
    from expr_tracker.history.follower import Follower, follow
    from expr_tracker.history.live import HistoryStore
    from expr_tracker.history.location import list_streams, producers_of, resolve_run_path
    from expr_tracker.history.names import check_logged
    from expr_tracker.history.reading import list_attempts, read_history
    from expr_tracker.history.status import RunOverview, overviews, status_of
    from expr_tracker.history.verification import AttemptReport, RunReport, StreamReport, verify
    from expr_tracker.nonfinite import without_nonfinite
    from expr_tracker.store.files import StreamKey
    from expr_tracker.store.index import Attempt
    from expr_tracker.store.lines import encode_line
    from expr_tracker.store.names import stream_label, stream_named
    from expr_tracker.store.producers import Producer

__all__ = [
    "Attempt",
    "AttemptReport",
    "ExportReport",
    "Follower",
    "Format",
    "HistoryStore",
    "Producer",
    "RunOverview",
    "RunReport",
    "StreamKey",
    "StreamReport",
    "check_logged",
    "compare",
    "config_of",
    "csv_cell",
    "encode_line",
    "export",
    "follow",
    "list_attempts",
    "list_streams",
    "overviews",
    "producers_of",
    "read_history",
    "resolve_run_path",
    "status_of",
    "stream_label",
    "stream_named",
    "verify",
    "without_nonfinite",
]

_MODULES = {
    "Attempt": "expr_tracker.store.index",
    "AttemptReport": "expr_tracker.history.verification",
    "ExportReport": "expr_tracker.history.exports",
    "Follower": "expr_tracker.history.follower",
    "Format": "expr_tracker.history.exports",
    "HistoryStore": "expr_tracker.history.live",
    "Producer": "expr_tracker.store.producers",
    "RunOverview": "expr_tracker.history.status",
    "RunReport": "expr_tracker.history.verification",
    "StreamKey": "expr_tracker.store.files",
    "StreamReport": "expr_tracker.history.verification",
    "check_logged": "expr_tracker.history.names",
    "compare": "expr_tracker.history.comparison",
    "config_of": "expr_tracker.history.configuration",
    "csv_cell": "expr_tracker.history.exports",
    "encode_line": "expr_tracker.store.lines",
    "export": "expr_tracker.history.exports",
    "follow": "expr_tracker.history.follower",
    "list_attempts": "expr_tracker.history.reading",
    "list_streams": "expr_tracker.history.location",
    "overviews": "expr_tracker.history.status",
    "producers_of": "expr_tracker.history.location",
    "read_history": "expr_tracker.history.reading",
    "resolve_run_path": "expr_tracker.history.location",
    "status_of": "expr_tracker.history.status",
    "stream_label": "expr_tracker.store.names",
    "stream_named": "expr_tracker.store.names",
    "verify": "expr_tracker.history.verification",
    "without_nonfinite": "expr_tracker.nonfinite",
}


# Not for type checkers: to them every misspelled name would be `Any`.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        module = _MODULES.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(module), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
