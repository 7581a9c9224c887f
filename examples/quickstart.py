"""The shortest useful program: log a loss, look back at it while the run is live, finish.

python examples/quickstart.py
"""

import argparse
import math
import sys

import expr_tracker as et


def main() -> None:
    """Log a curve that falls and print its end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", default="runs", help="the root of all runs (default: runs)")
    parser.add_argument("--steps", type=int, default=200, help="rows to log (default: 200)")
    arguments = parser.parse_args()
    if arguments.steps < 1:
        parser.error(f"--steps {arguments.steps}: expected a number from 1")

    run = et.init(
        project="quickstart", name="curve", dir=arguments.dir, config={"steps": arguments.steps}
    )
    for step in range(arguments.steps):
        with et.span("step"):
            loss = math.exp(-step / 50) + 0.05 * math.sin(step)
        et.log({"train/loss": loss, "lr": 0.1 / (1 + step / 100)})

    for row in et.history(3, metrics=["train/loss"]):
        print(f"step {row['_step']}: train/loss {row['train/loss']:.4f}")
    best = min(row["train/loss"] for row in et.history(-1))
    et.summary()["train/loss_min"] = best
    print(f"lowest train/loss {best:.4f}; look at it with: et history {run.dir}")
    et.finish()


if __name__ == "__main__":
    try:
        main()
    except (et.errors.TrackerError, OSError) as error:
        sys.exit(f"Error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
