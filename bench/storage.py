"""Bytes on disk for each point, indexes included, while its run is live and once it is compacted.

Points go in through each client, 1 000 a call, and what the points took is the growth of our tables
of points, of MLflow's file on SQLite, and of its database on PostgreSQL. Then our run ends and
`mapi admin compact` moves its points into chunks, whose tables are measured; MLflow keeps what it has.
Promises: at most 115 bytes live, and 30 compacted. ``--rows`` is the number of points.
"""

from __future__ import annotations

import subprocess
import sys

from ingest import MLFLOW, OURS
from peer import Figures, Target, arguments_of, report, run_program
from servers.platform import PROGRAM
from servers.turns import Side, both

import mapi

#: Of one call, as many as MLflow takes.
CALL = 1_000


def grown(side: Side, *, rows: int) -> Figures:
    """Log points; return what each took on disk."""
    calls = max(1, rows // CALL)
    before = side.points_bytes()
    code = OURS if side.is_ours else MLFLOW
    done = run_program(side.python, code, {"points": CALL, "calls": calls, **side.settings})
    figures = {"bytes_per_point": round((side.points_bytes() - before) / done["units"], 1)}
    if side.is_ours:
        before = side.chunks_bytes()
        compact(side)
        size = side.chunks_bytes() - before
        figures["compacted_bytes_per_point"] = round(size / done["units"], 1)
    return figures


def compact(side: Side) -> None:
    """End our runs, and compact their points as the hourly job does."""
    with mapi.Client(side.settings["url"], token=side.settings["token"]) as api:
        for run in api.runs.list():
            api.runs.update(run, status="succeeded")
    command = ["admin", f"--home={side.settings['home']}", "compact", "--hours=0"]
    subprocess.run(
        [sys.executable, "-c", PROGRAM, *command], stdout=subprocess.DEVNULL, check=True
    )


def main() -> None:
    """Run the bench, one line for each peer."""
    options = arguments_of(__doc__, rows=200_000, rounds=1)
    targets = [
        Target("bytes_per_point", "<= 115 bytes", at_most=115, at_rows=200_000),
        Target("compacted_bytes_per_point", "<= 30 bytes", at_most=30, at_rows=200_000),
    ]
    with both(options) as sides:
        ours, *peers = [(side.name, grown(side, rows=options.rows)) for side in sides]
    for name, figures in peers or [("", {})]:
        report(
            "storage",
            1,
            settings={"rows": options.rows, **({"peer": name} if name else {})},
            ours=ours[1],
            peer=figures,
            targets=targets,
        )


if __name__ == "__main__":
    main()
