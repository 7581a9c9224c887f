"""The numbers that JSON cannot hold leave a row and come back into it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.nonfinite import with_nonfinite, without_nonfinite

keys = st.text(st.characters(exclude_categories=()) | st.sampled_from('~/"\\ \n\0'), max_size=6)
numbers = st.floats() | st.integers() | st.sampled_from([math.nan, math.inf, -math.inf, 1e308])
trees = st.recursive(
    st.none() | st.booleans() | numbers | keys,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
rows = st.dictionaries(keys.filter(lambda key: key != "_nonfinite"), trees, max_size=5)


def same(left: object, right: object) -> bool:
    """Compare two plain trees, NaN equal to itself and -0.0 unequal to 0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return repr(left) == repr(right)


@given(rows)
def test_moving_non_finite_numbers_out_and_back_changes_nothing(row: dict[str, Any]) -> None:
    before = repr(row)
    strict = without_nonfinite(row)
    assert repr(row) == before
    json.dumps(strict, allow_nan=False)
    assert same(with_nonfinite(dict(strict)), row)


def test_a_finite_row_is_returned_as_it_is() -> None:
    row = {"a": 1.0, "b": [1, {"c": None}]}
    assert without_nonfinite(row) is row


def test_the_pointers_are_those_of_the_rfc() -> None:
    row = {"a/b": math.nan, "m~n": {"": [1.0, math.inf]}, "l": -math.inf}
    assert without_nonfinite(row)["_nonfinite"] == {
        "/a~1b": "NaN",
        "/m~0n//1": "Infinity",
        "/l": "-Infinity",
    }


@pytest.mark.parametrize(
    "found",
    [
        None,
        5,
        [],
        {"": "NaN"},
        {"/missing": "NaN"},
        {"/list/7": "NaN"},
        {"/list/x": "NaN"},
        {"/list/-1": "NaN"},
        {"/list/0/deeper": "NaN"},
        {"/number/deeper": "NaN"},
        {"/number": "NaN"},
        {"/null": "nan"},
        {"/null": 5},
        {"no slash": "NaN"},
    ],
    ids=repr,
)
def test_a_damaged_member_costs_nothing_of_the_row(found: object) -> None:
    row = {"number": 1.5, "list": [2.5], "null": None}
    assert with_nonfinite({**row, "_nonfinite": found}) == row


@given(st.dictionaries(st.text(max_size=5), st.sampled_from(["NaN", "Infinity", "x"]), max_size=3))
def test_no_pointer_makes_reading_fail_or_replaces_a_value(found: dict[str, str]) -> None:
    row = {"": 1, "a": [1, None], "b": {"": "t"}}
    restored = with_nonfinite({**row, "a": [1, None], "_nonfinite": found})
    assert restored[""] == 1
    assert restored["a"][0] == 1
    assert restored["b"] == {"": "t"}


def test_only_a_null_gives_way_to_a_number_that_a_line_names() -> None:
    found = {"/a/0": "NaN", "/a/1": "NaN", "/b": "NaN", "/c/d": "NaN"}
    restored = with_nonfinite({"a": [1.0, None], "b": 2.0, "c": {"d": "t"}, "_nonfinite": found})
    assert repr(restored) == repr({"a": [1.0, math.nan], "b": 2.0, "c": {"d": "t"}})
