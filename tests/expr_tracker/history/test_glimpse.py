"""What is told of a run without reading its files whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from expr_tracker.history.glimpse import attempts_seen, is_run, keys_seen, metrics_seen
from expr_tracker.store.documents import write_document
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.lines import encode_line
from expr_tracker.store.reader import LineFile
from expr_tracker.store.sidecar import save_index

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.row import Row

KEY = StreamKey("data", 1)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lines: list[Row] = [{"_step": 0, "_time": 0.0, "first": 1}]
    lines += [{"_step": i, "_time": 0.0, "middle": "x" * 1000} for i in range(1, 400)]
    lines += [{"_attempt": 2, "_from_step": 400, "_time": 1.0}]
    lines += [{"_step": 400, "_time": 0.0, "last": 1}]
    RunFiles(tmp_path, KEY).metrics.write_bytes(b"".join(map(encode_line, lines)))
    return tmp_path


def test_names_come_from_both_ends_and_the_summary(run: Path) -> None:
    assert metrics_seen(run, KEY) == {"first", "middle", "last"}
    write_document(RunFiles(run, KEY).summary, {"summed": 1, "_pinned": ["summed"]})
    assert metrics_seen(run, KEY) == {"first", "middle", "last", "summed"}
    assert metrics_seen(RunFiles(run, KEY).metrics, KEY) == metrics_seen(run, KEY)


def test_of_a_long_file_only_the_ends_are_read(run: Path) -> None:
    path = RunFiles(run, KEY).metrics
    lines = path.read_bytes().splitlines(keepends=True)
    lines[200] = encode_line({"_step": 200, "_time": 0.0, "hidden": 1})
    path.write_bytes(b"".join(lines))
    assert "hidden" not in metrics_seen(run, KEY)


def test_attempts_come_from_the_sidecar_alone(run: Path) -> None:
    assert attempts_seen(run, KEY) == []
    with LineFile(RunFiles(run, KEY).metrics) as file:
        index = StreamIndex()
        index.scan(file)
        save_index(index, file, {})
    assert attempts_seen(run, KEY) == [1, 2]


def test_a_folder_is_a_run_by_its_identity_or_its_metrics(run: Path) -> None:
    assert is_run(run)
    assert keys_seen(run) == [KEY]
    assert keys_seen(RunFiles(run, KEY).metrics) == [KEY]
    assert keys_seen(run, "console") == []
    empty = run / "empty"
    empty.mkdir()
    assert not is_run(empty)
    (empty / "run.json").write_text("{}")
    assert is_run(empty)
    assert keys_seen(empty / "run.json") == []


def test_a_stream_without_a_file_has_no_names(run: Path) -> None:
    assert metrics_seen(run, StreamKey("other")) == set()
