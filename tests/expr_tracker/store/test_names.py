from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.errors import NameRefusedError
from expr_tracker.store.names import check_name, check_stream

BAD_STREAMS = [
    "",
    "-a",
    "_a",
    "a.b",
    "a b",
    "a\n",
    "\na",
    "a/b",
    "../a",
    "a\\b",
    "ä",
    "日本",
    "a\0",
    "a\u2028",
    "rank0",
    "rank12",
    "RANK1",
    "default",
    "default.",
    "Rank٣",
    "x" * 129,
    ".",
    "..",
    "٣",
    5,
    b"data",
    ["data"],
    True,
]


@pytest.mark.parametrize("stream", BAD_STREAMS, ids=repr)
def test_a_stream_that_could_not_be_told_apart_in_a_file_name_is_refused(stream: object) -> None:
    with pytest.raises(NameRefusedError, match="stream="):
        check_stream(stream)


@pytest.mark.parametrize(
    "stream", [None, "a", "data", "A-1_b", "7", "rank", "rank1a", "ranks-2", "x" * 128]
)
def test_a_plain_stream_is_taken(stream: str | None) -> None:
    assert check_stream(stream) == stream


@pytest.mark.parametrize(
    "stream", [name for name in BAD_STREAMS if isinstance(name, str)], ids=repr
)
def test_a_name_that_a_refusal_suggests_is_taken(stream: str) -> None:
    with pytest.raises(NameRefusedError) as refusal:
        check_stream(stream)
    text = str(refusal.value)
    if "Try '" in text:
        suggested = text.rsplit("Try '", 1)[1].split("'", maxsplit=1)[0]
        assert check_stream(suggested) == suggested


@pytest.mark.parametrize(
    "name", ["artifacts", "Artifacts", ".hidden", ".artifacts", ".con", ". x", ".run-1"]
)
@pytest.mark.parametrize("kind", ["project", "run"])
def test_a_name_that_a_search_for_runs_skips_is_refused_with_one_that_it_finds(
    kind: str, name: str
) -> None:
    with pytest.raises(NameRefusedError, match=rf"^{kind} name .*Try '") as refusal:
        check_name(kind, name)
    suggested = str(refusal.value).rsplit("Try '", 1)[1].split("'", maxsplit=1)[0]
    assert check_name(kind, suggested) == suggested


@pytest.mark.parametrize("name", ["artifacts", ".hidden"])
def test_an_artifact_is_not_searched_for_and_may_have_any_folder_name(name: str) -> None:
    assert check_name("artifact", name) == name


ESCAPES = [
    "",
    ".",
    "..",
    "../x",
    "../../etc/passwd",
    "/etc/passwd",
    "a/b",
    "a/../../b",
    "a\\..\\..\\b",
    "C:\\x",
    "a\0.png",
    "a\nb",
    "a\x7f",
    "\ud800",
    " a",
    "a ",
    "a.",
    "...",
    "con",
    "NUL.txt",
    "com1",
    "Lpt9.log",
    "x" * 256,
    "é" * 128,
    5,
    None,
    b"a",
    Path("a"),
]


@pytest.mark.parametrize("name", ESCAPES, ids=lambda name: repr(name)[:20])
def test_a_name_that_is_no_folder_everywhere_is_refused(name: object) -> None:
    with pytest.raises(NameRefusedError, match=r"^run name") as refusal:
        check_name("run", name)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "run-1",
        "Größe 7",
        "日本",
        "a.b",
        "artifacts-1",
        "%2e%2e%2fx",
        "x" * 255,
        "console",
        "com",
        "com10",
    ],
)
def test_an_ordinary_name_is_taken(name: str) -> None:
    assert check_name("project", name) == name


@given(st.text())
def test_whatever_is_taken_stays_one_folder_below_its_parent(name: str) -> None:
    try:
        check_name("run", name)
    except NameRefusedError:
        return
    root = Path("/root-of-runs")
    child = root / name
    assert child.parent == root
    assert child.resolve().parent == root
    assert len(child.parts) == 3


NOT_ON_WINDOWS = ["a:b", "a*", 'a"', "a?", "a|b", "<a>", "C:x", "2024-05-01T12:00:00"]


@pytest.mark.parametrize("name", NOT_ON_WINDOWS)
def test_a_run_may_have_any_name_that_the_file_system_takes(name: str) -> None:
    assert check_name("run", name) == name


@pytest.mark.parametrize("name", NOT_ON_WINDOWS)
def test_an_artifact_has_a_name_that_every_file_system_takes(name: str) -> None:
    with pytest.raises(NameRefusedError, match="Windows refuses them"):
        check_name("artifact", name)
