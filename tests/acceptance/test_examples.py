"""The examples run as whole programs, offline, and leave what they promise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from expr_tracker.history import list_streams, read_history
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
