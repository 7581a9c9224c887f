from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from expr_tracker.store.files import StreamKey
from expr_tracker.store.index import Attempt
from expr_tracker.store.lines import encode_line
from expr_tracker.store.markers import end_marker
from expr_tracker.store.rescue_file import read_rescue_file, rescue_command, write_rescue_file

ROW = encode_line({"_step": 1, "_time": 5.0, "a": 1})
SPAN = encode_line(
    {"_step": 1, "name": "s", "depth": 0, "track": 0, "start": 4.0, "dur_ms": 2000.0}
)
OUTPUT = encode_line({"_time": 7.0, "source": "stdout", "text": "x"})


@pytest.mark.parametrize("name", ["metrics", "spans.data-a", "console.a_b.rank3", "metrics.rank1"])
def test_what_is_written_is_read_back_under_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kind = name.split(".", 1)[0]
    line = {"metrics": ROW, "spans": SPAN, "console": OUTPUT}[kind]
    origin = tmp_path / "r\udcff" / f"{name}.jsonl"
    path_text, taken, failure = write_rescue_file(
        origin, [line, line], attempt=Attempt(3, time=2.5, pid=8), size=70
    )
    assert (taken, failure) == (2, None)
    written = Path(path_text)
    key = StreamKey.from_file(f"{name}.jsonl", kind)
    assert key is not None
    for path in (written, written.rename(tmp_path / "other")):
        read = read_rescue_file(path) if path.exists() else None
        if read is not None:
            assert (read.origin, read.attempt, read.size) == (origin, 3, 70)
            assert (read.says_beginning, read.began, read.pid) == (True, 2.5, 8)
            assert (read.kind, read.key) == (kind, key)
            assert (read.lines, read.damaged, read.markers) == ([line, line], [], [])


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("expr-tracker-metrics-k3x9q2ab.jsonl", StreamKey()),
        ("expr-tracker-metrics.data-k3x9q2ab.jsonl", StreamKey("data")),
        ("expr-tracker-metrics.data-a_1.rank12-k3x_q2ab.jsonl", StreamKey("data-a_1", 12)),
        ("metrics.jsonl", None),
        ("expr-tracker-config-k3x9q2ab.jsonl", None),
    ],
)
def test_the_name_of_an_older_file_tells_whose_it_is(
    tmp_path: Path, name: str, key: StreamKey | None
) -> None:
    (tmp_path / name).write_bytes(ROW)
    read = read_rescue_file(tmp_path / name)
    assert (read.kind, read.key) == ("metrics", key)


@pytest.mark.parametrize(
    ("line", "kind"), [(ROW, "metrics"), (SPAN, "spans"), (OUTPUT, "console")]
)
def test_lines_tell_what_they_are_and_when(tmp_path: Path, line: bytes, kind: str) -> None:
    path = tmp_path / "renamed"
    path.write_bytes(line)
    read = read_rescue_file(path)
    assert read.kind == kind
    assert (
        read.first_time == read.last_time == {"metrics": 5.0, "spans": 6.0, "console": 7.0}[kind]
    )


def test_a_last_line_without_its_end_is_whole_if_it_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "renamed"
    end = encode_line(end_marker(1, "failed", time=6.0))
    path.write_bytes(ROW + end[:-1])
    read = read_rescue_file(path)
    assert (read.lines, len(read.markers)) == ([ROW, end], 1)
    path.write_bytes(ROW + end[:-2])
    read = read_rescue_file(path)
    assert (read.lines, read.damaged) == ([ROW], [2])


def test_the_command_is_ready_to_paste() -> None:
    command = rescue_command("/tmp/a b.jsonl", Path("/runs/it's"))
    assert shlex.split(command) == ["et", "rescue", "/tmp/a b.jsonl", "/runs/it's"]


@pytest.mark.parametrize(
    "name", [b"\xff\xe9", b"a'\xff\\1", b"a\nb\t", "é日 \x7f".encode(), b'\xc3$(x)`"!']
)
def test_the_command_finds_a_path_whose_bytes_are_no_text(name: bytes) -> None:
    path = b"/runs/" + name
    command = rescue_command("saved.jsonl", Path(os.fsdecode(path)))
    assert command.isprintable()
    words = subprocess.run(
        ["bash", "-c", command.replace("et rescue", "printf '%s\\0'")],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    assert words.split(b"\0") == [b"saved.jsonl", path, b""]
