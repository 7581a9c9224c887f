from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.series.name_map import (
    SPAN_METERS,
    full_name,
    has_shortened_name,
    is_full_name,
    name_from_series,
    series_from_name,
    with_writer,
    writer_from_labels,
)
from mapi.series.names import RESERVED_LABELS, canonical_labels, check_key, check_labels

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "conformance" / "names.json").read_text("utf-8")
)["cases"]

whole_text = st.text(st.characters(codec="utf-8"))
#: Names made of what the rules look at, so that each rule is met and nearly met.
tricky_text = st.lists(
    st.sampled_from(
        [
            "loss",
            "time_ms",
            "count",
            "gpu_percent",
            "/",
            "//",
            "{",
            "}",
            "=",
            ",",
            '"',
            "\\",
            ".",
            "~",
            "%",
            "split=val",
            "{split=val}",
            "{a=b,c=d}",
            "raw",
            "scope",
            "span",
            "stream",
            "A",
            "é",
            "\n",
            " ",
            "x" * 70,
        ]
    )
).map("".join)
#: Nearly all of them too long for a label.
long_text = st.text(st.characters(codec="utf-8"), min_size=150, max_size=400)


@pytest.mark.parametrize("case", CASES, ids=[repr(case["name"]) for case in CASES])
def test_a_name_becomes_the_series_of_its_rule_and_comes_back(case: dict[str, Any]) -> None:
    key, labels = series_from_name(case["name"])
    assert (key, dict(labels)) == (case["key"], case["labels"])
    assert name_from_series(key, labels) == case["name"]


@given(whole_text | tricky_text)
def test_every_name_comes_back_unless_it_is_too_long(name: str) -> None:
    key, labels = series_from_name(name)
    if has_shortened_name(labels):
        assert len(name) > 20
    else:
        assert name_from_series(key, labels) == name


@given(whole_text | tricky_text | long_text)
def test_every_name_comes_back_with_the_one_that_is_kept_beside_it(name: str) -> None:
    key, labels = series_from_name(name)
    kept = full_name(name, labels)
    if "\0" in name:
        assert kept is None
        return
    assert name_from_series(key, labels, kept=kept) == name
    assert (kept is None) != has_shortened_name(labels)


@given(long_text, st.sampled_from(["", "data"]), st.integers(0, 3))
def test_a_kept_name_is_that_of_its_series_and_of_no_other(
    name: str, stream: str, rank: int
) -> None:
    key, labels = series_from_name(name)
    kept = full_name(name, with_writer(labels, stream=stream, rank=rank))
    if kept is None:
        return
    assert series_from_name(kept) == (key, labels)
    assert is_full_name(kept, key, with_writer(labels, stream=stream, rank=rank))
    assert not is_full_name(f"{kept}x", key, labels)
    assert not is_full_name(kept, f"{key}x", labels)
    assert not is_full_name(kept, key, ())


def test_a_kept_name_can_be_stored() -> None:
    name = "Loss\ud800 " * 60
    key, labels = series_from_name(name)
    kept = full_name(name, labels)
    assert kept == "Loss? " * 60
    assert series_from_name(kept) == (key, labels)
    name = "Loss\0 " * 60
    assert full_name(name, series_from_name(name)[1]) is None


def test_a_short_name_is_the_full_name_of_no_series() -> None:
    for name in ("loss", "f1-score", f"x~{'0' * 64}"):
        assert not is_full_name(name, *series_from_name(name))


@given(whole_text | tricky_text)
def test_every_series_of_a_name_passes_the_validator(name: str) -> None:
    key, labels = series_from_name(name)
    assert check_key(key) is None
    assert check_labels(dict(labels)) is None
    assert labels == canonical_labels(dict(labels))


@given(tricky_text, tricky_text)
def test_two_names_never_share_a_series(one: str, other: str) -> None:
    if one != other:
        assert series_from_name(one) != series_from_name(other)


@given(st.text(st.characters(codec="utf-8"), min_size=201, max_size=400))
def test_a_long_name_keeps_its_beginning_and_a_hash(name: str) -> None:
    name = f"é{name}"
    key, labels = series_from_name(name)
    ((label, value),) = labels
    if label == "raw":
        assert has_shortened_name(labels)
        assert re.fullmatch(r".{118,120}~[0-9a-f]{64}", value)
        assert series_from_name(name + "x") != (key, labels)


def test_a_short_name_that_looks_shortened_is_not_taken_for_one() -> None:
    name = f"x~{'0' * 64}"
    key, labels = series_from_name(name)
    assert not has_shortened_name(labels)
    assert name_from_series(key, labels) == name


def test_a_path_of_200_characters_is_a_scope_and_one_of_201_is_not() -> None:
    assert series_from_name(f"{'a' * 200}/b") == ("b", (("scope", "a" * 200),))
    assert series_from_name(f"{'a' * 201}/b")[1][0][0] == "raw"


@pytest.mark.parametrize("label", sorted(RESERVED_LABELS))
def test_a_reserved_label_in_a_name_is_text(label: str) -> None:
    key, labels = series_from_name(f"loss{{{label}=x}}")
    assert [name for name, _ in labels] == ["raw"]
    assert name_from_series(key, labels) == f"loss{{{label}=x}}"


def test_half_a_surrogate_pair_does_not_break_the_map() -> None:
    key, labels = series_from_name("a\ud800b")
    assert check_labels(dict(labels)) is None
    assert name_from_series(key, labels) == "a?b"


def test_more_than_eight_labels_in_a_name_are_text() -> None:
    inner = ",".join(f"{letter}={letter}" for letter in "abcdefghi")
    assert [name for name, _ in series_from_name(f"loss{{{inner}}}")[1]] == ["raw"]


def test_who_wrote_is_a_label_unless_it_is_the_default() -> None:
    assert with_writer((("split", "val"),), stream="", rank=0) == (("split", "val"),)
    assert with_writer((("split", "val"),), stream="data", rank=3) == (
        ("rank", "3"),
        ("split", "val"),
        ("stream", "data"),
    )


@given(tricky_text, st.sampled_from(["", "data"]), st.integers(0, 3))
def test_who_wrote_is_no_part_of_the_name(name: str, stream: str, rank: int) -> None:
    key, labels = series_from_name(name)
    if not has_shortened_name(labels):
        assert name_from_series(key, with_writer(labels, stream=stream, rank=rank)) == name


@given(st.sampled_from(["", "data", "0"]), st.integers(0, 2**31 - 1))
def test_who_wrote_comes_back_from_the_labels(stream: str, rank: int) -> None:
    labels = with_writer((("split", "val"),), stream=stream, rank=rank)
    assert writer_from_labels(dict(labels)) == (stream, rank)


@pytest.mark.parametrize("text", ["", "0", "01", "-1", "+1", "1 ", "\u0661", "1_0", str(2**31)])
def test_a_label_that_no_rank_writes_names_nobody(text: str) -> None:
    assert writer_from_labels({"rank": text}) is None


def test_a_meter_is_what_the_tracker_measures_of_spans() -> None:
    assert all(check_key(meter) is None for meter in SPAN_METERS)
    assert {"time_ms", "count"} <= SPAN_METERS


def test_of_a_shortened_name_its_beginning_and_hash_are_given() -> None:
    key, labels = series_from_name("Loss " * 100)
    assert name_from_series(key, labels) == labels[0][1]
    assert labels[0][1].startswith("Loss Loss ")


def test_an_escape_is_never_cut_in_two() -> None:
    for length in range(118, 124):
        value = series_from_name("X" * length + "é" * 100)[1][0][1]
        assert "%" not in value.partition("~")[0][-2:]
