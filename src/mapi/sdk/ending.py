"""How a run ended, by what ended its block."""

from __future__ import annotations

import asyncio
from typing import Final

from mapi.sdk.signals import EXIT_CODES

__all__ = ["ending_of"]

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
