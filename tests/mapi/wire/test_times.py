from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from mapi.wire.times import (
    check_time,
    check_time_ns,
    check_time_us,
    time_from_us,
    time_instead_of,
    time_to_us,
)

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


@given(recent)
def test_the_start_of_a_span_in_another_unit_is_named(time: datetime) -> None:
    time_us = time_to_us(time)
    assert check_time_ns(time_us * 1_000, now_us=NOW_US) is None
    for unit, number in (
        ("seconds", time_us // 10**6),
        ("milliseconds", time_us // 1_000),
        ("microseconds", time_us),
    ):
        assert f"looks like {unit}" in (check_time_ns(number, now_us=NOW_US) or "")


@given(recent)
def test_a_text_that_was_made_of_another_unit_is_told_with_the_time_that_is_meant(
    time: datetime,
) -> None:
    assert check_time(time, now_us=NOW_US) is None
    wrong = check_time(time_from_us(time_to_us(time) // 1_000), now_us=NOW_US) or ""
    assert "looks like milliseconds" in wrong
    assert time.replace(microsecond=0).isoformat()[:19] in wrong


@given(recent)
def test_a_number_in_place_of_a_text_is_answered_with_the_text(time: datetime) -> None:
    found = time_instead_of(time_to_us(time), now_us=NOW_US)
    assert found.endswith(f"here {time.isoformat().replace('+00:00', 'Z')}")


def test_a_start_or_a_text_of_1970_or_of_tomorrow_is_refused() -> None:
    for number, word in ((0, "1970 or before"), (-1, "1970 or before"), (2**62, "a day ahead")):
        assert word in (check_time_ns(number, now_us=NOW_US) or "")
    for found, word in (
        (datetime(1, 1, 1, tzinfo=UTC), "1970 or before"),
        (datetime(9999, 12, 31, tzinfo=UTC), "a day ahead"),
        (NOW + timedelta(days=1, microseconds=1), "a day ahead"),
    ):
        assert word in (check_time(found, now_us=NOW_US) or "")
    assert check_time(NOW + timedelta(days=1), now_us=NOW_US) is None
    assert "is none" in time_instead_of(5, now_us=NOW_US)
