"""Markers: what is built is read back, and what other programs wrote costs nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.row import RESERVED_NAMES
from expr_tracker.store.lines import decode_line, encode_line, is_metric_row
from expr_tracker.store.markers import (
    Beginning,
    End,
    begin_marker,
    end_marker,
    is_marker,
    read_marker,
)

times = st.floats(0, 4e9)


@given(st.integers(1, 10**9), st.none() | st.integers(-(2**63), 2**63 - 1), times)
def test_a_beginning_is_read_as_it_was_built(
    number: int, from_step: int | None, time: float
) -> None:
    line = encode_line(begin_marker(number, from_step, time=time, pid=7))
    row = decode_line(line) or {}
    assert read_marker(row) == Beginning(number, from_step, time, 7)
    assert is_marker(row)
    assert not is_metric_row(row)
    assert set(row) <= RESERVED_NAMES


def test_a_clock_that_was_set_back_stands_in_the_beginning_and_else_nothing() -> None:
    set_back = begin_marker(2, None, time=1.0, pid=7, clock_back=7200.0)
    assert read_marker(set_back) == Beginning(2, None, 1.0, 7, 7200.0)
    assert set(set_back) <= RESERVED_NAMES
    assert "_clock_back" not in begin_marker(2, None, time=1.0, pid=7, clock_back=0.0)


@given(st.integers(1, 10**9), st.text(), times)
def test_an_end_is_read_as_it_was_built(number: int, status: str, time: float) -> None:
    row = decode_line(encode_line(end_marker(number, status, time=time))) or {}
    assert read_marker(row) == End(number, status, time)
    assert is_marker(row)
    assert not is_metric_row(row)
    assert set(row) <= RESERVED_NAMES


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, None),
        ({"_step": 1, "a": 2}, None),
        ({"_attempt": "2"}, None),
        ({"_attempt_end": None}, None),
        ({"_attempt": 2}, Beginning(2, None, None, None)),
        (
            {"_attempt": 2, "_from_step": "4", "_time": "now", "_pid": [1]},
            Beginning(2, None, None, None),
        ),
        ({"_attempt_end": 2, "_status": 0, "_time": 5}, End(2, None, 5.0)),
    ],
)
def test_members_of_a_wrong_type_count_as_missing(row: dict[str, Any], said: object) -> None:
    assert read_marker(row) == said
    assert is_marker(row) is (said is not None)
