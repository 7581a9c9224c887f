"""Checkpoints as artifacts, a crash, and an honest resume.

The program trains to the middle and dies without a word, as a killed job does. It then starts
again from its last checkpoint: the steps it repeats belong to a second attempt, the default curve
has one value per step, and the rows of the first attempt stay readable. Run once more, it does so again,
in two further attempts of the same run.

    python examples/checkpoints.py
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import expr_tracker as et
from expr_tracker.history import list_attempts

STEPS, EVERY, CRASH_AT = 60, 20, 45
PROJECT, NAME = "checkpoints", "resumed"


def train(root: str, *, crash: bool) -> None:
    """Train from the last checkpoint; the life that will crash trains from the beginning."""
    checkpoint = None if crash else last_checkpoint(root)
    state = {"step": 0, "weight": 10.0}
    if checkpoint is not None:
        state = json.loads(checkpoint.get_path("state.json").read_text())
        print(f"continues from step {state['step']}")
    with et.init(project=PROJECT, name=NAME, dir=root, resume_step=state["step"]):
        if checkpoint is not None:
            et.use_artifact(checkpoint)  # noted with the run
        for step in range(state["step"], STEPS):
            state["weight"] *= 0.95
            et.log({"weight": state["weight"]})
            if (step + 1) % EVERY == 0:
                save({**state, "step": step + 1})
            if crash and step == CRASH_AT:
                print(f"dies at step {step}")
                sys.stdout.flush()
                os._exit(1)


def save(state: dict[str, float]) -> None:
    """Store a checkpoint; ``last`` points to it from now on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state.json")
        path.write_text(json.dumps(state))
        et.log_artifact(path, name="checkpoint", type="model", aliases=["last"])


def last_checkpoint(root: str) -> et.Artifact | None:
    """Return the checkpoint that was stored last; ``None`` before the first one."""
    try:
        return et.use_artifact("checkpoint:last", where=Path(root, PROJECT))
    except et.errors.ArtifactNotFoundError:
        return None


def main() -> None:
    """Train, die, resume, and show both attempts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", default="runs", help="the root of all runs (default: runs)")
    parser.add_argument("--phase", choices=["crash", "resume"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.phase is not None:
        train(arguments.dir, crash=arguments.phase == "crash")
        return

    Path(arguments.dir).mkdir(parents=True, exist_ok=True)
    for phase, expected in (("crash", 1), ("resume", 0)):
        command = [sys.executable, __file__, "--dir", arguments.dir, "--phase", phase]
        code = subprocess.run(command, check=False).returncode
        if code != expected:
            sys.exit(f"the phase {phase!r} ended with {code}, not {expected}")
    run = Path(arguments.dir, PROJECT, NAME)
    rows = et.history(-1, run=run)
    crashed = list_attempts(run)[-2].number
    before = et.history(-1, run=run, attempt=crashed)
    print(f"{len(rows)} steps, 0 to {rows[-1]['_step']}, each once")
    print(f"attempt {crashed} reached step {before[-1]['_step']}; its rows are still there")


if __name__ == "__main__":
    try:
        main()
    except (et.errors.TrackerError, OSError) as error:
        sys.exit(f"Error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
