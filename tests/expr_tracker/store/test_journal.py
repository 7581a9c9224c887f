"""The journal of the open row: valid for exactly one state of its file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from expr_tracker.store.documents import write_document
from expr_tracker.store.journal import clear_journal, read_journal, write_journal

if TYPE_CHECKING:
    from pathlib import Path


def test_it_comes_back_for_a_file_of_the_same_size_only(tmp_path: Path) -> None:
    path = tmp_path / "metrics.open.json"
    row = {"_step": 5, "_time": 1.5, "loss": math.nan, "deep": [math.inf], "text": "é"}
    write_journal(path, row, ordinal=3, data_size=120)
    assert repr(read_journal(path, 120)) == repr(row)
    assert read_journal(path, 119) is None
    assert read_journal(path, 121) is None


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"data_size": 120},
        {"data_size": 120, "row": None},
        {"data_size": 120, "row": []},
        {"data_size": 120, "row": {"a": 1}},
        {"data_size": 120, "row": {"_step": "5"}},
        {"data_size": 120, "row": {"_step": 2**63}},
        {"data_size": "120", "row": {"_step": 5}},
    ],
    ids=str,
)
def test_a_journal_that_holds_no_row_is_none(tmp_path: Path, document: dict[str, object]) -> None:
    path = tmp_path / "metrics.open.json"
    write_document(path, document)
    assert read_journal(path, 120) is None


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff"])
def test_a_missing_or_damaged_journal_is_none(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "metrics.open.json"
    if content is not None:
        path.write_bytes(content)
    assert read_journal(path, 0) is None


def test_clearing_twice_does_nothing(tmp_path: Path) -> None:
    path = tmp_path / "metrics.open.json"
    write_journal(path, {"_step": 1}, ordinal=0, data_size=0)
    clear_journal(path)
    clear_journal(path)
    clear_journal(tmp_path)
    assert list(tmp_path.iterdir()) == []
