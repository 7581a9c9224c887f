"""Text that Python holds and no file can: every text has a form that every file takes."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import expr_tracker as et
from expr_tracker.history import read_history
from expr_tracker.row import RowEncoder
from expr_tracker.surrogates import join_halves, storable, storable_text

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

texts = st.text(st.sampled_from("ab\\é日😀\ud800\udbff\udc00\udfff\ud83d\ude00\udcff"), max_size=6)


@given(texts)
def test_every_text_has_a_storable_form_that_stays(text: str) -> None:
    stored = storable_text(text)
    assert stored.encode().decode() == stored
    assert storable_text(stored) == stored


@given(st.text())
def test_what_has_no_half_stays_as_it_is(text: str) -> None:
    assert storable_text(text) == text


@given(texts)
def test_halves_that_meet_are_their_character(text: str) -> None:
    assert join_halves(text).encode("utf-16", "surrogatepass") == text.encode(
        "utf-16", "surrogatepass"
    )


@given(st.sets(texts.filter(lambda text: "\\" not in text)))
def test_texts_that_differ_still_differ(several: set[str]) -> None:
    meant = {join_halves(text) for text in several}
    assert len({storable_text(text) for text in meant}) == len(meant)


def test_names_and_values_at_any_depth_are_storable() -> None:
    assert storable({"\ud800": [{"a": "\udfff"}, 1.5, None]}) == {
        "\\ud800": [{"a": "\\udfff"}, 1.5, None]
    }


def test_an_encoder_warns_of_a_half_by_a_name_that_can_be_shown() -> None:
    warned: list[tuple[str, str]] = []
    encoder = RowEncoder(lambda key, text: warned.append((key, text)))
    data: dict[Any, Any] = {"a": "\ud83d\ude00", "b\ud800": 1, "c": {"d\udfff": ["\udcff"]}}
    assert encoder.row(data) == {"a": "😀", "b\\ud800": 1, "c": {"d\\udfff": ["\\udcff"]}}
    assert {key.encode() for key, _ in warned} == {rb"b\ud800", rb"d\udfff", b"c"}
    assert all("half a surrogate pair" in text for _, text in warned)


def test_a_run_with_halves_is_read_by_strict_parsers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="expr_tracker"):
        et.init("p", "r", dir=tmp_path, capture=False, config={"file": "r\udce9.txt"})
        for _ in range(3):
            et.log({"file": "r\udce9.txt", "n\ud800": 1})
            with et.span("s\udfff", of="\udcff"):
                pass
        loss = et.info()["loss"]["degraded"]
        et.finish()
    assert loss["values of file"] == 3
    assert loss["values of n\\ud800"] == 3
    assert sum("'file'" in text and "config" not in text for text in caplog.messages) == 1
    run = tmp_path / "p" / "r"
    rows = read_history(run)
    assert [(row["file"], row["n\\ud800"]) for row in rows[:3]] == [("r\\udce9.txt", 1)] * 3
    assert et.history(output_type="pandas", run=run)["file"][0] == "r\\udce9.txt"
    files = [path for path in run.iterdir() if path.suffix in {".json", ".jsonl"}]
    assert {"metrics.jsonl", "spans.jsonl", "summary.json", "config.json"} <= {
        path.name for path in files
    }
    for path in files:
        content = path.read_bytes()
        lines = [content] if path.suffix == ".json" else content.splitlines()
        assert all(storable(json.loads(line)) == json.loads(line) for line in lines)
        if jq := shutil.which("jq"):
            subprocess.run([jq, "-e", ".", str(path)], check=True, capture_output=True)
    assert pl.read_ndjson(run / "spans.jsonl")["name"].to_list() == ["s\\udfff"] * 3
    assert pl.read_ndjson(run / "metrics.jsonl")["file"].to_list()[:3] == ["r\\udce9.txt"] * 3
