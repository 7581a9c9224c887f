"""A run directory into a served platform by `et push`: rows of five metrics, all points once.

The command is timed as a user runs it, from its start to its end, and once more when there is nothing
left to send. MLflow has no directory to push from. Promise on 2 cores: 50 000 points a second (20 us a
point). ``--rows`` is the number of points.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from peer import Figures, Target, arguments_of, medians, report
from servers.platform import platform

import expr_tracker as et

if TYPE_CHECKING:
    from servers.platform import Platform

METRICS = 5
COMMAND = "from expr_tracker.cli import main; main()"


def written(folder: Path, rows: int) -> None:
    """Write a run of so many rows."""
    run = et.init(project="bench", name="run", dir=folder, durability="buffered", capture=False)
    for step in range(rows):
        run.log({f"metric_{at}": step / (at + 1) for at in range(METRICS)}, step=step)
    run.finish()


def pushed(where: Platform, folder: Path) -> float:
    """Push what is in a folder; return the seconds that took."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", COMMAND, "push", str(folder)],
        env={**os.environ, "MAPI_URL": where.url, "MAPI_TOKEN": where.token},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - start


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=1_000_000, rounds=1)
    rows = max(1, options.rows // METRICS)
    rounds: list[Figures] = []
    with tempfile.TemporaryDirectory(prefix="et-bench-") as directory:
        root = Path(directory)
        # The database's own user walks through it.
        root.chmod(0o755)
        with platform(root / "home") as where:
            for turn in range(options.rounds):
                folder = root / f"runs{turn}"
                written(folder, rows)
                seconds = pushed(where, folder)
                rounds.append(
                    {
                        "us_per_point": seconds * 1e6 / (rows * METRICS),
                        "points_per_second": rows * METRICS / seconds,
                        "again_seconds": pushed(where, folder),
                    }
                )
    report(
        "push",
        options.rounds,
        settings={"rows": options.rows, "metrics": METRICS},
        ours=medians(rounds),
        peer={},
        targets=[Target("us_per_point", "<= 20 us a point", at_most=20, at_rows=1_000_000)],
    )


if __name__ == "__main__":
    main()
