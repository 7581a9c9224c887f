"""Times on the wire: RFC 3339, and whole microseconds since 1970 UTC where there are many.

A number says nothing of its unit, so one that can only be meant otherwise is refused with the unit
that it looks like: seconds and milliseconds would land in January 1970, nanoseconds far ahead.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = [
    "TIME_AHEAD_US_MAX",
    "TIME_EXAMPLE",
    "TIME_US_MIN",
    "check_time",
    "check_time_ns",
    "check_time_us",
    "time_from_us",
    "time_instead_of",
    "time_to_us",
    "unit_of",
]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
#: Nobody logs points of 1970, and every present time in seconds or milliseconds falls there.
TIME_US_MIN: Final = 31_536_000_000_000
#: One clock ahead would freeze a scalar, whose newest value stays.
TIME_AHEAD_US_MAX: Final = 86_400_000_000
#: A unit is named when the time, read in it, lies between 2001 and this many microseconds ahead.
_PLAUSIBLE_US_MIN: Final = 978_307_200_000_000
_UNITS_NS: Final = (
    ("seconds", 1_000_000_000),
    ("milliseconds", 1_000_000),
    ("microseconds", 1_000),
    ("nanoseconds", 1),
)
#: How a time is written, in messages.
TIME_EXAMPLE: Final = "2026-11-29T12:00:00Z"


def time_to_us(time: datetime) -> int:
    """Return an aware time in whole microseconds since 1970 UTC, exactly."""
    return (time - _EPOCH) // _MICROSECOND


def time_from_us(time_us: int) -> datetime:
    """Return the UTC time of microseconds since 1970, exactly."""
    return _EPOCH + time_us * _MICROSECOND


def unit_of(number: int, *, now_us: int) -> tuple[str, int] | None:
    """Return the unit in which a number since 1970 is a time of our days, and that time in us.

    Args:
        number: of no unit.
        now_us: the present time in microseconds since 1970 UTC.
    """
    for unit, size_ns in _UNITS_NS:
        meant_us = number * size_ns // 1_000
        if _PLAUSIBLE_US_MIN <= meant_us <= now_us + TIME_AHEAD_US_MAX:
            return unit, meant_us
    return None


def check_time_us(time_us: int, *, now_us: int) -> str | None:
    """Return what is wrong with the time of a point, or ``None``.

    Args:
        time_us: whole microseconds since 1970 UTC.
        now_us: the server's time, in the same unit.
    """
    if TIME_US_MIN <= time_us <= now_us + TIME_AHEAD_US_MAX:
        return None
    rule = "times are whole microseconds since 1970 UTC"
    found = unit_of(time_us, now_us=now_us)
    if found is not None:
        return f"{time_us} looks like {found[0]}: {rule}, which would be {found[1]}"
    if time_us < TIME_US_MIN:
        return f"{time_us} is in 1970 or before: {rule}"
    return (
        f"{time_us} is more than a day ahead of the server: {rule}; check the clock that wrote it"
    )


def check_time_ns(time_ns: int, *, now_us: int) -> str | None:
    """Return what is wrong with the start of a span, or ``None``.

    Args:
        time_ns: whole nanoseconds since 1970 UTC.
        now_us: the server's time in microseconds since 1970 UTC.
    """
    if TIME_US_MIN <= time_ns // 1_000 <= now_us + TIME_AHEAD_US_MAX:
        return None
    rule = "a span starts at whole nanoseconds since 1970 UTC"
    found = unit_of(time_ns, now_us=now_us)
    if found is not None:
        return f"{time_ns} looks like {found[0]}: {rule}, which would be {found[1] * 1_000}"
    if time_ns // 1_000 < TIME_US_MIN:
        return f"{time_ns} is in 1970 or before: {rule}"
    return (
        f"{time_ns} is more than a day ahead of the server: {rule}; check the clock that wrote it"
    )


def check_time(time: datetime, *, now_us: int) -> str | None:
    """Return what is wrong with a time that was written as RFC 3339, or ``None``.

    Args:
        time: with its zone.
        now_us: the server's time in microseconds since 1970 UTC.
    """
    time_us = time_to_us(time)
    if TIME_US_MIN <= time_us <= now_us + TIME_AHEAD_US_MAX:
        return None
    shown = time.isoformat()
    found = unit_of(time_us, now_us=now_us)
    if found is not None:
        meant = time_from_us(found[1]).isoformat()
        return f"{shown} looks like {found[0]} that were read as microseconds: {meant} is meant"
    if time_us < TIME_US_MIN:
        return f"{shown} is in 1970 or before; check the clock that wrote it"
    return f"{shown} is more than a day ahead of the server; check the clock that wrote it"


def time_instead_of(number: int, *, now_us: int) -> str:
    """Return what to write where a number stands and a text of RFC 3339 should.

    Args:
        number: what stands there.
        now_us: the present time in microseconds since 1970 UTC.
    """
    found = unit_of(number, now_us=now_us)
    if found is None:
        return (
            f"a time is a text of RFC 3339 with its zone, such as {TIME_EXAMPLE}; {number} is none"
        )
    meant = time_from_us(found[1]).isoformat().replace("+00:00", "Z")
    return f"{number} looks like {found[0]}: a time is a text of RFC 3339, here {meant}"
