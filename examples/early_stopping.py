"""Stop when the live history says that nothing improves any more.

The history of a running run can be asked like a finished one's, so the rule needs no list of its
own: it looks at the newest evaluations and compares them with the best before.

    python examples/early_stopping.py --patience 5
"""

import argparse
import random
import sys

import expr_tracker as et


def has_stalled(patience: int, tolerance: float) -> bool:
    """Say whether the last ``patience`` evaluations brought no better loss."""
    rows = et.history(-1, metrics=["eval/loss"], dropna=True)
    losses = [row["eval/loss"] for row in rows]
    if len(losses) <= patience:
        return False
    return min(losses[-patience:]) > min(losses[:-patience]) - tolerance


def main() -> None:
    """Fit a line by gradient descent and stop early."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", default="runs", help="the root of all runs (default: runs)")
    parser.add_argument("--steps", type=int, default=2_000, help="the longest run (default: 2000)")
    parser.add_argument("--patience", type=int, default=5, help="evaluations without gain")
    parser.add_argument("--seed", type=int, default=0, help="of the data (default: 0)")
    arguments = parser.parse_args()
    for name in ("steps", "patience"):
        if vars(arguments)[name] < 1:
            parser.error(f"--{name} {vars(arguments)[name]}: expected a number from 1")

    random.seed(arguments.seed)
    points = [(x / 50, 3 * x / 50 + 1 + random.gauss(0, 0.1)) for x in range(100)]
    train, held_out = points[::2], points[1::2]
    slope = offset = 0.0

    def loss_on(data: list[tuple[float, float]]) -> float:
        return sum((slope * x + offset - y) ** 2 for x, y in data) / len(data)

    stopped_at = arguments.steps
    with et.init(project="early-stopping", dir=arguments.dir, config=vars(arguments)):
        for step in range(arguments.steps):
            x, y = random.choice(train)
            error = slope * x + offset - y
            slope -= 0.05 * error * x
            offset -= 0.05 * error
            if step % 20 == 0:
                # The evaluation joins the row of this step: one line in the file, two cadences.
                et.log({"eval/loss": loss_on(held_out)}, step=step)
            et.log({"train/error": abs(error)}, step=step, commit=True)
            if step % 20 == 0 and has_stalled(arguments.patience, tolerance=1e-4):
                stopped_at = step
                break
        et.summary()["stopped_at"] = stopped_at
    print(f"stopped at step {stopped_at}: y = {slope:.2f} x + {offset:.2f}")


if __name__ == "__main__":
    try:
        main()
    except (et.errors.TrackerError, OSError) as error:
        sys.exit(f"Error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
