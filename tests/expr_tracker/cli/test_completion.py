"""Tab completion, asked the way a shell asks: one process a key press, the words in variables."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.artifacts import ArtifactStore
from expr_tracker.store.documents import write_document, write_once
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path


def lines_of(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(map(encode_line, rows))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return ``runs/llm/one`` below the working directory, with neighbours."""
    for name in ("llm/one", "llm/other", "vision/a"):
        directory = tmp_path / "runs" / name
        directory.mkdir(parents=True)
        write_once(directory / "run.json", {"id": name, "created": 5.0})
    one = tmp_path / "runs" / "llm" / "one"
    rows: list[dict[str, Any]] = [
        {"_step": 0, "_time": 0.5, "loss": 1.0, "eval/acc": 0.5},
        {"_step": 1, "_time": 0.5, "two words": 1, "lr": 0.1, "glob*": 1},
    ]
    (one / "metrics.jsonl").write_bytes(lines_of(rows))
    (one / "metrics.rank1.jsonl").write_bytes(lines_of(rows))
    (one / "metrics.data.jsonl").write_bytes(lines_of([{"_step": 7, "_time": 0.0, "ms": 5}]))
    write_document(one / "summary.json", {"best": 0.9})
    write_document(one / "config.json", {"lr": 0.1, "model": {"width": 64}, "two words": 1})
    sidecar = {"attempts": [[1, None, 0, 1.0, 1, "lost", None], [2, 5, 90, 2.0, 1, None, None]]}
    write_document(one / "metrics.meta.json", sidecar)
    (one / "console.err.jsonl").write_bytes(lines_of([{"_time": 0.0, "text": "x"}]))
    (tmp_path / "file").write_bytes(b"content")
    ArtifactStore(tmp_path / "runs" / "llm" / "artifacts", None, "one").log(tmp_path / "file")
    return one


def offered(line: str, **variables: str) -> list[str]:
    """Return what is offered for the last word of a command line; ``type:`` where it is no text."""
    words = shlex.split(line)
    if line.endswith(" "):
        words.append("")
    asked = subprocess.run(
        [sys.executable, "-m", "expr_tracker"],
        env={
            **os.environ,
            "_ET_COMPLETE": "bash_complete",
            "COMP_WORDS": shlex.join(words) if words[-1] else shlex.join(words[:-1]) + " ",
            "COMP_CWORD": str(len(words) - 1),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.stderr == ""
    answers = [answer.split(",", 1) for answer in asked.stdout.splitlines() if answer]
    return [text if kind == "plain" else f"{kind}:" for kind, text in answers]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("et ", ["ls", "history", "export", "verify", "trace", "console", "artifact",
                 "rescue", "push", "ui", "completion"]),
        ("et h", ["history"]),
        ("et history ", ["runs/llm/one", "runs/llm/other", "runs/vision/a"]),
        ("et history ru", ["runs/llm/one", "runs/llm/other", "runs/vision/a"]),
        ("et history runs/llm/o", ["runs/llm/one", "runs/llm/other"]),
        ("et history ./runs/v", ["./runs/vision/a"]),
        ("et history runs/llm/one/", ["file:"]),
        ("et history fi", ["file:"]),
        ("et trace runs/v", ["runs/vision/a"]),
        ("et console runs/v", ["runs/vision/a"]),
        ("et export runs/v", ["runs/vision/a"]),
        ("et verify runs/llm/one --against runs/v", ["runs/vision/a"]),
        ("et history runs/llm/one --stream ", ["default", "data"]),
        ("et history runs/llm/one --stream d", ["default", "data"]),
        ("et history runs/llm/one --stream x", []),
        ("et export runs/llm/one --stream da", ["data"]),
        ("et console runs/llm/one --stream ", ["err"]),
        ("et trace runs/llm/one --stream data,", ["data,default"]),
        ("et history runs/llm/one --rank ", ["0", "1"]),
        ("et history runs/llm/one --rank 1,", ["1,0"]),
        ("et trace runs/llm/one --rank 0,", ["0,1"]),
        ("et export runs/llm/one --rank ", ["0", "1"]),
        ("et history runs/llm/one --stream data --rank ", ["0"]),
        ("et ls --metric ", ["best", "eval/acc", "loss", "lr", "ms"]),
        ("et ls runs/llm --metric loss --metric e", ["eval/acc"]),
        ("et ls runs/vision --metric ", []),
        ("et ls nowhere --metric ", []),
        ("et ls --config ", ["lr", "model/width"]),
        ("et ls runs/llm --config m", ["model/width"]),
        ("et ls --status l", ["lost"]),
        ("et ls --sort st", ["status", "streams", "started"]),
        ("et ls --sort l", ["last_step", "loss", "lr"]),
        ("et ls --config model/width --sort m", ["model/width", "ms"]),
        ("et ls --re", ["--reverse"]),
        ("et history runs/llm/one --attempt ", ["1", "2", "all"]),
        ("et history runs/llm/other --attempt ", ["all"]),
        ("et history runs/llm/one --metrics ", ["best", "eval/acc", "loss", "lr"]),
        ("et history runs/llm/one --metrics l", ["loss", "lr"]),
        ("et history runs/llm/one --metrics loss,l", ["loss,lr"]),
        ("et history runs/llm/one --metrics=loss,e", ["loss,eval/acc"]),
        ("et history runs/llm/one --stream data --metrics ", ["ms"]),
        ("et history runs/llm/one --stream '*' --metric m", ["ms"]),
        ("et history runs/llm/one/metrics.data.jsonl --metric ", ["ms"]),
        ("et trace runs/llm/one --metrics loss,eval/acc,b", ["loss,eval/acc,best"]),
        ("et history runs/llm/one --format ", ["table", "json", "csv", "jsonl"]),
        ("et export runs/llm/one --format p", ["parquet"]),
        ("et export runs/llm/one -o ", ["file:"]),
        ("et history runs/llm/one --str", ["--stream"]),
        ("et artifact ", ["get", "list", "show", "verify"]),
        ("et artifact show runs/llm ", ["file"]),
        ("et rescue renamed runs/v", ["runs/vision/a"]),
        ("et rescue renamed runs/llm/one --stream d", ["default", "data"]),
        ("et rescue renamed runs/llm/one --rank ", ["0", "1"]),
        ("et rescue renamed runs/llm/one --dr", ["--dry-run"]),
        ("et completion z", ["zsh"]),
        ("et history runs/no/run --metrics ", []),
        ("et history --stream ", []),
    ],
)  # fmt: skip
def test_a_key_press_offers_what_could_stand_there(line: str, expected: list[str]) -> None:
    assert sorted(offered(line)) == sorted(expected)


def test_rescue_files_are_offered_where_the_temporary_folder_has_any(tmp_path: Path) -> None:
    def asked(word: str) -> list[str]:
        return offered(f"et rescue {word}", TMPDIR=str(tmp_path))

    assert asked("") == ["file:"]
    saved = tmp_path / "expr-tracker-metrics-k3x9q2ab.jsonl"
    saved.write_bytes(b"")
    (tmp_path / "other.jsonl").write_bytes(b"")
    (
        tmp_path / "expr-tracker-x1y2z3a4"
    ).mkdir()  # where an export to standard output is written first
    assert asked("") == asked(str(tmp_path)) == [str(saved)]
    assert asked("other") == ["file:"]


def test_the_root_of_runs_may_be_elsewhere(run: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").rename(tmp_path / "kept")
    root = str(tmp_path / "kept")
    assert f"{root}/llm/one" in offered("et history ", ET_DIR=root)
    assert offered(f"et history {root}/v", ET_DIR=root) == [f"{root}/vision/a"]
    assert run.name == "one"


@pytest.mark.parametrize(
    "damage",
    [b"", b"\xff\x00damage", b'{"_step":0,"_time":0.0,"lo', b'["a"]\n', b"9" * 300_000],
)
def test_a_damaged_run_costs_names_and_nothing_else(run: Path, damage: bytes) -> None:
    for name in ("metrics.jsonl", "metrics.meta.json", "summary.json", "run.json"):
        (run / name).write_bytes(damage)
    for option in ("--metrics", "--stream", "--rank", "--attempt", "--metric"):
        offered(f"et history runs/llm/one {option} ")
    assert "runs/llm/one" in offered("et history ")


def test_a_large_file_is_read_at_its_ends_alone(run: Path) -> None:
    middle = lines_of([{"_step": 5, "_time": 0.0, "middle": 1}] * 2)
    fill = lines_of([{"_step": i, "_time": 0.0, "loss": 0.5} for i in range(10_000)])
    last = lines_of([{"_step": 9, "_time": 0.0, "last": 1}])
    (run / "metrics.rank1.jsonl").unlink()
    (run / "metrics.jsonl").write_bytes(fill + middle + fill + last)
    assert offered("et history runs/llm/one --metrics ") == ["best", "last", "loss"]


def test_bash_completes_with_the_lines_that_et_prints(run: Path, tmp_path: Path) -> None:
    command = tmp_path / "bin" / "et"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m expr_tracker "$@"\n')
    command.chmod(0o755)
    program = """
        eval "$(et completion bash)"
        COMP_WORDS=(et history runs/llm/one --metrics loss,l) COMP_CWORD=4
        _et_completion et
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    ended = subprocess.run(
        ["bash", "--norc", "-c", program],
        env={**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("loss,lr\n", "")
    assert run.is_dir()


def test_completion_loads_no_table_library_and_no_module_of_another_command(run: Path) -> None:
    program = (
        "import sys\n"
        "from expr_tracker.cli import main\n"
        "try: main([])\n"
        "except SystemExit: pass\n"
        "heavy = {'pandas', 'polars', 'pyarrow', 'numpy', 'expr_tracker.history.bulk',\n"
        "         'expr_tracker.cli.trace', 'expr_tracker.run'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    words = f"et history {run} --metrics "
    environment = {"_ET_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "4"}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stderr == ""
    assert "plain,loss" in ended.stdout
