from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from expr_tracker.artifacts.copying import (
    Progress,
    append_line,
    copy_file,
    digest_of,
    replace_by_copy,
)
from expr_tracker.errors import ArtifactError, ArtifactNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB])
def test_a_copy_has_the_bytes_and_the_digest_of_what_was_read(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "a").write_bytes(content)
    copied = copy_file(tmp_path / "a", tmp_path / "b")
    assert copied == (size, sha256(content))
    assert (tmp_path / "b").read_bytes() == content
    assert digest_of(tmp_path / "b") == copied


def test_a_large_copy_needs_one_small_buffer(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(64 * MIB)
    tracemalloc.start()
    try:
        copy_file(tmp_path / "a", tmp_path / "b")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * MIB


def test_what_exists_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"new")
    (tmp_path / "b").write_bytes(b"old")
    (tmp_path / "link").symlink_to("b")
    for target in ["b", "link"]:
        with pytest.raises(FileExistsError):
            copy_file(tmp_path / "a", tmp_path / target)
    assert (tmp_path / "b").read_bytes() == b"old"


def test_only_regular_files_are_read_and_nothing_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(ArtifactError, match="no regular file"):
        digest_of(tmp_path / "pipe")
    with pytest.raises(ArtifactError, match="no regular file"):
        digest_of(tmp_path)
    with pytest.raises(ArtifactNotFoundError, match="is gone"):
        digest_of(tmp_path / "missing")
    with pytest.raises(ArtifactError, match="is a symbolic link"):
        digest_of(tmp_path / "link", follow=False)
    assert digest_of(tmp_path / "link").size == 1


def test_a_program_stays_a_program(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "a").chmod(0o4755)
    copy_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").stat().st_mode & 0o4111 == 0o111


def test_a_replacement_with_other_content_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"new")
    (tmp_path / "b").write_bytes(b"old")
    with pytest.raises(ArtifactError, match="has changed"):
        replace_by_copy(tmp_path / "a", tmp_path / "b", sha256(b"other"))
    assert (tmp_path / "b").read_bytes() == b"old"
    replace_by_copy(tmp_path / "a", tmp_path / "b", sha256(b"new"))
    assert (tmp_path / "b").read_bytes() == b"new"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a", "b"]


def test_a_replacement_replaces_a_link_and_does_not_follow_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"new")
    (tmp_path / "precious").write_bytes(b"old")
    (tmp_path / "b").symlink_to("precious")
    replace_by_copy(tmp_path / "a", tmp_path / "b", None)
    assert (tmp_path / "precious").read_bytes() == b"old"
    assert (tmp_path / "b").read_bytes() == b"new"


def test_a_torn_line_is_closed_before_the_next_one(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    append_line(file, b"1\n", exclusive=True)
    with file.open("ab") as torn:
        torn.write(b'{"torn')
    append_line(file, b"2\n", exclusive=False)
    append_line(file, b"3\n", exclusive=True)
    assert file.read_bytes() == b'1\n{"torn\n2\n3\n'


FULL_DISK = """
import resource, sys
from pathlib import Path
from expr_tracker.artifacts.copying import append_line
file = Path(sys.argv[1])
append_line(file, b"1" * 90 + b"\\n", exclusive=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    append_line(file, b"2" * 90 + b"\\n", exclusive=True)
except OSError as error:
    print(error.errno)
"""


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    """The limit on a file's size tears a write in the way a full disk does."""
    file = tmp_path / "lines"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(file)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().isdigit()
    assert file.read_bytes() == b"1" * 90 + b"\n"


def test_a_big_copy_shows_one_line_on_a_terminal_and_removes_it() -> None:
    terminal = Terminal()
    ticks = iter([float(number) for number in range(100)])
    progress = Progress("storing m", 1024 * MIB, stream=terminal, monotonic=lambda: next(ticks))
    progress.advance(256 * MIB)
    progress.advance(1024 * MIB)
    progress.close()
    lines = terminal.getvalue().split("\r")
    assert lines[1] == "storing m: 0.25 GiB of 1.00 GiB (25 %)"
    assert lines[2] == "storing m: 1.25 GiB of 1.00 GiB (100 %)"
    assert lines[3].strip() == ""
    assert "\n" not in terminal.getvalue()


def test_the_line_is_drawn_five_times_a_second_at_most() -> None:
    terminal = Terminal()
    progress = Progress("m", 1024 * MIB, stream=terminal, monotonic=lambda: 1.0)
    for _ in range(1000):
        progress.advance(MIB)
    assert terminal.getvalue().count("\r") == 1


def test_small_copies_and_files_for_output_show_nothing() -> None:
    for stream, size in [(Terminal(), MIB), (io.StringIO(), 1024 * MIB)]:
        progress = Progress("m", size, stream=stream)
        progress.advance(size)
        progress.close()
        assert stream.getvalue() == ""


def test_a_terminal_that_went_away_does_not_stop_the_copy() -> None:
    terminal = Terminal()
    progress = Progress("m", 1024 * MIB, stream=terminal)
    terminal.close()
    progress.advance(MIB)
    progress.close()
