"""The attempts of one producer: numbers, from which step on, when they began, how and when they ended."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from mapi.follow.attempts import ends_as, stretches_of
from mapi.follow.instants import instant_of
from mapi.follow.proof.differences import Difference
from mapi.wire.times import time_to_us

if TYPE_CHECKING:
    from collections.abc import Sequence

    from expr_tracker.store.files import StreamKey
    from expr_tracker.store.index import Attempt
    from mapi.follow.proof.differences import Differences
    from mapi.wire.runs import AttemptFacts

__all__ = ["compare_attempts"]


def compare_attempts(
    attempts: Sequence[Attempt],
    there: Sequence[AttemptFacts],
    *,
    key: StreamKey,
    differences: Differences,
) -> None:
    """Compare attempts that a file tells of with those that the platform knows.

    Args:
        attempts: of the producer's file.
        there: of the same producer.
        key: the producer.
        differences: takes in what is found.
    """
    left = {one.number: one for one in there}
    for stretch in stretches_of(attempts, attempts[-1].offset if attempts else 0):
        attempt = stretch.attempt
        differences.compare("attempt")
        found = left.pop(attempt.number, None)
        if found is None:
            differences.add(
                Difference(
                    "attempt", "missing", key.label, f"attempt {attempt.number}", files="yes"
                )
            )
            continue
        from_step = None if attempt.from_step is None else max(0, attempt.from_step)
        facts: list[tuple[str, object, object]] = [
            ("from step", from_step, found.from_step),
            # Of the end of one that goes on, the platform need not know yet.
            ("status", ends_as(attempt), found.status and found.status.value),
        ]
        # The first one's is made out by its first row, which it may not have had when it was pushed.
        if stretch.start and (began := instant_of(attempt.time)) is not None:
            facts.append(("began", began, found.started))
        ended = instant_of(attempt.end_time)
        if ended is not None and found.finished is not None and ends_as(attempt) == found.status:
            facts.append(("ended", ended, found.finished))
        for name, mine, theirs in facts:
            if mine != theirs and not _is_moved(mine, theirs, differences):
                differences.add(
                    Difference(
                        "attempt", "value", key.label, f"attempt {attempt.number}: {name}",
                        files=str(mine), platform=str(theirs),
                    )
                )  # fmt: skip
    for number in left:
        differences.compare("attempt")
        differences.add(
            Difference("attempt", "extra", key.label, f"attempt {number}", platform="yes")
        )


def _is_moved(mine: object, theirs: object, differences: Differences) -> bool:
    """Say whether a time is that of its delivery: the clock that wrote the files was ahead of it then."""
    if not isinstance(mine, datetime) or not isinstance(theirs, datetime):
        return False
    is_moved = mine > theirs and time_to_us(theirs) >= differences.since_us
    differences.note(
        "attempt", "with a time of its delivery: the clock that wrote it was ahead", count=is_moved
    )  # fmt: skip
    return is_moved
