from __future__ import annotations

import contextlib
import string

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.mapi.search.language import Universe, series_from_name

from mapi.errors import InvalidError
from mapi.search import (
    Node,
    SortKey,
    columns_text,
    filter_text,
    parse_columns,
    parse_filter,
    parse_sort,
    sort_text,
)
from mapi.search.nodes import EVERYTHING, MetricAt, levels, predicate_count
from mapi.search.source import TEXT_LENGTH_MAX

STORABLE = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
RUN = "run_01900000-0000-7000-8000-000000000001"
ANY = Universe(
    texts=STORABLE | st.sampled_from(["AND", "0.1", "nan", "-7d", 'a"b\\', "\n\t'"]),
    numbers=st.floats(allow_nan=False),
    ids=st.sampled_from([RUN, "no run"]),
    experiments=STORABLE,
)


def parsed(text: str) -> Node:
    return parse_filter(text, series_from_name=series_from_name)


@given(ANY.trees())
def test_what_is_printed_parses_to_the_tree_it_was_printed_from(tree: Node) -> None:
    text = filter_text(tree)
    assume(levels(tree) <= 10)
    assume(len(text) <= TEXT_LENGTH_MAX)
    assert parsed(text) == tree


@given(ANY.trees())
def test_printing_what_was_printed_changes_nothing(tree: Node) -> None:
    text = filter_text(tree)
    assume(levels(tree) <= 10)
    assume(len(text) <= TEXT_LENGTH_MAX)
    assert filter_text(parsed(text)) == text


SCRAPS = [
    "é",
    "𝄞",
    " AND ",
    "NOT ",
    "metrics.",
    "params.",
    "name",
    " IS ",
    "MISSING",
    "nan",
    "-7d",
]


@given(st.lists(st.sampled_from([*string.printable, *SCRAPS]), max_size=20).map("".join))
def test_any_text_is_a_tree_that_prints_or_a_fault_inside_of_it(text: str) -> None:
    try:
        tree = parsed(text)
    except InvalidError as error:
        (fault,) = error.faults
        assert fault.pointer == "/query/filter"
        assert fault.offset is not None
        assert fault.length is not None
        assert 0 <= fault.offset <= fault.offset + fault.length <= len(text)
        assert fault.message
    else:
        assert parsed(filter_text(tree)) == tree


@given(ANY.trees(), st.data())
def test_a_cut_of_a_filter_is_never_a_traceback(tree: Node, data: st.DataObject) -> None:
    text = filter_text(tree)
    cut = data.draw(st.integers(0, len(text)))
    with contextlib.suppress(InvalidError):
        assert predicate_count(parsed(text[:cut])) <= predicate_count(tree)


@given(
    st.lists(
        st.builds(SortKey, ANY.fields(), st.booleans()),
        min_size=1,
        max_size=3,
        unique_by=lambda key: key.field,
    )
)
def test_a_sort_order_survives_its_canonical_text(sort: list[SortKey]) -> None:
    assert parse_sort(sort_text(sort), series_from_name=series_from_name) == tuple(sort)


AT = st.builds(
    MetricAt,
    st.sampled_from(["acc", "f1"]),
    st.sampled_from([(), (("split", "a b"),)]),
    st.sampled_from(["min", "max"]),
    st.just("loss"),
    st.sampled_from([(), (("split", "val"),)]),
)


@given(st.lists(ANY.fields() | AT, max_size=8))
def test_columns_survive_their_canonical_text(columns: list[object]) -> None:
    text = columns_text(columns)  # type: ignore[arg-type]  # a list of two strategies
    assert parse_columns(text, series_from_name=series_from_name) == tuple(columns)


def test_a_blank_filter_lets_everything_through_and_prints_as_nothing() -> None:
    assert parsed(" \n ") == EVERYTHING
    assert filter_text(EVERYTHING) == ""
