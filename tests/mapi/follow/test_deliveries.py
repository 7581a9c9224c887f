"""A request that may be asked again is, and an outage is told once."""

from __future__ import annotations

from typing import Any

import pytest

from mapi.follow.deliveries import Delivery, UnreachableError
from mapi.follow.losses import Losses
from mapi.sdk.errors import ConnectionFailedError


def delivery(told: list[str | None], *, runs: Any = None) -> Delivery:
    return Delivery(
        runs,
        losses=Losses(),
        patience_seconds=float("inf"),
        pause=lambda _: len(told) > 2,
        tell_outage=told.append,
    )


def failing(times: int) -> Any:
    left = [times]

    def request() -> str:
        if left[0]:
            left[0] -= 1
            raise ConnectionFailedError("nobody is there")
        return "answer"

    return request


def test_an_outage_that_lasts_is_told_once_and_its_end_as_well() -> None:
    told: list[str | None] = []
    one = delivery(told)
    assert one.call(failing(9)) == "answer"
    assert told == ["nobody is there", None]
    assert one.call(failing(0)) == "answer"
    assert told == ["nobody is there", None]


def test_a_moment_without_an_answer_is_not_told() -> None:
    told: list[str | None] = []
    assert delivery(told).call(failing(1)) == "answer"
    assert told == []


def test_the_patience_ends_with_the_reason() -> None:
    told: list[str | None] = [None, None]
    with pytest.raises(UnreachableError, match="nobody is there"):
        delivery(told).call(failing(9))
