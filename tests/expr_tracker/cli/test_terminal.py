"""Whatever a run directory holds, a terminal is told nothing but text and line ends."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import threading
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.artifacts import Artifact, ArtifactStore
from expr_tracker.cli import main
from expr_tracker.cli.terminal import shown, shown_coloured
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path

#: A colour, a window title, a single-byte control introducer, a turn of the text's direction.
EVIL = "e\x1b[31m\x1b]0;t\x07\x9b2J\u202e\x7f\r\v\u2028\nx"
#: What a file name can hold of it.
EVIL_NAME = "e\x1b[31m\x9b2J\u202e\x7f\rx"
#: What a progress bar of ours sends.
_PROGRESS_BAR = re.compile(r"\x1b\[\?25[lh]|\x1b\[K|\r")


def is_obeyed(character: str) -> bool:
    return character != "\n" and unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"}


def obeyed(output: str) -> list[str]:
    return [character for character in output if is_obeyed(character)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    project = tmp_path / EVIL_NAME
    directory = project / "run"
    directory.mkdir(parents=True)
    picture = {"_type": "image", "path": f"media/{EVIL}", "sha256": "0" * 64}
    (directory / "media").mkdir()
    changed = {**picture, "path": f"media/{EVIL_NAME}", "sha256": hashlib.sha256(b"").hexdigest()}
    (directory / "media" / EVIL_NAME).write_bytes(b"changed")
    rows: list[dict[str, Any]] = [
        {"_step": 0, "_time": 1.0, EVIL: 1.5, "text": EVIL, "image": picture, "other": changed},
        {"_step": 1, "_time": 2.0, EVIL: EVIL, "list": [EVIL], "loss": 1},
        {"_attempt_end": 1, "_status": EVIL, "_time": 3.0},
    ]
    damaged = b"".join(map(encode_line, rows)) + b"damage\x1b[31m\n"
    (directory / "metrics.jsonl").write_bytes(damaged)
    (directory / "run.json").write_bytes(encode_line({"id": EVIL, "name": EVIL, "project": EVIL}))
    span = {"_step": 0, "name": EVIL, "depth": 0, "track": 1, "start": 1.0, "dur_ms": 2.0}
    (directory / "spans.jsonl").write_bytes(encode_line(span))
    line = {"_time": 1.0, "source": "stdout", "text": EVIL.replace("\x1b[31m", "")}
    (directory / "console.jsonl").write_bytes(encode_line(line))
    store = ArtifactStore(project / "artifacts", None, EVIL)
    artifact = Artifact("a", description=EVIL, metadata={EVIL: EVIL})
    store.log(artifact.add_reference(f"s3://b/{EVIL}", name="reference\u202e"))
    (tmp_path / "file").write_bytes(b"changed")
    store.log(tmp_path / "file")
    (project / "artifacts" / "file" / "v0" / "file").write_bytes(b"")
    return directory


def command_lines(run: Path) -> list[list[str]]:
    here, project, other = str(run), str(run.parent), str(run.parent.parent / "other")
    return [
        ["history", here],
        ["history", here, "--metrics", EVIL],
        ["history", here, "--metrics", "nothing*"],
        ["history", here, "--format", "json"],
        ["history", here, "--format", "jsonl"],
        ["history", here, "--format", "csv"],
        ["history", here, "--attempts"],
        ["history", here, "--attempts", "--format", "json"],
        ["history", here, "--stream", EVIL],
        ["history", here, "--step-range", EVIL],
        ["history", here + EVIL_NAME],
        ["history", project],
        ["history", str(run.parent.parent / "elsewhere")],
        ["ls", project],
        ["ls", project, "--metric", EVIL],
        ["ls", project, "--metric", EVIL, "--format", "json"],
        ["ls", str(run / "media")],
        ["ls", here + EVIL_NAME],
        ["ls", here, here],
        ["verify", here],
        ["verify", here, "--against", other],
        ["export", here, "-o", str(run.parent / "out.csv")],
        ["export", here, "-o", str(run.parent / "out")],
        ["trace", here, "-o", str(run.parent / "out.json")],
        ["trace", here, "-o", str(run / "missing" / "out.json")],
        ["trace", here, "--temp-dir", here + EVIL_NAME],
        ["trace", here, "--metrics", EVIL + "x"],
        ["trace", here, "--summary"],
        ["trace", here, "--summary", "--format", "json"],
        ["trace", here, "--stream", EVIL],
        ["trace", here + EVIL_NAME],
        ["console", here],
        ["console", here, "--stream", EVIL],
        ["console", project],
        ["artifact", "list", here],
        ["artifact", "list", here, "--format", "json"],
        ["artifact", "list", here + EVIL_NAME],
        ["artifact", "show", here, "a"],
        ["artifact", "show", here, "a", "--format", "json"],
        ["artifact", "show", here, EVIL],
        ["artifact", "get", here, "a", "-o", str(run.parent / "copy")],
        ["artifact", "get", here, "file", "-o", str(run.parent / "copy")],
        ["artifact", "verify", here],
        ["rescue", str(run.parent.parent / f"saved{EVIL_NAME}"), here, "--stream", "default"],
        ["rescue", str(run.parent.parent / f"saved{EVIL_NAME}"), here, "--stream", EVIL],
        ["rescue", here + EVIL_NAME, here],
        ["push", f"--{EVIL_NAME}"],
        ["ui", here + EVIL_NAME],
        [EVIL_NAME],
    ]


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> tuple[str, int]:
    """Return what a command writes to its terminal, standard error too, and its exit code."""
    ours, theirs = pty.openpty()
    pieces: list[bytes] = []

    def collect() -> None:
        try:
            while piece := os.read(ours, 4096):
                pieces.append(piece)
        except OSError:  # the other side is closed
            pass

    reader = threading.Thread(target=collect)
    reader.start()
    code: Any = 0
    with monkeypatch.context() as patch, os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        patch.setattr("sys.stdout", terminal)
        patch.setattr("sys.stderr", terminal)
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
    reader.join()
    os.close(ours)
    # The terminal itself makes "\r\n" of every line end.
    output = b"".join(pieces).decode().replace("\r\n", "\n")
    has_bar = arguments[0] in {"export", "verify"}
    return _PROGRESS_BAR.sub("", output) if has_bar else output, code


def test_no_command_sends_a_control_character_to_a_terminal(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = run.parent.parent / "other"
    other.mkdir()
    (other / "metrics.jsonl").write_bytes(encode_line({"_step": 0, EVIL: 2}))
    (run.parent.parent / f"elsewheres{EVIL_NAME}").mkdir()
    row = {"_step": 2, "_time": 4.0, EVIL: EVIL}
    (run.parent.parent / f"saved{EVIL_NAME}").write_bytes(encode_line(row))
    names = set()
    for arguments in command_lines(run):
        output, code = on_a_terminal(monkeypatch, arguments)
        assert obeyed(output) == [], (arguments, output)
        assert output, arguments
        assert code in {0, 1, 2}, (arguments, output)
        names.add(arguments[0])
    assert names >= set(main.list_commands(None)) - {"completion"}  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "label"), [("export", "Exporting"), ("verify", "Verifying")])
def test_long_work_shows_a_bar_on_a_terminal_and_none_in_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, label: str
) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    rows = [{"_step": i, "_time": 0.0, "loss": 0.5} for i in range(20_000)]
    (directory / "metrics.jsonl").write_bytes(b"".join(map(encode_line, rows)))
    (directory / "run.json").write_bytes(encode_line({"id": "1", "created": 0.0}))
    options = ["-o", str(tmp_path / "out.csv")] if name == "export" else []
    arguments = [name, str(directory), *options]
    output, code = on_a_terminal(monkeypatch, arguments)
    assert code == 0, output
    assert f"{label}  [" in output
    assert "100%" in output
    piped = CliRunner().invoke(main, arguments)
    assert (piped.exit_code, piped.stderr) == (0, "")
    assert label not in piped.stdout


def test_text_for_people_is_shown_in_a_pipe_as_well_and_data_is_not_touched(run: Path) -> None:
    for arguments in command_lines(run):
        result = CliRunner().invoke(main, arguments)
        assert obeyed(result.stderr) == [], arguments
        if not {"csv", "json", "jsonl"} & set(arguments):
            assert obeyed(result.stdout) == [], arguments
    data = CliRunner().invoke(main, ["history", str(run), "-n", "-1", "--format", "csv"])
    assert EVIL in data.stdout_bytes.decode()


def test_json_on_a_terminal_says_the_same(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["history", str(run), "--format", "json"]
    output, _ = on_a_terminal(monkeypatch, arguments)
    text = output[output.index("[\n") :]
    assert json.loads(text) == json.loads(CliRunner().invoke(main, arguments).stdout)
    assert json.loads(text)[0]["text"] == EVIL


@given(st.text())
def test_what_is_shown_is_printable_and_printable_text_stays(text: str) -> None:
    assert shown(text).isprintable()
    assert shown(shown(text)) == shown(text)
    if text.isprintable():
        assert shown(text) == text


def test_colours_and_tabs_are_all_that_a_console_line_may_do() -> None:
    assert shown_coloured("a\t\x1b[1;31mb\x1b[0m") == "a\t\x1b[1;31mb\x1b[0m"
    assert shown_coloured("\x1b[2Ja\x1b]0;t\x07\x1b[31") == "\\x1b[2Ja\\x1b]0;t\\x07\\x1b[31"
