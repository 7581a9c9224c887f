from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.search.language import series_from_name
from tests.mapi.search.rows import POOL

from mapi.search import complete, filter_text
from mapi.search.nodes import ATTRIBUTES, STATS, STATUSES, Node

if TYPE_CHECKING:
    from mapi.search.completion import Kind

FIELDS = ["metrics.", "params.", "tags.", *ATTRIBUTES]
ORDER = ["=", "!=", "<", "<=", ">", ">="]


def options(text: str, kind: Kind = "filter") -> tuple[int, str, list[str]]:
    found = complete(text, len(text), series_from_name=series_from_name, kind=kind)
    shown = dict.fromkeys(
        one.text if one.kind == "literal" else f"<{one.kind}>{one.of}" for one in found.options
    )
    return found.start, found.prefix, list(shown)


@pytest.mark.parametrize(
    ("text", "start", "prefix", "expected"),
    [
        ("", 0, "", ["NOT", "(", *FIELDS]),
        ("na", 0, "na", ["name"]),
        ("name = a AND cr", 13, "cr", ["created"]),
        ("metrics.lo", 8, "lo", ["<metric>"]),
        ('metrics."eval/lo', 8, "eval/lo", ["<metric>"]),
        ("metrics.loss.m", 13, "m", [one for one in STATS if one.startswith("m")]),
        ("metrics.loss{", 13, "", ["}", "<label>loss"]),
        ("metrics.loss{a=1,sp", 17, "sp", ["<label>loss{a=1}"]),
        ("metrics.loss{split=va", 19, "va", ["<label value>loss split"]),
        ("metrics.loss{split=val}.", 24, "", list(STATS)),
        ("metrics.loss ", 13, "", [*ORDER, "IN", "NOT", "IS"]),
        ("metrics.loss IS ", 16, "", ["NOT", "MISSING", "NAN"]),
        ("metrics.loss.min IS ", 20, "", ["NOT", "MISSING"]),
        ("params.fit.dr", 7, "fit.dr", ["<param>"]),
        ("tags.stage = d", 13, "d", ["<value>tags.stage"]),
        ('tags.stage = "a b', 13, "a b", ["<value>tags.stage"]),
        ("status = f", 9, "f", ["failed"]),
        ("status IN (failed, ", 19, "", list(STATUSES)),
        ("name = a ", 9, "", ["AND", "OR"]),
        ("name = a a", 9, "a", ["AND"]),
        ("(name = a ", 10, "", ["AND", "OR", ")"]),
        ("foo = 1 AND na", 12, "na", []),
    ],
)
def test_what_could_stand_at_the_end(
    text: str, start: int, prefix: str, expected: list[str]
) -> None:
    assert options(text) == (start, prefix, expected)


def test_a_sort_order_and_columns_complete_by_their_own_grammar() -> None:
    assert options("-metrics.lo", "sort") == (9, "lo", ["<metric>"])
    assert options("-na", "sort") == (1, "na", ["name"])
    assert options("metrics.loss AT ", "columns") == (16, "", ["MIN", "MAX"])
    assert options("name AND", "columns")[2] == []


def test_only_the_text_before_the_cursor_counts() -> None:
    found = complete("name = a", 2, series_from_name=series_from_name)
    assert (found.start, found.prefix) == (0, "na")
    assert [one.text for one in found.options] == ["name"]


@given(POOL.trees(), st.integers(0, 400), st.sampled_from(["filter", "sort", "columns"]))
def test_no_place_of_a_text_is_a_traceback(tree: Node, cursor: int, kind: Kind) -> None:
    text = filter_text(tree)
    found = complete(text, cursor, series_from_name=series_from_name, kind=kind)
    assert 0 <= found.start <= min(cursor, len(text))
