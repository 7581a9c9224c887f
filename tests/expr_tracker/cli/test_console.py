from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from expr_tracker.cli.console import command
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "run"
    directory.mkdir()
    texts = [("stdout", "1%\r100%"), ("stderr", "wärning"), ("stdout", "half \ud800")]
    (directory / "console.jsonl").write_bytes(
        b"".join(encode_line({"_time": 1.0, "source": s, "text": t}) for s, t in texts)
    )
    for suffix in (".data", ".data.rank1", ".rank2"):
        line = encode_line({"_time": 1.0, "source": "stdout", "text": f"of{suffix}"})
        (directory / f"console{suffix}.jsonl").write_bytes(line)
    return directory


def et(*arguments: object) -> tuple[int, bytes]:
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    return result.exit_code, result.output_bytes


def test_the_output_is_shown_collapsed_and_raw_on_request(run: Path) -> None:
    expected = "100%\nwärning\nhalf \\ud800\n".encode()
    assert et(run) == (0, expected)
    assert et(run, "--stream", "default") == (0, expected)
    assert et(run, "--raw")[1].startswith(b"1%\r100%\n")


def test_one_source_alone_is_shown(run: Path) -> None:
    assert et(run, "--source", "stderr") == (0, "wärning\n".encode())


def test_a_stream_and_a_rank_are_selected_and_a_file_is_read_as_it_is(run: Path) -> None:
    assert et(run, "--stream", "data") == (0, b"of.data\n")
    assert et(run, "--stream", "data", "--rank", 1) == (0, b"of.data.rank1\n")
    assert et(run, "--rank", 2) == (0, b"of.rank2\n")
    assert et(run / "console.data.jsonl") == (0, b"of.data\n")


def test_what_is_not_there_is_one_line_with_what_is(run: Path, tmp_path: Path) -> None:
    code, output = et(run, "--stream", "eval")
    assert code == 2
    assert b"There is: default, default rank 2, data, data rank 1." in output
    code, output = et(tmp_path / "none")
    assert (code, b"There is no run at" in output) == (2, True)
    (tmp_path / "empty").mkdir()
    code, output = et(tmp_path / "empty")
    assert (code, b"capture_console=True" in output) == (2, True)
    assert et(run, "--stream", "a/b")[0] == 2
