"""What stands in a line whose end, or another's, was damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.console import read_console
from expr_tracker.store.joined import (
    bytes_between,
    is_whole_with,
    joined_metric_lines,
    joined_objects,
)
from expr_tracker.store.lines import decode_line, encode_line
from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from pathlib import Path

values = st.recursive(
    st.none() | st.integers(-9, 9) | st.floats(0, 1) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)
rows = st.builds(
    lambda step, members: {"_step": step, **members},
    st.integers(-9, 9),
    st.dictionaries(st.sampled_from(["a", "b", "é", "_time"]), values),
)


@given(st.lists(rows, min_size=2, max_size=4), st.lists(st.binary(max_size=1), min_size=3))
def test_rows_with_at_most_a_byte_between_them_are_all_found(
    lines: list[dict[str, Any]], between: list[bytes]
) -> None:
    line = encode_line(lines[0])[:-1]
    for row, byte in zip(lines[1:], between, strict=False):
        line += byte.replace(b"\n", b"") + encode_line(row)[:-1]
    found = min(len(lines), len(between) + 1)
    assert joined_metric_lines(line) == lines[:found]


@given(rows, st.data())
def test_one_byte_of_a_row_that_flips_never_makes_two_rows_of_it(
    row: dict[str, Any], data: st.DataObject
) -> None:
    line = encode_line(row)[:-1]
    place = data.draw(st.integers(0, len(line) - 1))
    byte = data.draw(st.binary(min_size=1, max_size=1) | st.sampled_from([b"}", b"{", b'"', b","]))
    damaged = line[:place] + byte + line[place + 1 :]
    if decode_line(damaged) is None:
        assert joined_objects(damaged) == []


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"}",
        b'{"_step":1}',
        b'{"_step":1}xx{"_step":2}',
        b'{"_step":1}x{"_step":2',
        b'{"_step":1}x{"_step":"2"}',
        b'{"_step":1}x{"_step":2}x',
        b'{"_step":1}x{"a":1}',
        b'{"_step":1}x{"_step":2,"a":"\xff"}',
        b'{"_step":1}x{"_attempt":2}x{"_step":2}',
        b'{"_step":1}x' + b'{"_step":1,"a":' * 4000,
    ],
)
def test_a_line_is_left_unreadable_unless_all_of_it_is_whole(line: bytes) -> None:
    if line != b'{"_step":1}':
        assert decode_line(line) is None
        assert joined_metric_lines(line) == []


def is_broken_in_two(head: bytes, tail: bytes) -> bool:
    return any(is_whole_with(byte, head, tail) for byte in bytes_between(head, tail))


def test_two_halves_are_one_line_whatever_byte_the_line_end_took_the_place_of() -> None:
    line = '{"_step":1,"a":[0.5,{"x":"é"}],"b":true}'.encode()
    for place in range(1, len(line) - 1):
        assert is_broken_in_two(line[:place], line[place + 1 :]), place
    assert not is_broken_in_two(b'{"_step":1,"a":x', b'{"_step":2,"a":y}')
    assert not is_broken_in_two(b'{"_step":1', b"nonsense")


#: Everything that a line may hold, what older programs wrote included.
MANIFOLD = (
    '{"_step":1,"a":[0.5,-1.25e-7,{"x":"é日😀"}],"b":true,"n":null,"f":false,"c":NaN,"i":-Infinity,'
    '"j":Infinity,"e":1e999,"s":"a\\u00e9\\n\\ud83d\\ude00\\\\ x","z":[]}'
).encode()


def test_the_bytes_that_are_tried_between_two_halves_are_all_that_can_stand_there() -> None:
    for place in range(1, len(MANIFOLD) - 1):
        assert is_broken_in_two(MANIFOLD[:place], MANIFOLD[place + 1 :]), MANIFOLD[:place]


@given(st.data())
def test_trying_few_bytes_finds_what_trying_all_of_them_does(data: st.DataObject) -> None:
    line = bytearray(MANIFOLD)
    flipped = data.draw(st.integers(0, len(line) - 1))
    line[flipped] = data.draw(st.sampled_from(b'"\\,[]{}:1aeu\xc3') | st.integers(11, 255))
    place = data.draw(st.integers(1, len(line) - 2))
    head, tail = bytes(line[:place]), bytes(line[place + 1 :])
    assert is_broken_in_two(head, tail) == any(
        decode_line(head + bytes((byte,)) + tail) is not None for byte in range(256)
    )


def test_nothing_is_tried_where_the_first_line_is_damaged_itself() -> None:
    tail = b'1,"b":2}'
    assert bytes_between(b'{"_step":1,"a":', tail)
    for head in (b'{"_step":1;"a":12345678,"c":', b"", b"x", b'{"_step":1}', b'{"a":' * 5000):
        assert bytes_between(head, tail) == b""
    assert len(bytes_between(b'{"_step":1,"a":"text', b'more"}')) < 5


def test_spans_and_printed_lines_that_are_joined_are_read_too(tmp_path: Path) -> None:
    lines = [encode_line({"_time": 1.0, "source": "stdout", "text": text}) for text in "abc"]
    path = tmp_path / "console.jsonl"
    path.write_bytes(lines[0][:-1] + b"J" + lines[1] + lines[2])
    assert [row["text"] for row in whole_rows(path)] == ["a", "b", "c"]
    assert [row["text"] for row in read_console(path)] == ["a", "b", "c"]
