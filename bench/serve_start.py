"""From the command to the first answer, and what all processes hold then; beside MLflow's server.

The first start of a home makes the database; later starts find it. Promises: at most 6 seconds the
first time, 2 later, and 350 MiB after the start (what processes share counts once). MLflow starts on
SQLite, its default, whose file its first start makes. ``--rounds`` counts later starts.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from peer import Figures, Target, arguments_of, report
from servers.mlflow import mlflow, mlflow_version, sqlite_address
from servers.platform import platform
from servers.processes import memory_mib

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from servers.mlflow import Mlflow
    from servers.platform import Platform

TARGETS = {"first_seconds": 6.0, "later_seconds": 2.0, "memory_mib": 350.0}


class Starts:
    """The starts of one server, told apart by which came first."""

    def __init__(self) -> None:
        self._seconds: list[float] = []
        self._memory_mib: list[float] = []

    def add(self, started: AbstractContextManager[Platform | Mlflow]) -> None:
        """Start it, look at it, and end it."""
        with started as server:
            self._seconds.append(server.start_seconds)
            self._memory_mib.append(memory_mib(server.pid))

    def figures(self) -> Figures:
        """Return how long it took, in seconds, and what it held, in MiB."""
        first, *later = self._seconds
        return {
            "first_seconds": round(first, 2),
            "later_seconds": round(statistics.median(later), 2),
            "memory_mib": statistics.median(self._memory_mib),
        }


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=None, rounds=3)
    with tempfile.TemporaryDirectory(prefix="et-bench-") as directory:
        root = Path(directory)
        # The database's own user walks through it.
        root.chmod(0o755)
        ours, theirs = Starts(), Starts()
        for _ in range(options.rounds + 1):
            ours.add(platform(root / "home"))
            if not options.no_peer:
                theirs.add(mlflow(root / "mlflow", sqlite_address(root)))
    report(
        "serve_start",
        options.rounds,
        settings={} if options.no_peer else {"peer": f"mlflow {mlflow_version()} on sqlite"},
        ours=ours.figures(),
        peer={} if options.no_peer else theirs.figures(),
        targets=[Target(name, f"<= {limit:g}", at_most=limit) for name, limit in TARGETS.items()],
    )


if __name__ == "__main__":
    main()
