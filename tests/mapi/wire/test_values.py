from __future__ import annotations

import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mapi.wire.values import WireValue, value_from_wire, value_to_wire, values_to_wire


def same(one: float, other: float) -> bool:
    return (math.isnan(one) and math.isnan(other)) or (
        one == other and math.copysign(1, one) == math.copysign(1, other)
    )


@given(st.lists(st.floats()))
def test_every_value_survives_json(values: list[float]) -> None:
    body = msgspec.json.encode(values_to_wire(values))
    found = [value_from_wire(one) for one in msgspec.json.decode(body, type=list[WireValue])]
    assert all(map(same, values, found))
    assert b"null" not in body


@given(st.lists(st.floats()))
def test_many_are_written_as_one_by_one(values: list[float]) -> None:
    assert values_to_wire(values) == [value_to_wire(value) for value in values]


def test_finite_values_whose_sum_is_not_are_numbers() -> None:
    assert values_to_wire([1e308, 1e308]) == [1e308, 1e308]
