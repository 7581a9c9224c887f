from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.errors import InvalidError
from mapi.series.config_leaves import config_from_leaves, leaves_from_config, param_text

names = st.text(st.sampled_from(["a", "b", ".", "\\", "e", "é"]), max_size=4)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
nests = st.recursive(
    scalars | st.lists(scalars, max_size=3),
    lambda below: st.dictionaries(names, below, max_size=4),
    max_leaves=20,
)
configs = st.dictionaries(names, nests, max_size=5)


def texts(value: Any) -> Any:
    """Return the nest with each leaf as its text: what params can know of it."""
    if isinstance(value, dict) and value:
        return {name: texts(one) for name, one in value.items()}
    return param_text(value)


def test_a_dot_inside_a_name_is_told_from_a_dot_between_names() -> None:
    assert leaves_from_config({"a": {"b": 2}, "a.b": 1}) == {"a.b": "2", "a\\.b": "1"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (None, "null"),
        (1, "1"),
        (0.1, "0.1"),
        (1e-05, "1e-05"),
        (2**70, str(2**70)),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
        ("adam", "adam"),
        ("", ""),
        ("é", "é"),
        ([1, "a", None], '[1, "a", null]'),
        ({}, "{}"),
        ([], "[]"),
    ],
)
def test_a_value_has_one_text(value: object, text: str) -> None:
    assert param_text(value) == text
    assert leaves_from_config({"a": value}) == {"a": text}


@given(configs)
def test_params_give_the_config_back_with_texts_as_leaves(config: dict[str, Any]) -> None:
    expected = texts(config) if config else {}
    assert config_from_leaves(leaves_from_config(config)) == expected


@given(configs)
def test_two_leaves_never_share_a_key(config: dict[str, Any]) -> None:
    def count(value: Any) -> int:
        if isinstance(value, dict) and value:
            return sum(map(count, value.values()))
        return 1

    assert len(leaves_from_config(config)) == (count(config) if config else 0)


@given(configs)
def test_no_key_is_empty(config: dict[str, Any]) -> None:
    assert all(leaves_from_config(config))


def test_params_come_in_the_order_of_the_config() -> None:
    assert list(leaves_from_config({"b": 1, "a": {"d": 1, "c": 2}})) == ["b", "a.d", "a.c"]


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=3), max_size=6))
def test_any_params_are_a_config_or_refused(params: dict[str, str]) -> None:
    try:
        config = config_from_leaves(params)
    except InvalidError:
        return
    assert bool(config) == bool(params)


def test_a_param_that_is_also_a_way_to_others_is_refused() -> None:
    for params in ({"a": "1", "a.b": "2"}, {"a.b": "2", "a": "1"}):
        with pytest.raises(InvalidError, match="one config cannot hold both"):
            config_from_leaves(params)


def test_a_config_without_end_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(InvalidError, match="nests too deep: at most 32"):
        leaves_from_config(deep)


def test_what_json_cannot_hold_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidError, match="/a/b: a set is no JSON"):
        leaves_from_config({"a": {"b": {1}}})
    with pytest.raises(InvalidError, match="/a: a name in a config is a text, not 1"):
        leaves_from_config({"a": {1: 2}})
