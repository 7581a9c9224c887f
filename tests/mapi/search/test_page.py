"""The grammar that the page of searches prints, against the parser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mapi.search.ebnf import Grammar
from tests.mapi.search.language import Universe

from mapi.search import filter_text
from mapi.search.nodes import ATTRIBUTES, KINDS, STATUSES, Node

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "platform" / "search.md").read_text(encoding="utf-8")
CASES = ROOT / "tests" / "conformance" / "search"
FAULTS = json.loads((CASES / "faults.json").read_text(encoding="utf-8"))
EXAMPLES = json.loads((CASES / "examples.json").read_text(encoding="utf-8"))
SPACED, TIGHT = re.findall(r"^```ebnf\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
GRAMMAR = Grammar(
    SPACED,
    TIGHT,
    specials={
        "a to z": "[a-z]",
        "a to z and A to Z": "[a-zA-Z]",
        "0 to 9": "[0-9]",
        "0 to 9, a to f and A to F": "[0-9a-fA-F]",
        "any character but a quotation mark, a backslash and U+0000": r"[^\"'\\\0]",
    },
)
#: What a grammar without types and counts cannot say.
BEYOND: Final = re.compile(
    # Types.
    r"keyword|no order|patterns are for|is none of|IS NAN asks|no quotes|a number is expected, not '"
    r"|no time|infinity is written|beyond the largest|years ago|occurs in no value"
    # Counts, and what may stand once.
    r"|at most|levels are open|has (0|1 to \d+) characters|1 to 64|a metric has a name"
    r"|given twice|a key of this order already"
)
TREES = Universe(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    st.floats(allow_nan=False),
    st.just("run_01900000-0000-7000-8000-000000000001"),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
).trees()


@settings(max_examples=100)
@given(TREES)
def test_the_grammar_of_the_page_derives_every_filter(tree: Node) -> None:
    assert GRAMMAR.derives("filter", filter_text(tree))


@pytest.mark.parametrize("kind", ["filter", "sort", "columns"])
def test_the_grammar_of_the_page_derives_its_examples(kind: str) -> None:
    blocks = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    if kind == "filter":
        lines += [case["filter"] for case in EXAMPLES["cases"] if "filter" in case]
    assert lines
    for line in lines:
        assert GRAMMAR.derives(kind, line), line


@pytest.mark.parametrize(
    "case", FAULTS, ids=[f"{one['given']}: {one['text']!a}"[:60] for one in FAULTS]
)
def test_what_the_grammar_of_the_page_derives_is_refused_for_its_types_alone(
    case: dict[str, Any],
) -> None:
    if GRAMMAR.derives(case["given"], case["text"]):
        assert BEYOND.search(case["message"]), case["message"]


def test_the_page_lists_every_attribute_and_word() -> None:
    for word in (*ATTRIBUTES, *STATUSES, *KINDS):
        assert f"`{word}`" in PAGE
