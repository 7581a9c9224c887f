"""A file that the system does not read is named, and costs the others of its run nothing."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import compare, status_of, verify
from expr_tracker.store.regular import open_regular

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.history.conftest import Runs

ROWS: list[dict[str, Any]] = [{"_step": step, "_time": 1.7e9, "x": step} for step in range(3)]
NO_FILE = "it is no regular file; move it away"


@pytest.fixture
def path(runs: type[Runs], tmp_path: Path) -> Path:
    """A run of two streams, the file of one of which is a pipe."""
    run = tmp_path / "run"
    runs.make(run, ROWS)
    os.mkfifo(run / "metrics.data.jsonl")
    return run


def test_the_other_streams_are_verified(path: Path) -> None:
    report = verify(path)
    assert report.status == "succeeded"
    sound, refused = report.streams
    assert (sound.rows, sound.refusal) == (3, None)
    assert (refused.rows, refused.refusal) == (0, NO_FILE)
    assert f"data: metrics.data.jsonl cannot be read: {NO_FILE}" in report.problems


def test_a_run_of_which_nothing_can_be_read_is_an_error(path: Path) -> None:
    (path / "metrics.jsonl").unlink()
    for question in (verify, status_of):
        with pytest.raises(OSError, match="no regular file"):
            question(path)


def test_a_stream_that_is_written_and_cannot_be_read_goes_on(path: Path) -> None:
    assert status_of(path) == "succeeded"
    with (path / "metrics.data.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert status_of(path) == "running"
    assert status_of(path) == "succeeded"


def test_two_runs_are_compared_as_far_as_they_can_be_read(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(path / "metrics.jsonl", other)
    shutil.copy(path / "metrics.jsonl", other / "metrics.data.jsonl")
    assert compare(path, other) == [
        f"data: not compared: {path / 'metrics.data.jsonl'}: {NO_FILE}"
    ]


def test_a_media_file_that_the_system_does_not_read_is_named_and_the_others_are_checked(
    runs: type[Runs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "media").mkdir()
    rows = []
    for step, name in enumerate(["a.png", "closed.png", "z.png"]):
        (tmp_path / "media" / name).write_bytes(name.encode())
        digest = hashlib.sha256(name.encode()).hexdigest()
        rows.append({"_step": step, "x": {"path": f"media/{name}", "sha256": digest}})
    runs.make(tmp_path, rows)
    (tmp_path / "media" / "z.png").write_bytes(b"changed")

    def refusing(file: Path, flags: int = os.O_RDONLY) -> int:
        """Open a file as a user does who has no right to one of them; root has all."""
        if file.name == "closed.png":
            raise PermissionError(13, "Permission denied", str(file))
        return open_regular(file, flags)

    reader = sys.modules["expr_tracker.history.media_files"]
    monkeypatch.setattr(reader, "open_regular", refusing)
    (stream,) = verify(tmp_path).streams
    assert (stream.media, stream.media_missing) == (3, [])
    assert stream.media_changed == ["media/z.png"]
    assert stream.media_unreadable == ["media/closed.png: Permission denied"]
    assert "media file media/closed.png: Permission denied (it cannot be read)" in stream.problems
