"""The attempts of one stream as people are told of them: what no marker says is made out.

The first attempt has no marker, so its beginning and its process come from its first row and from
the lock file; an attempt without an end is `running`, `rewound` or `lost`, and keeps no status where
nothing tells the last two apart. Nothing is stored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from expr_tracker.history.source import beginning_of
from expr_tracker.store.documents import read_document
from expr_tracker.store.lock import is_locked

if TYPE_CHECKING:
    from expr_tracker.history.location import Producer
    from expr_tracker.history.source import Source
    from expr_tracker.row import Row
    from expr_tracker.store.index import Attempt

__all__ = ["told_attempts"]


def told_attempts(producer: Producer, source: Source, *, was_live: bool) -> list[Attempt]:
    """Return the attempts, each with a beginning and a status as far as there is a trace of them.

    Args:
        producer: whose stream it is.
        source: the opened stream.
        was_live: whether the lock was held before the stream was opened.
    """
    attempts = [*source.index.attempts]
    holder = read_document(producer.files.lock) or {}
    attempts[0] = _first(producer, source, attempts[0], holder=holder)
    told = []
    for attempt, later in zip(attempts, [*attempts[1:], None], strict=True):
        if attempt.status is not None:
            told.append(attempt)
        elif later is None:
            is_live = was_live or is_locked(producer.files.lock)
            told.append(replace(attempt, status="running" if is_live else "lost"))
        else:
            told.append(_ended_by(attempt, later, holder))
    return told


def _ended_by(attempt: Attempt, later: Attempt, holder: Row) -> Attempt:
    """Return an attempt without an end, rewound or lost: by whoever wrote the one after it."""
    lost = replace(attempt, status="lost")
    if later.from_step is None:
        return lost
    since = holder.get("since")
    start, stop = attempt.time, later.time
    if (
        isinstance(since, float)
        and start is not None
        and stop is not None
        and start < since <= stop
    ):
        # Locked anew in between: in a container every process is number 1. Of processes before the
        # last one the lock does not tell, and the number has to do.
        return lost
    if attempt.pid is None:
        return attempt
    return (
        replace(attempt, status="rewound", end_time=later.time)
        if attempt.pid == later.pid
        else lost
    )


def _first(producer: Producer, source: Source, attempt: Attempt, *, holder: Row) -> Attempt:
    if attempt.offset or attempt.time is not None:
        return attempt
    time = source.first_time()
    since, pid = holder.get("since"), holder.get("pid")
    if time is not None and isinstance(since, float) and isinstance(pid, int) and since <= time:
        # Locked before the first row and by nobody since: the same process wrote everything.
        attempt = replace(attempt, pid=pid)
    if time is None:
        time = beginning_of(read_document(producer.files.identity) or {})
    return replace(attempt, time=time)
