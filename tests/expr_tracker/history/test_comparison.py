from __future__ import annotations

from typing import TYPE_CHECKING

from expr_tracker.history import compare
from expr_tracker.store.files import StreamKey

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.history.conftest import Runs


def test_what_differs_is_named(runs: type[Runs], tmp_path: Path) -> None:
    runs.make(tmp_path / "a", runs.rows_to(5))
    runs.make(tmp_path / "a", runs.rows_to(1), StreamKey("data"))
    runs.make(tmp_path / "b", [*runs.rows_to(3), {"_step": 3, "_time": 3.0, "loss": 7, "acc": 1}])
    runs.make(tmp_path / "b", runs.rows_to(1), StreamKey(None, 1))
    found = compare(tmp_path / "a", tmp_path / "b")
    assert found == [
        "default: step 3: 'loss' 1.5 != 7; 'acc' only on the other side",
        "default: step 4: missing on the other side",
        f"default rank 1: only in {tmp_path / 'b'}",
        f"data: only in {tmp_path / 'a'}",
    ]
    runs.make(tmp_path / "c", [])
    assert (
        compare(tmp_path / "a", tmp_path / "c")[-2] == "default: step 4: missing on the other side"
    )
