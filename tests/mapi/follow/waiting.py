"""Waiting for what another thread does, with a bound."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["until"]

#: A look at the files is due once a second, and this machine may be busy.
_DEADLINE_SECONDS: Final = 30.0

_Answer = TypeVar("_Answer")


def until(question: Callable[[], _Answer | None]) -> _Answer:
    """Return the first answer that is true."""
    end = time.monotonic() + _DEADLINE_SECONDS
    while not (found := question()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)
    return found
