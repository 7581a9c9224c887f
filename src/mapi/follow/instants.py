"""Times of files, in Unix seconds, as the platform takes them.

The only code of the room that makes a time of what a file says: any program may have written it.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from mapi.wire.times import TIME_AHEAD_US_MAX, TIME_US_MIN, time_from_us

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["instant_of", "is_taken", "now_us", "time_us_of", "was_ahead"]

#: Times a million it is a float still; no clock shows anything near it.
_SECONDS_MAX: Final = 1e300


def now_us() -> int:
    """Return the present in whole microseconds since 1970 UTC."""
    return time.time_ns() // 1_000


def time_us_of(value: object) -> int | None:
    """Return a time of a file in whole microseconds; ``None``: the value is no finite number.

    A number of any size is one, also where no clock can have shown it: see `is_taken`.
    """
    if type(value) is float and -_SECONDS_MAX < value < _SECONDS_MAX:
        return round(value * 1e6)
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return int(value) * 1_000_000
    return None


def is_taken(time_us: int, *, now_us: int) -> bool:
    """Say whether the platform takes a time of a point or a line.

    Args:
        time_us: microseconds since 1970 UTC.
        now_us: the present, in the same unit.
    """
    return TIME_US_MIN <= time_us <= now_us + TIME_AHEAD_US_MAX


def was_ahead(time_us: int, *, delivered_us: int, since_us: int) -> bool:
    """Say whether a time was too far ahead to be taken when it came, and has that of its delivery since.

    The present has long caught up with it when somebody looks.

    Args:
        time_us: of the file, in microseconds since 1970 UTC.
        delivered_us: what the platform has in its place.
        since_us: when the platform heard of the run; clocks differ by a day at most.
    """
    return (
        time_us > delivered_us + TIME_AHEAD_US_MAX and delivered_us >= since_us - TIME_AHEAD_US_MAX
    )


def instant_of(seconds: object) -> datetime | None:
    """Return a time, or ``None`` of one that a clock cannot have shown."""
    time_us = time_us_of(seconds)
    if time_us is None or not TIME_US_MIN <= time_us <= now_us():
        return None
    return time_from_us(time_us)
