from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.search.language import NOW, series_from_name
from tests.mapi.search.rows import POOL

from mapi.errors import InvalidError
from mapi.search import (
    Given,
    Node,
    Search,
    SortKey,
    parse_filter,
    parse_sort,
    read_cursor,
    write_cursor,
)

if TYPE_CHECKING:
    from mapi.search import Position

KEY = b"a key of the tests"
LATER = NOW + timedelta(hours=1)
FILTER = parse_filter("created >= -7d AND name ~ 'a*'", series_from_name=series_from_name)
SORT = parse_sort("-metrics.loss,params.lr", series_from_name=series_from_name)
SEARCH = Search(7, NOW, FILTER, SORT)
POSITION: Position = (math.inf, None, "é", 2**53 + 1, NOW.isoformat(), "0190")


def cursor(search: Search = SEARCH) -> str:
    return write_cursor(search, POSITION, key=KEY, issued=LATER)


def refused(text: str, given: Given, *, key: bytes = KEY, hours: float = 1) -> str:
    with pytest.raises(InvalidError) as caught:
        read_cursor(text, given, key=key, now=LATER + timedelta(hours=hours))
    (fault,) = caught.value.faults
    assert fault.pointer == "/query/cursor"
    return fault.message


def test_a_cursor_brings_back_its_search_with_the_now_of_the_first_page() -> None:
    found = read_cursor(cursor(), Given(7), key=KEY, now=LATER + timedelta(hours=20))
    assert found == (SEARCH, POSITION)


@given(POOL.trees(), st.lists(st.builds(SortKey, POOL.fields()), max_size=1).map(tuple))
def test_any_search_comes_back_as_it_was(tree: Node, sort: tuple[SortKey, ...]) -> None:
    search = Search(7, NOW, tree, sort or SORT, in_trash=True)
    given_again = Given(7, tree, search.sort, in_trash=True)
    found, position = read_cursor(cursor(search), given_again, key=KEY, now=LATER)
    assert found == search
    assert position == POSITION


def test_what_comes_with_a_cursor_may_repeat_it_in_another_spelling() -> None:
    again = parse_filter('(created >= -7d) and name~"a*"', series_from_name=series_from_name)
    assert read_cursor(cursor(), Given(7, again, SORT), key=KEY, now=LATER)[0] == SEARCH


@pytest.mark.parametrize(
    ("given_also", "word"),
    [
        (Given(8), "project"),
        (Given(7, parse_filter("name = a", series_from_name=series_from_name)), "filter"),
        (Given(7, sort=parse_sort("name", series_from_name=series_from_name)), "sort"),
        (Given(7, in_trash=True), "trash"),
    ],
)
def test_a_cursor_of_another_search_is_refused(given_also: Given, word: str) -> None:
    assert word in refused(cursor(), given_also)


def test_a_cursor_ends_after_a_day() -> None:
    assert read_cursor(cursor(), Given(7), key=KEY, now=LATER + timedelta(hours=24))
    assert "24 hours" in refused(cursor(), Given(7), hours=24.001)


def test_a_cursor_of_another_key_is_refused() -> None:
    assert "no cursor" in refused(cursor(), Given(7), key=b"another")


def test_no_changed_character_passes() -> None:
    text = cursor()
    for place, character in enumerate(text):
        other = "A" if character != "A" else "B"
        # The last character carries bits that decode to nothing.
        if place < len(text) - 1:
            assert refused(text[:place] + other + text[place + 1 :], Given(7))


@pytest.mark.parametrize("text", ["", "a", "====", "é", "a b", "\n", "A" * 100, "A" * 100_000])
def test_what_is_no_cursor_is_refused_and_no_traceback(text: str) -> None:
    assert "no cursor" in refused(text, Given(7))


@given(st.text())
def test_no_text_is_a_traceback(text: str) -> None:
    assert refused(text, Given(7))


def test_a_cursor_fits_into_an_address() -> None:
    longest = parse_filter(
        " OR ".join(f"tags.key_{number} ~ 'some text {number}*'" for number in range(50)),
        series_from_name=series_from_name,
    )
    assert len(cursor(Search(7, NOW, longest, SORT))) < 1_500
