"""How a run ended, by what ended its block, and how long saying so may take."""

from __future__ import annotations

import asyncio
from typing import Final

from mapi.sdk.deadlines import Deadline
from mapi.sdk.signals import EXIT_CODES

__all__ = ["ENDING_SECONDS", "ending_of", "limit_of_ending"]

#: Whoever sends a signal kills the program when it stays for long: 10 seconds of a container, 30 of a
#: batch system. All runs that one signal ends have them together.
ENDING_SECONDS: Final = 5.0

_REASON_LENGTH_MAX: Final = 2_000


def ending_of(error: BaseException | None) -> tuple[str, str | None]:
    """Return the status and the reason that an exception means; `None` is none."""
    if error is None:
        return "succeeded", None
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return "cancelled", "signal"
    if isinstance(error, SystemExit) and error.code in EXIT_CODES:
        return "cancelled", "signal"
    if isinstance(error, SystemExit):
        if error.code is None or error.code == 0:
            return "succeeded", None
        return "failed", f"the program ended with {error.code!r}"[:_REASON_LENGTH_MAX]
    text = f"{type(error).__name__}: {error}".encode(errors="replace").decode()
    return "failed", text.replace("\0", "\\0")[:_REASON_LENGTH_MAX]


def limit_of_ending(error: BaseException | None) -> Deadline | None:
    """Return when the end of a run has to be over; `None` leaves it to the limits of its calls.

    A task that is cancelled ends as by a signal: asyncio makes one of Ctrl-C, and of what a handler
    raises in its loop, and nothing tells them from a task that a `timeout` cancels.

    Args:
        error: what ended the block. Blocks around it that it ends as well have the same limit.
    """
    if error is None or ending_of(error)[0] != "cancelled":
        return None
    found: Deadline | None = vars(error).get("_mapi_limit")
    # An exception that is kept and raised again much later is another end.
    if found is None or found.remaining() < -ENDING_SECONDS:
        found = Deadline(ENDING_SECONDS)
        vars(error)["_mapi_limit"] = found
    return found
