from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.console import collapse, read_console
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("1%\r50%\r100%", "100%"),
        ("longer\rab", "abnger"),
        ("longer\r\x1b[Kab", "ab"),
        ("longer\x1b[2K\rab", "ab"),
        ("abcdef\b\b\b\x1b[1Kx", "   xef"),
        ("done\r", "done"),
        ("done\r\r\n", "done\n"),
        ("ab\b\bxy", "xy"),
        ("\b\bx", "x"),
        ("a\r\nb\rc\n", "a\nc\n"),
        ("\x1b[32mgreen\x1b[0m", "\x1b[32mgreen\x1b[0m"),
        ("\x1b[32mred\x1b[0m\r\x1b[31mgreen\x1b[0m", "green"),
        ("\x1b]0;title\x07a\rb", "b"),
        ("", ""),
        ("\r", ""),
    ],
)
def test_a_text_collapses_to_what_a_terminal_shows(text: str, shown: str) -> None:
    assert collapse(text) == shown


words = st.text(alphabet="abc \x1b[K2m", max_size=6)


consoles = st.lists(st.one_of(words, st.sampled_from(["\r", "\b", "\n", "\x1b[K"]))).map("".join)


@given(consoles)
def test_collapsing_twice_is_collapsing_once_and_leaves_no_movement(text: str) -> None:
    once = collapse(text)
    assert "\r" not in once
    assert "\b" not in once
    assert collapse(once) == once


@given(st.lists(st.text(alphabet="abc ", max_size=8), min_size=1, max_size=5))
def test_states_written_over_each_other_show_the_last_and_what_sticks_out(
    states: list[str],
) -> None:
    width = max(map(len, states))
    expected = "".join(
        next((state[column] for state in reversed(states) if len(state) > column), "")
        for column in range(width)
    )
    assert collapse("\r".join(states)) == expected


@given(st.text(alphabet=st.characters(exclude_characters="\r\b")))
def test_text_without_movement_is_returned_as_it_is(text: str) -> None:
    assert collapse(text) == text


def test_a_long_bar_collapses_in_time_in_proportion() -> None:
    assert collapse("\r" * 500_000 + "ab\b" * 100_000 + "\x1b[" * 200_000).startswith("aaa")


def test_a_console_file_reads_collapsed_or_raw_and_skips_what_is_not_its_own(
    tmp_path: Path,
) -> None:
    path = tmp_path / "console.jsonl"
    row = {"_time": 1.0, "source": "stderr", "text": "1%\r2%"}
    path.write_bytes(
        encode_line(row) + b"not json\n" + encode_line({"_step": 1}) + b'{"text": "torn'
    )
    assert list(read_console(path)) == [{**row, "text": "2%"}]
    assert list(read_console(path, raw=True)) == [row]
    with pytest.raises(FileNotFoundError):
        list(read_console(tmp_path / "none.jsonl"))
