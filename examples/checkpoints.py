"""Checkpoints as artifacts, a crash, and an honest resume.

The program trains to the middle and dies without a word, as a killed job does. It then starts
again from its last checkpoint: the steps it repeats belong to a second attempt, the default curve
has one value per step, and the rows of the first attempt stay readable.

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

STEPS, EVERY, CRASH_AT = 60, 20, 45
PROJECT, NAME = "checkpoints", "resumed"


def train(root: str, *, crash: bool) -> None:
    """Train from the newest checkpoint, or from the beginning."""
    state = {"step": 0, "weight": 10.0}
    checkpoint = newest_checkpoint(root)
    if checkpoint is not None:
        state = json.loads(checkpoint.read_text())
        print(f"continues from step {state['step']}")
    et.init(
        project=PROJECT,
        name=NAME,
        dir=root,
        resume_step=state["step"] if checkpoint is not None else None,
    )
    for step in range(state["step"], STEPS):
        state["weight"] *= 0.95
        et.log({"weight": state["weight"]})
        if (step + 1) % EVERY == 0:
            state["step"] = step + 1
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "state.json")
                path.write_text(json.dumps(state))
                et.log_artifact(path, name="checkpoint", type="model", aliases=["last"])
        if crash and step == CRASH_AT:
            print(f"dies at step {step}")
            sys.stdout.flush()
            os._exit(1)
    et.finish()


def newest_checkpoint(root: str) -> Path | None:
    """Return the newest checkpoint's file; ``None`` before the first one."""
    stored = sorted(Path(root, PROJECT, "artifacts", "checkpoint").glob("v*/state.json"))
    return max(stored, key=lambda path: int(path.parent.name[1:])) if stored else None


def main() -> None:
    """Train, die, resume, and show both attempts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", default="runs", help="the root of all runs (default: runs)")
    parser.add_argument("--phase", choices=["crash", "resume"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.phase is not None:
        train(arguments.dir, crash=arguments.phase == "crash")
        return

    for phase, expected in (("crash", 1), ("resume", 0)):
        command = [sys.executable, __file__, "--dir", arguments.dir, "--phase", phase]
        code = subprocess.run(command, check=False).returncode
        if code != expected:
            sys.exit(f"the phase {phase!r} ended with {code}, not {expected}")
    run = Path(arguments.dir, PROJECT, NAME)
    rows = et.history(-1, run=run)
    first = et.history(-1, run=run, attempt=1)
    print(f"{len(rows)} steps, 0 to {rows[-1]['_step']}, each once")
    print(f"attempt 1 reached step {first[-1]['_step']}; its rows are still there")


if __name__ == "__main__":
    main()
