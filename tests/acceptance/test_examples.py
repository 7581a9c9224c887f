"""The examples run as whole programs, offline, and leave what they promise."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from expr_tracker.history import list_streams, read_history, status_of
from expr_tracker.store.reader import whole_rows

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.acceptance


def run(example: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_quickstart_logs_a_curve_and_reads_its_end(tmp_path: Path) -> None:
    printed = run("quickstart.py", "--dir", str(tmp_path), "--steps", "60")
    rows = read_history(tmp_path / "quickstart" / "curve", -1)
    assert [row["_step"] for row in rows] == list(range(60))
    assert f"step 59: train/loss {rows[-1]['train/loss']:.4f}" in printed


def test_early_stopping_stops_before_the_last_step(tmp_path: Path) -> None:
    printed = run("early_stopping.py", "--dir", str(tmp_path))
    stopped = int(printed.split("stopped at step ")[1].split(":")[0])
    (directory,) = (tmp_path / "early-stopping").glob("run-*")
    rows = read_history(directory, -1)
    assert rows[-1]["_step"] == stopped < 1_999
    assert all(("eval/loss" in row) == (row["_step"] % 20 == 0) for row in rows)


def test_a_resumed_checkpoint_run_has_every_step_once_and_keeps_the_first_attempt(
    tmp_path: Path,
) -> None:
    run("checkpoints.py", "--dir", str(tmp_path))
    directory = tmp_path / "checkpoints" / "resumed"
    rows = read_history(directory, -1)
    assert [row["_step"] for row in rows] == list(range(60))
    # The weight shrinks by a twentieth a step, whoever computed it: the curve has no seam.
    assert rows[-1]["weight"] == pytest.approx(10 * 0.95**60)
    first = read_history(directory, -1, attempt=1)
    assert [row["_step"] for row in first] == list(range(46))
    again = run("checkpoints.py", "--dir", str(tmp_path))
    assert "continues from step 40" in again
    assert "attempt 3 reached step 45" in again
    assert [row["_step"] for row in read_history(directory, -1)] == list(range(60))
    used = [row for row in whole_rows(directory / "artifacts.jsonl") if row["action"] == "use"]
    assert [row["version"] for row in used] == ["v1", "v1"]


def test_the_digits_are_learned_by_two_processes_in_one_run(tmp_path: Path) -> None:
    plot = tmp_path / "digits.png"
    run("train_digits.py", "--dir", str(tmp_path), "--steps", "300", "--plot", str(plot))
    directory = tmp_path / "digits" / "mlp"
    assert list_streams(directory) == [None, "data"]
    evaluated = read_history(directory, -1, metrics=["eval/accuracy"], dropna=True)
    assert evaluated[-1]["eval/accuracy"] > 0.9
    produced = read_history(directory, -1, stream="data")
    assert len(produced) == 300
    assert "time_ms/produce/augment" in produced[0]
    (table,) = (
        row["eval/mistakes"]
        for row in read_history(directory, -1, metrics=["eval/mistakes"], dropna=True)
    )
    assert (directory / table["path"]).is_file()
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "words",
    [
        "quickstart.py --steps 0",
        "quickstart.py --dir /dev/null/x",
        "early_stopping.py --steps -1",
        "early_stopping.py --patience 0",
        "early_stopping.py --dir /dev/null/x",
        "checkpoints.py --dir /dev/null/x",
        "train_digits.py --steps 0",
        "train_digits.py --eval-every 0",
        "train_digits.py --name ../x",
        "train_digits.py --dir /dev/null/x",
        "train_digits.py --plot x.abc",
        "train_digits.py --plot /dev/null/y.png",
    ],
)
def test_what_an_example_cannot_do_is_said_in_one_line(words: str, tmp_path: Path) -> None:
    example, *arguments = words.split()
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr
    named = "/dev/null" if "/dev/null" in words else arguments[-1]
    assert named in done.stderr.splitlines()[-1]
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_ctrl_c_ends_a_training_and_its_worker_without_a_traceback(tmp_path: Path) -> None:
    command = [str(ROOT / "examples" / "train_digits.py"), "--dir", "runs", "--steps", "100000"]
    program = subprocess.Popen(
        [sys.executable, *command],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert program.stderr is not None
        for line in program.stderr:  # it draws how far it is
            if "accuracy" in line:
                break
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does
        errors = program.stderr.read()
        assert program.wait(timeout=60) == 130
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        if program.stderr is not None:
            program.stderr.close()
    assert "Traceback" not in errors
    assert status_of(tmp_path / "runs" / "digits" / "mlp") == "cancelled"


@pytest.mark.parametrize("example", ["multiprocess_pipeline.py", "train_digits.py"])
def test_a_picture_without_matplotlib_is_refused_before_the_work(
    example: str, tmp_path: Path
) -> None:
    without, runs = tmp_path / "without", tmp_path / "runs"
    without.mkdir()
    runs.mkdir()
    (without / "sitecustomize.py").write_text("import sys\nsys.modules['matplotlib'] = None\n")
    path = os.pathsep.join([str(without), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "examples" / example),
            "--plot",
            "a.png",
            "--dir",
            str(runs),
        ],
        cwd=runs,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 2
    assert done.stderr.endswith("error: --plot needs matplotlib: pip install matplotlib\n")
    assert os.listdir(runs) == []


@pytest.mark.parametrize("example", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_the_help_of_an_example_names_no_default_that_is_none(example: str) -> None:
    assert "None" not in run(example, "--help")
