"""History: what a run logged, read back — live or from its files.

`store` hands over lines; this room makes rows of them, rows of one step into one answer, and
answers into tables, exports and proofs. It writes nothing into a run directory. Every name is
loaded when it is first used: this package is imported by ``import expr_tracker``.

::

    from expr_tracker.history import read_history
    rows = read_history("runs/project/name", 50)
    frame = read_history("runs/project/name", -1, output_type="polars")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from expr_tracker.history.exports import export
    from expr_tracker.history.follower import Follower, follow
    from expr_tracker.history.live import HistoryStore
    from expr_tracker.history.location import list_streams, resolve_run_path
    from expr_tracker.history.reading import list_attempts, read_history
    from expr_tracker.history.status import status_of
    from expr_tracker.history.verification import compare, verify

__all__ = [
    "Follower",
    "HistoryStore",
    "compare",
    "export",
    "follow",
    "list_attempts",
    "list_streams",
    "read_history",
    "resolve_run_path",
    "status_of",
    "verify",
]

_MODULES = {
    "Follower": "follower",
    "HistoryStore": "live",
    "compare": "verification",
    "export": "exports",
    "follow": "follower",
    "list_attempts": "reading",
    "list_streams": "location",
    "read_history": "reading",
    "resolve_run_path": "location",
    "status_of": "status",
    "verify": "verification",
}


# Not for type checkers: to them every misspelled name would be `Any`.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        module = _MODULES.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
