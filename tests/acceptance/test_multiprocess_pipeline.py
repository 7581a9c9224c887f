"""The worked example of streams, as a whole program: eight processes, one run."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from expr_tracker.history import list_streams, read_history, status_of
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.lock import StreamLock

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "multiprocess_pipeline.py"
#: Ten seconds is what it takes on a busy machine; a hang must end before the test's own limit.
SECONDS_MAX = 100
LOOK_SECONDS = 0.02


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLE), "--dir", str(directory), "--name", "p", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False, env=environment
    )


def block(output: str, side: str) -> list[tuple[str, float, float, str]]:
    """Return (name, seconds, percent, mark) of the lines under ``side``, in their order."""
    lines = output.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"  {side}  "))
    found = []
    for line in lines[start + 1 :]:
        match = re.fullmatch(r"    (\w+) +(\d+\.\d\d)s +(\d+\.\d)%(?:  <- (\w+))?", line)
        if match is None:
            break
        found.append((match[1], float(match[2]), float(match[3]), match[4] or ""))
    return found


@pytest.mark.parametrize(
    ("produce_ms", "train_ms", "marks"),
    [
        (10, 40, {"enqueue": "backpressure", "wait_for_batch": ""}),
        (40, 10, {"enqueue": "", "wait_for_batch": "starvation"}),
    ],
    ids=["producers-faster", "trainers-faster"],
)
def test_the_side_that_waits_is_marked(
    produce_ms: int, train_ms: int, marks: dict[str, str], tmp_path: Path
) -> None:
    times = ("--produce-ms", str(produce_ms), "--train-ms", str(train_ms), "--staleness", "3")
    result = run(tmp_path, *times)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^  producers  \d+\.\d\ds in produce$", result.stdout, re.MULTILINE)
    assert re.search(r"^  trainers  \d+\.\d\ds in step$", result.stdout, re.MULTILINE)
    for side, names in (
        ("producers", {"read", "decode", "enqueue"}),
        ("trainers", {"wait_for_batch", "forward", "backward"}),
    ):
        spans = block(result.stdout, side)
        assert {name for name, *_ in spans} == names
        seconds = [span[1] for span in spans]
        assert seconds == sorted(seconds, reverse=True)
        assert 80 <= sum(span[2] for span in spans) <= 100.1
        for name, _, _, mark in spans:
            assert mark == marks.get(name, "")
    assert "the bound is 3: it holds" in result.stdout
    assert "batches trained" in result.stderr


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_each_worker_has_a_stream_and_a_lane_and_the_bound_holds(
    method: str, tmp_path: Path
) -> None:
    trace_file, picture = tmp_path / "trace.json", tmp_path / "picture.png"
    pytest.importorskip("matplotlib")
    files = ("--trace", str(trace_file), "--plot", str(picture), "--start-method", method)
    fast = ("--produce-ms", "2", "--train-ms", "6", "--batches", "6", "--staleness", "1")
    result = run(tmp_path, *fast, *files)
    assert result.returncode == 0, result.stderr
    directory = tmp_path / "pipeline" / "p"
    streams = [f"{side}-{n}" for side in ("produce", "train") for n in range(4)]
    assert list_streams(directory) == streams

    events = json.loads(trace_file.read_bytes())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert names == streams
    assert {event["tid"] for event in events if event["ph"] == "X"} == {1}
    assert picture.read_bytes().startswith(b"\x89PNG")
    for producer in range(4):
        rows = read_history(directory, -1, stream=f"produce-{producer}")
        assert [row["_step"] for row in rows] == list(range(6))
        assert max(row["ahead"] for row in rows) == 1
    trained = [read_history(directory, -1, stream=f"train-{n}") for n in range(4)]
    assert sum("loss" in row for rows in trained for row in rows) == 24


def test_a_worker_that_dies_ends_the_program_with_its_name(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE), "--dir", str(tmp_path), "--name", "p"]
    program = subprocess.Popen(
        [*command, "--batches", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    try:
        spans = tmp_path / "pipeline" / "p" / "spans.train-1.jsonl"
        deadline = time.monotonic() + SECONDS_MAX / 2
        while not (spans.exists() and spans.stat().st_size):
            assert time.monotonic() < deadline, "no trainer began"
            assert program.poll() is None, program.communicate()
            time.sleep(LOOK_SECONDS)
        holder = json.loads(spans.with_name("metrics.train-1.lock").read_text())
        os.kill(holder["pid"], signal.SIGKILL)
        _, errors = program.communicate(timeout=SECONDS_MAX / 2)
    finally:
        program.kill()
        program.wait()
    assert program.returncode == 1
    assert "Error: train-1 died: signal SIGKILL, exit code -9." in errors


def test_ctrl_c_ends_all_processes_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE), "--dir", str(tmp_path), "--name", "p"]
    program = subprocess.Popen(
        [*command, "--batches", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        start_new_session=True,
    )
    try:
        spans = tmp_path / "pipeline" / "p" / "spans.train-1.jsonl"
        deadline = time.monotonic() + SECONDS_MAX / 2
        while not (spans.exists() and spans.stat().st_size):
            assert time.monotonic() < deadline, "no trainer began"
            time.sleep(LOOK_SECONDS)
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does
        _, errors = program.communicate(timeout=SECONDS_MAX / 2)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    assert program.returncode == 130
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == f"Interrupted. What was logged is in {spans.parent}"
    assert status_of(spans.parent) == "cancelled"


def test_the_wait_for_the_pipeline_to_fill_is_no_starvation(tmp_path: Path) -> None:
    few = ("--batches", "1", "--produce-ms", "100", "--train-ms", "20")
    result = run(tmp_path, *few)
    assert result.returncode == 0, result.stderr
    wait = next(span for span in block(result.stdout, "trainers") if span[0] == "wait_for_batch")
    assert wait[2] > 50
    assert wait[3] == ""


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (("--name", "../x"), "run name '../x'"),
        (("--dir", "/dev/null/x"), "/dev/null/x/pipeline/p: Not a directory"),
        (("--trace", "/nonexistent/x.json"), "x.json: there is no folder /nonexistent"),
        (("--trace", "/dev"), "/dev is a folder"),
        (("--plot", "/nonexistent/x.png"), "x.png: there is no folder /nonexistent"),
        (("--plot", "x.abc"), "x.abc: a picture ends with .png, .pdf, .svg"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_is_said_in_one_line_before_the_work(
    bad: tuple[str, str], said: str, tmp_path: Path
) -> None:
    if bad[0] == "--plot":
        pytest.importorskip("matplotlib")
    result = run(tmp_path, *bad)
    assert result.returncode == 2
    assert said in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_run_that_another_pipeline_writes_is_refused_in_one_line(tmp_path: Path) -> None:
    lock = StreamLock(RunFiles(tmp_path / "pipeline" / "p", StreamKey("train-2")).lock)
    (tmp_path / "pipeline" / "p").mkdir(parents=True)
    lock.acquire("train-2")
    try:
        result = run(tmp_path)
    finally:
        lock.release()
    assert result.returncode == 2
    assert "Stream 'train-2' of this run is being written" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "bad",
    [("--staleness", "0"), ("--produce-ms", "-1"), ("--train-ms", "nan"), ("--batches", "x")],
)
def test_bad_arguments_are_refused(bad: tuple[str, str], tmp_path: Path) -> None:
    result = run(tmp_path, *bad)
    assert result.returncode == 2
    assert bad[0] in result.stderr
    assert list(tmp_path.iterdir()) == []
