"""Times of files, in Unix seconds, as the platform takes them."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from mapi.wire.times import TIME_US_MIN, time_from_us

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["instant_of", "now_us"]


def now_us() -> int:
    """Return the present in whole microseconds since 1970 UTC."""
    return time.time_ns() // 1_000


def instant_of(seconds: float | None) -> datetime | None:
    """Return a time, or ``None`` of one that a clock cannot have shown."""
    if seconds is None or not math.isfinite(seconds):
        return None
    time_us = round(seconds * 1e6)
    return time_from_us(time_us) if TIME_US_MIN <= time_us <= now_us() else None
