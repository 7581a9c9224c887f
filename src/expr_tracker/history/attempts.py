"""The attempts of one stream as people are told of them: what no marker says is made out.

The first attempt has no marker, so its beginning and its process come from its first row and from
the lock file. An attempt without an end is `running` while it is the newest and the lock is held,
else `lost`: whoever ends or rewinds one says so. Nothing is stored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from expr_tracker.history.source import beginning_of
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import kept_of
from expr_tracker.store.holders import holder_at
from expr_tracker.store.lock import is_locked
from expr_tracker.store.markers import REWOUND

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.history.location import Producer
    from expr_tracker.history.source import Source
    from expr_tracker.row import Row
    from expr_tracker.store.index import Attempt

__all__ = ["told_attempts"]


def told_attempts(
    producer: Producer, source: Source, attempts: list[Attempt] | None = None
) -> list[Attempt]:
    """Return the attempts, each with a status, and with a beginning if there is a trace of it.

    Args:
        producer: whose stream it is.
        source: the opened stream.
        attempts: what the lines say; by default as the index has it.
    """
    attempts = [*(source.index.attempts if attempts is None else attempts)]
    lock_document = read_document(producer.files.lock) or {}
    attempts[0] = _first(producer, source, attempts[0], lock_document=lock_document)
    if attempts[0].pid is None and not attempts[0].offset:
        attempts[0] = replace(attempts[0], pid=_first_pid(producer, attempts))
    newest = attempts[-1]
    if not newest.is_final:
        is_live = source.was_live or is_locked(producer.files.lock)
        attempts[-1] = replace(newest, status="running" if is_live else "lost", end_time=None)
    return [
        replace(attempt, status="lost") if attempt.status is None else attempt
        for attempt in attempts
    ]


def _first(producer: Producer, source: Source, attempt: Attempt, *, lock_document: Row) -> Attempt:
    if attempt.offset or attempt.time is not None:
        return attempt
    time = source.first_time()
    if time is not None:
        attempt = replace(attempt, pid=holder_at(lock_document, time))
    if time is None:
        time = beginning_of(read_document(producer.files.identity) or {})
    return replace(attempt, time=time)


def _first_pid(producer: Producer, attempts: list[Attempt]) -> int | None:
    """Return the process of the first attempt where it left word elsewhere than in the lock."""
    if len(attempts) > 1 and attempts[0].status == REWOUND:
        return attempts[1].pid  # who rewinds goes on
    environment = producer.files.environment
    pid = _pid_in(kept_of(environment, attempts[0].number))
    if pid is None:
        pid = _pid_in(environment)
        # One that a later attempt wrote is its own: the first captured nothing.
        if pid in {attempt.pid for attempt in attempts[1:]}:
            return None
    return pid


def _pid_in(environment: Path) -> int | None:
    program = (read_document(environment) or {}).get("program")
    pid = program.get("pid") if isinstance(program, dict) else None
    return pid if isinstance(pid, int) else None
