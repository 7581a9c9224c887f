"""Which backends are meant, and which arguments are theirs."""

from __future__ import annotations

from typing import Any

import pytest

from expr_tracker.backends import choose
from expr_tracker.errors import OptionError


def test_the_local_log_is_no_backend_and_what_comes_twice_counts_once() -> None:
    choice = choose(["jsonl", "mapi", "wandb", "mapi"], None)
    assert list(choice.makes) == ["mapi"]
    assert choice.missing == ("wandb",)
    assert choose([], {"mapi": "anything"}).makes == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("https://mapi.example", "expected a dict of arguments by name"),
        ({3: "x"}, "expected a dict of arguments by name"),
        ({"tokem": "secret-value"}, "Did you mean 'token'"),
        ({"token": 3}, "expected a text, not int"),
        ({"token": b"secret-value"}, "expected a text, not bytes"),
        ({"url": ""}, "expected a text, not an empty one"),
    ],
    ids=str,
)
def test_an_argument_that_breaks_its_rule_is_named_and_its_value_is_not(
    arguments: Any, said: str
) -> None:
    with pytest.raises(OptionError) as error:
        choose(["mapi"], {"mapi": arguments})
    assert said in str(error.value)
    assert "secret-value" not in str(error.value)


def test_arguments_that_are_none_are_left_out() -> None:
    assert set(choose(["mapi"], {"mapi": {"url": None, "token": None}}).makes) == {"mapi"}
    assert set(choose(["mapi"], {"mapi": None}).makes) == {"mapi"}
