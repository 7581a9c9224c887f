from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.search.language import NOW, series_from_name
from tests.mapi.search.rows import POOL

from mapi.access.cursors import Cursors
from mapi.errors import InvalidError
from mapi.search import (
    Given,
    Node,
    Search,
    SortKey,
    cursor_content,
    parse_filter,
    parse_sort,
    search_from_cursor,
)

if TYPE_CHECKING:
    from mapi.search import Position

FILTER = parse_filter("created >= -7d AND name ~ 'a*'", series_from_name=series_from_name)
SORT = parse_sort("-metrics.loss,params.lr", series_from_name=series_from_name)
SEARCH = Search(7, NOW, FILTER, SORT)
POSITION: Position = (math.inf, None, "é", 2**53 + 1, NOW.isoformat(), "0190")


def content(search: Search = SEARCH) -> dict[str, Any]:
    """Return what a cursor says, as it comes back from one."""
    found: dict[str, Any] = json.loads(json.dumps(cursor_content(search, POSITION)))
    return found


def test_a_cursor_brings_back_its_search_with_the_now_of_the_first_page() -> None:
    assert search_from_cursor(content(), Given(7)) == (SEARCH, POSITION)


@given(POOL.trees(), st.lists(st.builds(SortKey, POOL.fields()), max_size=1).map(tuple))
def test_any_search_comes_back_as_it_was(tree: Node, sort: tuple[SortKey, ...]) -> None:
    search = Search(7, NOW, tree, sort or SORT, in_trash=True)
    given_again = Given(7, tree, search.sort, in_trash=True)
    assert search_from_cursor(content(search), given_again) == (search, POSITION)


def test_what_comes_with_a_cursor_may_repeat_it_in_another_spelling() -> None:
    again = parse_filter('(created >= -7d) and name~"a*"', series_from_name=series_from_name)
    assert search_from_cursor(content(), Given(7, again, SORT))[0] == SEARCH


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
    with pytest.raises(InvalidError) as caught:
        search_from_cursor(content(), given_also)
    (fault,) = caught.value.faults
    assert fault.pointer == "/query/cursor"
    assert word in fault.message


def test_a_cursor_fits_into_an_address() -> None:
    longest = parse_filter(
        " OR ".join(f"tags.key_{number} ~ 'some text {number}*'" for number in range(50)),
        series_from_name=series_from_name,
    )
    said = cursor_content(Search(7, NOW, longest, SORT), POSITION)
    assert len(Cursors(b"a secret").write({"list": "runs"}, said)) < 1_500
