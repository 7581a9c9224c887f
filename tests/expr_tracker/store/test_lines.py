"""The line format: what is written is strict JSON, and what is read is what was written."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from expr_tracker.store.lines import (
    decode_line,
    encode_exact_line,
    encode_finite,
    encode_line,
    is_metric_row,
)
from expr_tracker.surrogates import storable

keys = st.text(
    st.characters(exclude_categories=()) | st.sampled_from('~/"\\\n\0\ud800\udfff'), max_size=6
)
numbers = (
    st.floats() | st.integers() | st.sampled_from([math.nan, math.inf, -math.inf, 2**64, -(2**63)])
)
trees = st.recursive(
    st.none() | st.booleans() | numbers | keys,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
rows = st.dictionaries(keys.filter(lambda key: key != "_nonfinite"), trees, max_size=5)


def fail(token: str) -> NoReturn:
    """Refuse a number that strict JSON does not have."""
    raise AssertionError(f"{token} is no JSON")


def stored(value: Any) -> Any:
    """Return ``value`` as a file holds it; a row whose names become one is no example."""
    if isinstance(value, dict):
        members = {storable(key): stored(item) for key, item in value.items()}
        assume(len(members) == len(value))
        return members
    return [stored(item) for item in value] if isinstance(value, list) else storable(value)


@given(rows)
def test_a_row_survives_its_line_and_the_line_is_strict_json(row: dict[str, Any]) -> None:
    line = encode_line(row)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    strict = json.loads(line.decode("utf-8"), parse_constant=fail)
    assert isinstance(strict, dict)
    decoded = decode_line(line)
    assert decoded is not None
    assert list(decoded) == list(stored(row))
    assert repr(decoded) == repr(stored(row))


@given(st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False)))
def test_the_fast_encoder_writes_the_same_numbers(row: dict[str, float]) -> None:
    assert decode_line(encode_finite(row) + b"\n") == row


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_comes_back_to_the_last_bit(number: float) -> None:
    decoded = decode_line(encode_line({"x": number}))
    assert decoded is not None
    assert math.copysign(1, decoded["x"]) == math.copysign(1, number)
    assert decoded["x"].hex() == number.hex()


@given(st.binary(max_size=40))
def test_no_bytes_make_reading_raise(line: bytes) -> None:
    row = decode_line(line)
    assert row is None or isinstance(row, dict)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"\0\0\0",
        b"nonsense",
        b'{"a": 1',
        b'{"a": 1}}',
        b"[1, 2]",
        b"5",
        b"null",
        b'"text"',
        b'{"a": "\xff"}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": ' + b"[" * 100_000 + b"}",
    ],
    ids=lambda line: repr(line[:12]),
)
def test_what_is_no_object_is_unreadable(line: bytes) -> None:
    assert decode_line(line) is None


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"x": Infinity}', math.inf),
        (b'{"x": -Infinity}', -math.inf),
        (b'{"x": 1e999}', math.inf),
        (b'{"x": null, "_nonfinite": {"/x": "-Infinity"}}', -math.inf),
        (b'{"x": "\\ud800"}', "\ud800"),
        (b'  {"x": 1}  \r', 1),
        (b'{"x": 1, "x": 2}', 2),
        (b'{"x": 99999999999999999999999}', 99999999999999999999999),
    ],
)
def test_older_spellings_are_read(line: bytes, value: object) -> None:
    row = decode_line(line)
    assert row is not None
    assert row["x"] == value


def test_bare_nan_tokens_of_older_files_are_read() -> None:
    row = decode_line(b'{"x": NaN, "y": [1, NaN]}')
    assert row is not None
    assert math.isnan(row["x"])
    assert math.isnan(row["y"][1])


def test_half_a_surrogate_pair_is_written_as_the_text_of_its_escape() -> None:
    assert encode_line({"a": "x\ud800"}) == b'{"a":"x\\\\ud800"}\n'
    assert encode_line({"\udcff": ["\ud83d\ude00"]}) == '{"\\\\udcff":["😀"]}\n'.encode()


def test_a_line_of_file_names_gives_back_names_that_are_no_text() -> None:
    row = {"path": "r\udce9.txt", "more": ["ä", 1]}
    assert decode_line(encode_exact_line(row)) == row
    assert encode_exact_line({"a": "ä"}) == encode_line({"a": "ä"})


def test_the_bare_escapes_of_older_lines_are_read() -> None:
    assert decode_line(b'{"a":"x\\ud800"}') == {"a": "x\ud800"}


def test_text_is_plain_utf_8() -> None:
    assert encode_line({"ä": "日本"}) == '{"ä":"日本"}\n'.encode()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"_step": 0}, True),
        ({"_step": -1, "_time": 1.0}, True),
        ({"_step": True}, True),
        ({"_step": 1.0}, False),
        ({"_step": None}, False),
        ({"_attempt": 2}, False),
        ({}, False),
    ],
)
def test_a_metric_row_is_one_with_a_whole_step(row: dict[str, Any], expected: bool) -> None:
    assert is_metric_row(row) is expected
