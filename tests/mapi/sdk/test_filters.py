"""The builder writes what the parser reads: the same tree, always."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mapi
from mapi.sdk import filters as f
from mapi.search import filter_text, parse_filter
from mapi.series.name_map import series_from_name

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (lambda: f.metric("loss", split="val").min < 0.3, "metrics.loss{split=val}.min < 0.3"),
        (lambda: f.metric("loss", {"split": "a b"}) >= 1, 'metrics.loss{split="a b"} >= 1'),
        (lambda: f.metric("loss").is_nan(), "metrics.loss IS NAN"),
        (lambda: f.metric("loss", rank="1").count > 3, "metrics.loss{rank=1}.count > 3"),
        (lambda: f.param("lr") == 0.1, "params.lr = 0.1"),
        (lambda: f.param("adam") == True, 'params.adam = "true"'),  # noqa: E712 - a filter
        (lambda: f.param("a b") != "x", 'params."a b" != "x"'),
        (lambda: f.param("lr").one_of(1, 2), "params.lr IN (1, 2)"),
        (lambda: f.tag("team").matches("ads*"), 'tags.team ~ "ads*"'),
        (lambda: ~f.tag("mapi.x").is_missing(), "NOT (tags.mapi.x IS MISSING)"),
        (lambda: f.attribute("status") == "failed", "status = failed"),
        (lambda: f.attribute("status").one_of("failed", "lost"), "status IN (failed, lost)"),
        (lambda: f.attribute("created") >= timedelta(days=7), "created >= -1w"),
        (lambda: f.attribute("created") >= timedelta(hours=36), "created >= -36h"),
        (
            lambda: f.attribute("started") < datetime(2026, 11, 1, tzinfo=UTC),
            "started < 2026-11-01T00:00:00Z",
        ),
        (
            lambda: (
                (f.param("a") == 1) & (f.param("b") == 2) & (f.param("c") == 3)
                | ~(f.param("d") == 4)
            ),
            "(params.a = 1 AND params.b = 2 AND params.c = 3) OR (NOT (params.d = 4))",
        ),
    ],
)
def test_an_expression_is_the_text_that_it_looks_like(
    built: Callable[[], f.Filter], text: str
) -> None:
    assert str(built()) == text


@pytest.mark.parametrize(
    ("built", "words"),
    [
        (lambda: f.metric("Loss"), "is no key"),
        (lambda: f.metric("loss", split=""), "1 to 200"),
        (lambda: f.metric("loss") < "much", "number"),
        (lambda: f.metric("loss") < math.nan, "NAN|number"),  # noqa: PLW0177 - a filter
        (lambda: f.metric("loss").matches("a*"), "expected|text|~"),
        (lambda: f.attribute("status") == "great", "queued"),
        (lambda: f.attribute("status") < "failed", "no order"),
        (lambda: f.attribute("mood"), "not in the list"),  # type: ignore[arg-type]
        (lambda: f.attribute("created") > 3, "time"),
        (lambda: f.attribute("created") > datetime(2026, 1, 1), "no zone"),  # noqa: DTZ001
        (lambda: f.attribute("created") > timedelta(seconds=0.5), "whole seconds"),
        (lambda: f.param(""), "1 to 250"),
        (lambda: f.param("lr").one_of(), "value|expected"),
        (lambda: f.tag("a") == None, "no number, text"),  # noqa: E711 - a filter
    ],
)
def test_what_the_language_cannot_say_is_refused_where_it_is_built(
    built: Callable[[], object], words: str
) -> None:
    with pytest.raises(mapi.InvalidError, match=words):
        built()


def test_a_filter_is_no_truth_and_a_field_no_key() -> None:
    one = f.param("a") == 1
    with pytest.raises(TypeError, match="combine with"):
        bool(one)
    with pytest.raises(TypeError, match="combine with"):
        not one  # noqa: B018 - what is asked is whether it may be
    with pytest.raises(TypeError, match="unhashable"):
        {f.param("a"): 1}
    with pytest.raises(TypeError):
        one & "params.a = 1"  # type: ignore[operator]


def test_a_field_is_a_column_and_a_sort_key() -> None:
    loss = f.metric("loss", split="val").min
    assert f.joined_texts([loss, "params.lr"]) == "metrics.loss{split=val}.min,params.lr"
    assert -loss == "-metrics.loss{split=val}.min"
    assert f.joined_texts(loss) == "metrics.loss{split=val}.min"


_keys = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
_texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029"),
    min_size=1,
    max_size=12,
)
_numbers = st.floats(allow_nan=False) | st.integers(-(2**60), 2**60)
_metrics = st.builds(
    lambda key, labels, stat: getattr(f.metric(key, labels), stat),
    _keys,
    st.dictionaries(_keys.filter(lambda key: key not in {"stream", "rank"}), _texts, max_size=3),
    st.sampled_from(["last", "min", "max", "mean", "count", "nonfinite", "min_step", "max_step"]),
)
_leaves = st.one_of(
    st.builds(lambda field, value: field < value, _metrics, _numbers),
    st.builds(lambda field: field.is_missing(), _metrics),
    st.builds(lambda key, value: f.param(key) == value, _texts, _numbers | _texts),
    st.builds(lambda key, values: f.param(key).one_of(*values), _texts, st.lists(_texts, min_size=1, max_size=3)),
    st.builds(lambda key, text: f.tag(key).matches(text), _texts.filter(lambda key: not key.startswith("mapi.")), _texts),
    st.builds(lambda span: f.attribute("created") > span, st.timedeltas(timedelta(0), timedelta(days=900)).map(lambda one: timedelta(seconds=int(one.total_seconds())))),
)  # fmt: skip
_filters = st.recursive(
    _leaves,
    lambda below: st.one_of(
        st.builds(lambda a, b: a & b, below, below),
        st.builds(lambda a, b: a | b, below, below),
        st.builds(lambda a: ~a, below),
    ),
    max_leaves=6,
)


@given(_filters)
def test_parsing_what_was_built_gives_the_same_tree_and_the_same_text(found: f.Filter) -> None:
    read = parse_filter(str(found), series_from_name=series_from_name)
    assert read == found.node
    assert filter_text(read) == str(found)
