"""Times on the wire: RFC 3339, and whole microseconds since 1970 UTC where there are many.

A number says nothing of its unit, so one that can only be meant otherwise is refused with the unit
that it looks like: seconds and milliseconds would land in January 1970, nanoseconds far ahead.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = [
    "TIME_AHEAD_US_MAX",
    "TIME_US_MIN",
    "check_time",
    "check_time_us",
    "time_from_us",
    "time_to_us",
]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
#: Nobody logs points of 1970, and every present time in seconds or milliseconds falls there.
TIME_US_MIN: Final = 31_536_000_000_000
#: One clock ahead would freeze a scalar, whose newest value stays.
TIME_AHEAD_US_MAX: Final = 86_400_000_000
#: A unit is named when the time, read in it, lies between 2001 and this many microseconds ahead.
_PLAUSIBLE_US_MIN: Final = 978_307_200_000_000
_UNITS: Final = (("seconds", 1_000_000, 1), ("milliseconds", 1_000, 1), ("nanoseconds", 1, 1_000))


def time_to_us(time: datetime) -> int:
    """Return an aware time in whole microseconds since 1970 UTC, exactly."""
    return (time - _EPOCH) // _MICROSECOND


def time_from_us(time_us: int) -> datetime:
    """Return the UTC time of microseconds since 1970, exactly."""
    return _EPOCH + time_us * _MICROSECOND


def check_time_us(time_us: int, *, now_us: int) -> str | None:
    """Return what is wrong with the time of a point, or ``None``.

    Args:
        time_us: whole microseconds since 1970 UTC.
        now_us: the server's time, in the same unit.
    """
    if TIME_US_MIN <= time_us <= now_us + TIME_AHEAD_US_MAX:
        return None
    for unit, factor, divisor in _UNITS:
        meant_us = time_us * factor // divisor
        if _PLAUSIBLE_US_MIN <= meant_us <= now_us + TIME_AHEAD_US_MAX:
            return (
                f"{time_us} looks like {unit}: times are whole microseconds since 1970 UTC, which "
                f"would be {meant_us}"
            )
    if time_us < TIME_US_MIN:
        return f"{time_us} is in 1970 or before: times are whole microseconds since 1970 UTC"
    return (
        f"{time_us} is more than a day ahead of the server: times are whole microseconds since "
        "1970 UTC; check the clock that wrote it"
    )


def check_time(time: datetime, *, now_us: int) -> str | None:
    """Return what is wrong with a time that was written as RFC 3339, or ``None``.

    Args:
        time: with its zone.
        now_us: the server's time in microseconds since 1970 UTC.
    """
    time_us = time_to_us(time)
    if check_time_us(time_us, now_us=now_us) is None:
        return None
    shown = time.isoformat()
    for unit, factor, divisor in _UNITS:
        meant_us = time_us * factor // divisor
        if _PLAUSIBLE_US_MIN <= meant_us <= now_us + TIME_AHEAD_US_MAX:
            meant = time_from_us(meant_us).isoformat()
            return f"{shown} looks like {unit} that were read as microseconds: {meant} is meant"
    if time_us < TIME_US_MIN:
        return f"{shown} is in 1970 or before; check the clock that wrote it"
    return f"{shown} is more than a day ahead of the server; check the clock that wrote it"
