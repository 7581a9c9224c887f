from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.series.numbers import NUMBER_LENGTH_MAX, number_from_text

CASES: list[tuple[str, float | str | None]] = json.loads(
    (Path(__file__).parents[2] / "conformance" / "numbers.json").read_text("utf-8")
)["cases"]


@pytest.mark.parametrize(("text", "number"), CASES, ids=[repr(case[0]) for case in CASES])
def test_a_text_is_the_number_that_the_grammar_says(text: str, number: float | str | None) -> None:
    found = number_from_text(text)
    if number is None:
        assert found is None
    else:
        assert found is not None
        assert found == float(number)
        assert math.copysign(1, found) == math.copysign(1, float(number))


@given(st.floats(allow_nan=False))
def test_every_float_is_read_back_from_its_repr(number: float) -> None:
    assert number_from_text(repr(number)) == number


@given(st.text())
def test_no_text_is_a_number_that_python_reads_otherwise(text: str) -> None:
    found = number_from_text(text)
    if found is not None:
        assert found == float(text)


def test_a_megabyte_of_digits_is_a_text() -> None:
    assert number_from_text("1" * 1_000_000) is None
    assert number_from_text("0." + "1" * (NUMBER_LENGTH_MAX - 2)) is not None
    assert number_from_text("0." + "1" * (NUMBER_LENGTH_MAX - 1)) is None
