from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.series.names import (
    canonical_labels,
    check_key,
    check_labels,
    check_log_message,
    check_name,
    check_note,
    check_param,
    check_stream,
    check_tag,
    check_title,
    labels_hash,
    nearest_key,
    series_text,
)


@pytest.mark.parametrize("key", ["a", "loss", "a1_", "a" * 64])
def test_a_key_is_a_word_in_small_letters(key: str) -> None:
    assert check_key(key) is None


@pytest.mark.parametrize(
    "key", ["", "A", "1a", "_a", "a-b", "a b", "a/b", "a" * 65, "é", "a\n", 1, None, "loss{a=b}"]
)
def test_another_key_is_refused_with_what_is_wrong(key: object) -> None:
    assert check_key(key)


def test_a_refused_key_is_told_the_nearest() -> None:
    assert "the nearest is f1_score" in (check_key("F1-score") or "")


@given(st.text())
def test_the_nearest_key_is_a_key(name: str) -> None:
    assert check_key(nearest_key(name)) is None


@given(st.from_regex(r"[a-z]([a-z0-9_]{0,10}[a-z0-9])?", fullmatch=True))
def test_the_nearest_key_of_a_key_is_itself_but_for_repeated_underscores(key: str) -> None:
    if "__" not in key:
        assert nearest_key(key) == key


def test_labels_have_a_number_and_texts() -> None:
    assert check_labels({}) is None
    assert check_labels({f"l{at}": "x" for at in range(8)}) is None
    assert "9 labels are too many" in (check_labels({f"l{at}": "x" for at in range(9)}) or "")
    own = {f"l{at}": "x" for at in range(8)}
    assert check_labels({**own, "scope": "x", "raw": "y", "span": "z"}) is None


@pytest.mark.parametrize(
    "labels",
    [
        [],
        {"A": "x"},
        {"a": ""},
        {"a": "x" * 201},
        {"a": 1},
        {1: "a"},
        {"a": "\n"},
        {"a": "\ud800"},
        {"a": "\x7f"},
        {"a": "\u2028"},
        {"stream": "x"},
        {"rank": "1"},
    ],
)
def test_other_labels_are_refused(labels: object) -> None:
    assert check_labels(labels)


def test_the_platform_itself_writes_streams_and_ranks() -> None:
    assert check_labels({"stream": "x", "rank": "1"}, reserved=True) is None


def test_a_stream_is_a_label_or_the_default() -> None:
    assert check_stream("") is None
    assert check_stream("data") is None
    assert check_stream("x" * 201)
    assert check_stream("a\x00")
    assert check_stream(1)


@given(st.dictionaries(st.sampled_from("abcd"), st.text(st.sampled_from("ab"), min_size=1)))
def test_the_order_of_labels_does_not_matter(labels: dict[str, str]) -> None:
    backwards = dict(reversed(labels.items()))
    assert canonical_labels(labels) == canonical_labels(backwards)
    assert labels_hash(canonical_labels(labels)) == labels_hash(canonical_labels(backwards))


def test_labels_that_run_together_have_different_numbers() -> None:
    one, other = (("a", "b"), ("c", "d")), (("a", "b\x00c\x01d"),)
    assert labels_hash(one) != labels_hash(canonical_labels({"a": "bcd"}))
    # What would run together is a control character, which no label has.
    assert check_labels(dict(other))
    assert -(2**63) <= labels_hash(one) < 2**63


def test_a_series_is_spelled_as_filters_spell_it() -> None:
    assert series_text("loss", ()) == "loss"
    assert series_text("loss", (("a", "x"), ("b", "a b"), ("c", "and"))) == (
        'loss{a=x,b="a b",c="and"}'
    )


def test_what_breaks_a_limit_is_told_the_number() -> None:
    for wrong, fault in [
        (check_param("", "x"), "0 characters"),
        (check_param("k" * 251, "x"), "251 characters"),
        (check_param("k", "é" * 32_769), "65538 bytes"),
        (check_param("k", "a\x00"), "U+0000 at 1"),
        (check_param("k", "\ud800"), "U+D800 at 0"),
        (check_param("k", 1), "text"),
        (check_param(1, "x"), "text"),
        (check_tag("k", "x" * 5_001), "5001 characters"),
        (check_tag("mapi.x", "x"), "platform only"),
        (check_tag(".", "x"), "'.' is no key of a tag"),
        (check_tag("..", "x"), "'..' is no key of a tag"),
        (check_tag("a/../b", "x"), "no part . or .."),
        (check_name("x" * 201), "201 characters"),
        (check_note("x" * 20_001), "20001 characters"),
        (check_note("\x00"), "U+0000"),
        (check_log_message("é" * 8_193), "16386 bytes"),
        (check_log_message("\x00"), "U+0000"),
        (check_log_message(None), "text"),
    ]:
        assert wrong is not None
        assert fault in wrong


def test_what_just_fits_is_taken() -> None:
    assert check_param("k" * 250, "é" * 32_768) is None
    assert check_tag("k" * 250, "x" * 5_000) is None
    assert check_tag("mapi.x", "x", platform=True) is None
    assert check_name("é" * 200) is None
    assert check_note("é" * 20_000) is None
    assert check_log_message("é" * 8_192) is None


@pytest.mark.parametrize(
    ("title", "fault"),
    [
        ("", "0 characters"),
        ("x" * 201, "201 characters"),
        (" a", "blank"),
        ("a\u00a0", "blank"),
        ("a\nb", "U+000A at 1"),
        ("a\x7f", "U+007F at 1"),
        ("a\u202eb", "U+202E at 1"),
        ("a\u2028b", "U+2028 at 1"),
        ("\ufeffa", "U+FEFF at 0"),
        ("a\x00", "U+0000 at 1"),
        ("\ud800", "U+D800 at 0"),
        ("e\u0301", "NFC"),
        (1, "text"),
    ],
)
def test_a_name_that_things_are_found_by_can_be_seen_and_written_one_way(
    title: object, fault: str
) -> None:
    wrong = check_title("the name of an experiment", title)
    assert wrong is not None
    assert wrong.startswith("the name of an experiment")
    assert fault in wrong


@pytest.mark.parametrize(
    "title", ["x", "é" * 200, "a  b", "/", "läuft 100%", "👩\u200d💻", "日本語"]
)
def test_names_of_any_script_are_taken(title: str) -> None:
    assert check_title("a name", title) is None
