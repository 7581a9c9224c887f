from __future__ import annotations

import posixpath
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.errors import InvalidError
from mapi.objects.keys import checked_folder, checked_key, key_from_url

tricky = st.text(
    st.sampled_from(["a", "B", "0", ".", "/", "\\", "%", "2", "e", "f", "-", "\x00", ":", "~"]),
    max_size=12,
)


@pytest.mark.parametrize("key", ["a", "a/b.png", "m/0a_b-c=d+e", "a" * 200, "A.b/C..d"])
def test_letters_digits_and_a_few_signs_are_a_key(key: str) -> None:
    assert checked_key(key) == key


@given(tricky | st.text())
def test_a_key_stays_below_its_root(key: str) -> None:
    try:
        checked_key(key)
    except InvalidError:
        return
    assert posixpath.normpath(f"/{key}") == f"/{key}"
    assert not any(part.startswith(".") for part in key.split("/"))
    assert quote(key, safe="/=+") == key


@given(tricky)
def test_a_url_is_decoded_once(path: str) -> None:
    try:
        key = key_from_url(path)
    except InvalidError:
        return
    assert "%" not in key
    assert checked_key(key) == key


@pytest.mark.parametrize(
    "path",
    [
        "%2e%2e%2fx",
        "..%252fx",
        "%252e%252e/x",
        "a%00.png",
        "%ff",
        "%5c..%5cx",
        "/etc/passwd",
        "%2fetc",
        "a%2f%2e%2e%2fb",
        "",
    ],
)
def test_what_tries_to_leave_by_its_encoding_is_refused(path: str) -> None:
    with pytest.raises(InvalidError):
        key_from_url(path)


def test_an_encoded_key_is_a_key() -> None:
    assert key_from_url("a%2Fb%2epng") == "a/b.png"


def test_a_folder_may_end_with_its_slash() -> None:
    assert checked_folder("") == ""
    assert checked_folder("a/b/") == checked_folder("a/b") == "a/b"
    for folder in ("/", "a//", "..", "a/../"):
        with pytest.raises(InvalidError):
            checked_folder(folder)
