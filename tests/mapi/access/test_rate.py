"""No caller gets more than the rate and its burst, and none waits longer than it was told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mapi.access.rate import BURST_SECONDS, RateLimit

_PAUSES = st.lists(st.floats(0, 3), min_size=1, max_size=200)


@given(_PAUSES, st.integers(1, 50))
def test_in_any_time_no_more_than_rate_and_burst_are_let_through(
    pauses: list[float], rate: int
) -> None:
    limit, now, taken = RateLimit(rate), 100.0, 0
    for pause in pauses:
        now += pause
        taken += sum(limit.take("one", now) == 0 for _ in range(5))
        assert taken <= rate * (BURST_SECONDS + now - 100.0) + 1e-6


def test_who_waits_as_long_as_told_is_let_through() -> None:
    limit, now = RateLimit(2), 0.0
    while not (wait := limit.take("one", now)):
        pass
    assert 0 < wait <= 0.5
    assert limit.take("one", now + wait + 1e-9) == 0


def test_one_caller_does_not_use_up_the_permits_of_another() -> None:
    limit = RateLimit(1)
    for _ in range(100):
        limit.take("loud", 0.0)
    assert limit.take("loud", 0.0) > 0
    assert limit.take("quiet", 0.0) == 0


def test_a_rate_of_zero_is_no_limit() -> None:
    limit = RateLimit(0)
    assert not any(limit.take("one", 0.0) for _ in range(10_000))
