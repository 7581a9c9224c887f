from __future__ import annotations

import pytest

from expr_tracker.artifacts.names import (
    check_aliases,
    check_artifact_name,
    check_type,
    split_specification,
    version_number,
)
from expr_tracker.errors import ArtifactError, NameRefusedError


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../up",
        "/absolute",
        "a/b",
        "a\\b",
        "C:\\x",
        "nul\0",
        "a:b",
        "x" * 300,
        "con",
        "\ud800",
        3,
        None,
        # The store's own files, in the spelling of any file system.
        "index.jsonl",
        "INDEX.jsonl",
        ".lock",
        ".incoming",
    ],
)
def test_a_name_that_is_not_one_plain_folder_is_refused(name: object) -> None:
    with pytest.raises(NameRefusedError):
        check_artifact_name(name)


@pytest.mark.parametrize("name", ["model", "Modell-ü", "a b", "ckpt.v2", "v1", "日本"])
def test_ordinary_names_are_taken(name: str) -> None:
    assert check_artifact_name(name) == name


@pytest.mark.parametrize(
    ("alias", "rule"),
    [
        ("Latest", "highest version"),
        ("v7", "always mean that version"),
        ("V12345678901234567890", "always mean that version"),
        ("a:b", "':' separates"),
        ("", "empty"),
        (" best", "space"),
        ("be\nst", "control characters"),
        ("x" * 129, "the limit is 128"),
        (7, "an alias is a text"),
    ],
)
def test_an_alias_that_could_not_be_resolved_is_refused_with_its_rule(
    alias: object, rule: str
) -> None:
    with pytest.raises(ArtifactError, match=rule):
        check_aliases([alias])


def test_one_text_is_one_alias_and_none_are_none() -> None:
    assert check_aliases("best") == ["best"]
    assert check_aliases(["b", "a", "b"]) == ["b", "a"]
    assert check_aliases(None) == []
    with pytest.raises(ArtifactError, match="expected a list"):
        check_aliases(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["", None, 3, "a\tb"])
def test_a_type_is_a_short_plain_text(kind: object) -> None:
    with pytest.raises(ArtifactError, match="type="):
        check_type(kind)


def test_a_specification_is_a_name_and_what_selects_the_version() -> None:
    assert split_specification("m") == ("m", "latest")
    assert split_specification("m:v3") == ("m", "v3")
    assert split_specification("m:best") == ("m", "best")
    for wrong in ["m:", ":v3", "../m:v3", 3]:
        with pytest.raises(NameRefusedError):
            split_specification(wrong)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("v0", 0),
        ("V12", 12),
        (3, 3),
        ("3", None),
        ("v", None),
        ("v-1", None),
        ("v9999999999", None),
        (-1, None),
        (True, None),
        ("v٣", None),
    ],
)
def test_a_version_is_v_and_at_most_nine_digits(text: object, number: int | None) -> None:
    assert version_number(text) == number


def test_the_alias_latest_is_taken_and_never_stored() -> None:
    assert check_aliases(["latest", "best"]) == ["best"]
