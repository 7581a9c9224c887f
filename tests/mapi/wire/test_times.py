from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from mapi.wire.times import check_time_us, time_from_us, time_to_us

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
NOW_US = time_to_us(NOW)
recent = st.integers(time_to_us(datetime(2001, 2, 1, tzinfo=UTC)), NOW_US).map(time_from_us)


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])))
def test_a_time_comes_back_to_the_microsecond(time: datetime) -> None:
    assert time_from_us(time_to_us(time)) == time


@given(recent)
def test_a_recent_time_in_another_unit_is_named(time: datetime) -> None:
    time_us = time_to_us(time)
    assert check_time_us(time_us, now_us=NOW_US) is None
    assert "looks like seconds" in (check_time_us(time_us // 10**6, now_us=NOW_US) or "")
    assert "looks like milliseconds" in (check_time_us(time_us // 1_000, now_us=NOW_US) or "")
    assert "looks like nanoseconds" in (check_time_us(time_us * 1_000, now_us=NOW_US) or "")


def test_the_fix_is_named() -> None:
    assert "which would be 1796000000123000" in (
        check_time_us(1_796_000_000_123, now_us=NOW_US) or ""
    )


def test_the_edges_are_1971_and_a_day_ahead() -> None:
    first = time_to_us(datetime(1971, 1, 1, tzinfo=UTC))
    last = NOW_US + 86_400_000_000
    assert check_time_us(first, now_us=NOW_US) is None
    assert check_time_us(first - 1, now_us=NOW_US)
    assert check_time_us(last, now_us=NOW_US) is None
    assert check_time_us(last + 1, now_us=NOW_US)
