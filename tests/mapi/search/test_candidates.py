"""What is offered at a caret: the grammar's words and the project's names, written so that they parse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.errors import InvalidError
from mapi.search import candidates_of, complete, expected_of, lookup_of, parse_filter
from mapi.search.nodes import Attribute, Param, Tag
from mapi.series.name_map import series_from_name
from mapi.wire.enums import CandidateKind
from mapi.wire.runs import RunFields, SeriesField

if TYPE_CHECKING:
    from collections.abc import Sequence

SERIES: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("loss", {}),
    ("loss", {"split": "val"}),
    ("loss", {"split": "train", "fold": "3"}),
    ("loss", {"scope": "eval"}),
    ("f1_score", {"raw": "f1-score"}),
)
VALUES: Final = ("adam", "0.1", "and", "a b", 'say "hi"', "", "é", "-7d")


FIELDS: Final = RunFields(
    metrics=[SeriesField(key=key, labels=labels) for key, labels in SERIES],
    label_values={},
    params=["lr", "fit.draws", "with space"],
    tags=["stage", "owner team"],
    is_complete=True,
)


def offered(text: str, values: Sequence[str] = ()) -> list[str]:
    found = complete(text, len(text), series_from_name=series_from_name)
    return [one.text for one in candidates_of(found, FIELDS, values)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("na", ["name"]),
        (
            "lo",
            [
                "metrics.loss",
                "metrics.loss{scope=eval}",
                "metrics.loss{split=val}",
                "metrics.loss{fold=3,split=train}",
            ],
        ),
        ("ow", ['tags."owner team"']),
        (
            "metrics.lo",
            ["loss", "loss{scope=eval}", "loss{split=val}", "loss{fold=3,split=train}"],
        ),
        ("metrics.eval/lo", ["loss{scope=eval}"]),
        ('metrics."eval', ["loss{scope=eval}"]),
        ("metrics.f1", ["f1_score{raw=f1-score}"]),
        ("metrics.loss{", ["}", "fold=", "scope=", "split="]),
        ("metrics.loss{split=train,", ["fold="]),
        ("metrics.loss{split=", ["train", "val"]),
        ("metrics.loss{split=t", ["train"]),
        ("metrics.loss{fold=3,split=", ["train"]),
        ("params.", ["lr", "fit.draws", '"with space"']),
        ("status = r", ["running"]),
        ("metrics.loss.ma", ["max", "max_step"]),
        ("name = a O", ["OR"]),
        ("metrics.loss < ", []),
    ],
)
def test_what_is_offered(text: str, expected: list[str]) -> None:
    assert offered(text) == expected


def test_a_kind_says_what_is_offered() -> None:
    found = complete("", 0, series_from_name=series_from_name)
    kinds = {one.text: one.kind for one in candidates_of(found, None, ())}
    assert kinds["metrics."] == kinds["status"] == CandidateKind.FIELD
    assert kinds["NOT"] == CandidateKind.WORD
    assert kinds["("] == CandidateKind.SIGN


def test_what_is_no_list_is_told_in_words() -> None:
    found = complete("metrics.loss < ", 15, series_from_name=series_from_name)
    assert expected_of(found) == ["a number"]


@pytest.mark.parametrize(
    ("text", "prefix", "values_of", "value_prefix"),
    [
        ("", None, None, ""),
        ("metrics.lo", "lo", None, ""),
        ("metrics.eval/lo", "", None, ""),
        ("lo", "lo", None, ""),
        ("params.fit.d", "fit.d", None, ""),
        ("metrics.loss{a=1,b", "loss", None, ""),
        ("metrics.loss{a=", "loss", None, ""),
        ("params.lr = 0", None, Param("lr"), "0"),
        ('tags."owner team" = "a b', None, Tag("owner team"), "a b"),
        ("experiment IN (a, b", None, Attribute("experiment"), "b"),
        ("created > -", None, None, ""),
    ],
)
def test_what_has_to_be_known_before(
    text: str, prefix: str | None, values_of: Param | Tag | Attribute | None, value_prefix: str
) -> None:
    found = lookup_of(complete(text, len(text), series_from_name=series_from_name))
    assert (found.prefix, found.values_of, found.value_prefix) == (prefix, values_of, value_prefix)


@pytest.mark.parametrize("of", ["params.opt", "tags.stage", "user", "experiment"])
@pytest.mark.parametrize("value", VALUES)
def test_a_value_that_is_offered_stands_for_itself(of: str, value: str) -> None:
    text = f"{of} = "
    (candidate,) = offered(text, [value])
    tree = parse_filter(text + candidate, series_from_name=series_from_name)
    found = tree.value  # type: ignore[union-attr]
    assert found == (0.1 if (of, value) == ("params.opt", "0.1") else value)


def first_fault(text: str) -> int:
    """Where a text is wrong; behind its end if it is not."""
    try:
        parse_filter(text, series_from_name=series_from_name)
    except InvalidError as error:
        return error.faults[0].offset or 0
    return len(text)


@given(
    st.text(
        st.sampled_from("metrics.loss{split=val}params tag \"'\\AND()<>=~!,0159-é\n\u0000"),
        max_size=60,
    ),
    st.integers(0, 60),
)
def test_no_text_and_no_caret_is_a_traceback(text: str, caret: int) -> None:
    found = complete(text, caret, series_from_name=series_from_name)
    lookup_of(found)
    for one in candidates_of(found, FIELDS, VALUES):
        completed = text[: found.start] + one.text
        # What is offered is never itself what is wrong: only what follows it is missing.
        assert first_fault(completed) >= found.start
