"""Whether a call that failed is made again, and when. No I/O here.

A failure is met with another try if the call may be made twice, or certainly did not reach the
server; if it may work later; and if the pause ends before the deadline does.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from mapi.sdk.calls import Repetition
from mapi.sdk.errors import (
    AnswerUnreadableError,
    ApiError,
    ClientError,
    DeadlineError,
    RateLimitedError,
    ServerUnreachableError,
    StateConflictError,
)

if TYPE_CHECKING:
    from mapi.sdk.calls import Call

__all__ = ["PAUSE_SECONDS_MAX", "TRIES_MAX", "pause_before_repetition"]

#: Of one call. The deadline ends most sooner; this ends a server that fails at once, for ever.
TRIES_MAX: Final = 8
_PAUSE_SECONDS_MIN: Final = 0.1
PAUSE_SECONDS_MAX: Final = 5.0


def pause_before_repetition(
    error: ClientError, call: Call[Any], *, tries: int, remaining_seconds: float
) -> float | None:
    """Return the seconds to wait before the call is made again, or ``None``: it is not.

    Args:
        error: how the last try ended.
        call: what is asked, and whether it may be asked twice.
        tries: how many there were.
        remaining_seconds: what is left of the call's time.
    """
    if tries >= TRIES_MAX or not _may_repeat(error, call, tries):
        return None
    pause = _asked_for(error)
    if pause is None:
        highest = min(PAUSE_SECONDS_MAX, _PAUSE_SECONDS_MIN * 2.0**tries)
        # Many clients that failed together must not come back together.
        pause = random.uniform(highest / 2, highest)  # noqa: S311 - no secret
    return pause if pause < remaining_seconds else None


def _may_repeat(error: ClientError, call: Call[Any], tries: int) -> bool:
    # Refused before anything was done.
    if isinstance(error, ServerUnreachableError | RateLimitedError):
        return True
    if call.repetition is Repetition.ONCE or isinstance(
        error, DeadlineError | AnswerUnreadableError
    ):
        return False
    if isinstance(error, StateConflictError):
        # The try before is still at it, and its answer will be given to this one.
        return call.is_keyed and tries > 1
    if isinstance(error, ApiError):
        return error.status >= 500
    return True


def _asked_for(error: ClientError) -> float | None:
    return error.retry_after_seconds if isinstance(error, ApiError) else None
