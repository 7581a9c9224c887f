"""Who held a stream's lock, as the lock's file tells: the first few holders, and the newest.

File: ``{"pid": PID, "host": HOST, "since": SECONDS, "before": [[PID, SECONDS], ...]}``; ``before`` has the
holders before this one, the first of all first. They are kept for the first attempt, which has no
marker in the metrics; later ones have their process in theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from expr_tracker.row import Row

__all__ = ["HOLDERS_KEPT", "holder_at", "holders_in"]

#: Earlier holders that a file goes on to name: whoever logged the first row is one of the first.
HOLDERS_KEPT: Final = 8


def holders_in(document: Row) -> list[tuple[int, float]]:
    """Return whom a lock's file names, as process and Unix seconds, the newest last."""
    before = document.get("before")
    entries: list[Any] = [*before] if isinstance(before, list) else []
    entries.append([document.get("pid"), document.get("since")])
    return [
        (entry[0], entry[1])
        for entry in entries
        if isinstance(entry, list)
        and len(entry) == 2
        and isinstance(entry[0], int)
        and isinstance(entry[1], float)
    ]


def holder_at(document: Row, time: float) -> int | None:
    """Return the process that held the lock at a moment, in Unix seconds, if its file still tells."""
    holders = holders_in(document)
    held = [number for number, (_, since) in enumerate(holders) if since <= time]
    # Behind the last earlier one that is kept there may have been others.
    if not held or (held[-1] == HOLDERS_KEPT - 1 and len(holders) > HOLDERS_KEPT):
        return None
    return holders[held[-1]][0]
