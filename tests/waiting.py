"""Waiting for what another thread or process does, with a bound."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["until"]

#: Below the time that a test has. A cold start makes a database cluster, on a machine that has other
#: things to do.
_DEADLINE_SECONDS: Final = 90.0
_LOOK_SECONDS: Final = 0.01

_Answer = TypeVar("_Answer")


def until(question: Callable[[], _Answer | None], what: str = "what is waited for") -> _Answer:
    """Return the first answer that is true.

    Args:
        question: asked again and again.
        what: is missing where there is none in time.
    """
    end = time.monotonic() + _DEADLINE_SECONDS
    while not (found := question()):
        if time.monotonic() > end:
            pytest.fail(f"not within {_DEADLINE_SECONDS:g} s: {what}")
        time.sleep(_LOOK_SECONDS)
    return found
