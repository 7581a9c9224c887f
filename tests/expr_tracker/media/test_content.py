from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.errors import NameRefusedError, RunNotFoundError
from expr_tracker.media.content import StoredValue, media_path

if TYPE_CHECKING:
    from pathlib import Path


class Note(StoredValue):
    """The smallest media value."""

    kind = "note"

    def __init__(self, content: bytes = b"abc") -> None:
        super().__init__(content, "txt", {})


def test_the_same_content_is_written_once(tmp_path: Path) -> None:
    first = Note().reference(tmp_path / "media")
    path = media_path(tmp_path, first)
    inode = path.stat().st_ino
    assert Note().reference(tmp_path / "media") == first
    assert path.stat().st_ino == inode
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_file_of_another_length_under_the_name_is_replaced(tmp_path: Path) -> None:
    note = Note()
    path = media_path(tmp_path, note.reference(tmp_path / "media"))
    path.write_bytes(b"")
    note.reference(tmp_path / "media")
    assert path.read_bytes() == b"abc"


def test_a_failed_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        Note().reference(tmp_path / "media")
    assert [path for path in (tmp_path / "media").rglob("*") if path.is_file()] == []


def test_processes_that_store_the_same_content_at_once_leave_one_whole_file(
    tmp_path: Path,
) -> None:
    code = (
        "import sys, pathlib\n"
        "from expr_tracker.media import Image\n"
        "content = b'GIF89a' + b'x' * 3_000_000\n"
        "sys.stdin.read(1)\n"
        "for _ in range(20):\n"
        "    Image(content).reference(pathlib.Path(sys.argv[1]) / 'media')\n"
    )
    source = os.pathsep.join(path for path in sys.path if path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": source},
        )
        for _ in range(3)
    ]
    for process in processes:
        process.communicate(b"x")
    assert [process.returncode for process in processes] == [0, 0, 0]
    files = [path for path in (tmp_path / "media").rglob("*") if path.is_file()]
    assert len(files) == 1
    assert files[0].stat().st_size == 3_000_006


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "media/../../secret", "media/link/x", "", ".", "a\0b"]
)
def test_a_path_that_leads_out_of_the_run_is_refused(path: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "media").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("x")
    (run / "media" / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(NameRefusedError):
        media_path(run, {"path": path})
    with pytest.raises(NameRefusedError):
        media_path(run, path)


@pytest.mark.parametrize("reference", [{}, {"path": 3}, {"path": None}])
def test_what_is_no_reference_is_refused(reference: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(NameRefusedError, match="expected a reference"):
        media_path(tmp_path, reference)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunNotFoundError, match=r"media/ab/none.png"):
        media_path(tmp_path, "media/ab/none.png")


def test_a_run_is_found_through_a_link_and_by_a_text(tmp_path: Path) -> None:
    run = tmp_path / "run"
    reference = Note().reference(run / "media")
    (tmp_path / "link").symlink_to(run)
    assert media_path(str(tmp_path / "link"), reference).read_bytes() == b"abc"
