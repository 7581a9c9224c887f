from __future__ import annotations

from typing import TYPE_CHECKING, Any

from expr_tracker.history import compare
from expr_tracker.store.documents import write_once
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path


Row = dict[str, Any]


DEFAULT = StreamKey()


END: Row = {"_attempt_end": 1, "_status": "succeeded", "_time": 9.0}


def make(run: Path, rows: list[Row], key: StreamKey = DEFAULT, end: Row | None = END) -> RunFiles:
    run.mkdir(parents=True, exist_ok=True)
    files = RunFiles(run, key)
    write_once(files.identity, {"id": "1", "created": 5.0})
    lines = [*rows, end] if end is not None else rows
    files.metrics.write_bytes(b"".join(map(encode_line, lines)))
    return files


def rows_to(stop: int) -> list[Row]:
    return [{"_step": i, "_time": float(i), "loss": i / 2} for i in range(stop)]


def test_what_differs_is_named(tmp_path: Path) -> None:
    make(tmp_path / "a", rows_to(5))
    make(tmp_path / "a", rows_to(1), StreamKey("data"))
    make(tmp_path / "b", [*rows_to(3), {"_step": 3, "_time": 3.0, "loss": 7, "acc": 1}])
    make(tmp_path / "b", rows_to(1), StreamKey(None, 1))
    found = compare(tmp_path / "a", tmp_path / "b")
    assert found == [
        "default: step 3: 'loss' 1.5 != 7; 'acc' only on the other side",
        "default: step 4: missing on the other side",
        f"default rank 1: only in {tmp_path / 'b'}",
        f"data: only in {tmp_path / 'a'}",
    ]
    make(tmp_path / "c", [])
    assert (
        compare(tmp_path / "a", tmp_path / "c")[-2] == "default: step 4: missing on the other side"
    )
