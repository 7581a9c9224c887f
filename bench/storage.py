"""Bytes on disk for each point of a run that is live, indexes included, beside MLflow's.

Points go in through each client, 1 000 a call, and what the points took is the growth of our tables
of points, of MLflow's file on SQLite, and of its database on PostgreSQL. Promise: at most 115 bytes.
``--rows`` is the number of points.
"""

from __future__ import annotations

from ingest import MLFLOW, OURS
from peer import Figures, Target, arguments_of, report, run_program
from servers.turns import Side, both

#: Of one call, as many as MLflow takes.
CALL = 1_000


def grown(side: Side, *, rows: int) -> Figures:
    """Log points; return what each took on disk."""
    calls = max(1, rows // CALL)
    before = side.points_bytes()
    code = OURS if side.is_ours else MLFLOW
    done = run_program(side.python, code, {"points": CALL, "calls": calls, **side.settings})
    return {"bytes_per_point": round((side.points_bytes() - before) / done["units"], 1)}


def main() -> None:
    """Run the bench, one line for each peer."""
    options = arguments_of(__doc__, rows=200_000, rounds=1)
    target = Target("bytes_per_point", "<= 115 bytes", at_most=115, at_rows=200_000)
    with both(options) as sides:
        ours, *peers = [(side.name, grown(side, rows=options.rows)) for side in sides]
    for name, figures in peers or [("", {})]:
        report(
            "storage",
            1,
            settings={"rows": options.rows, **({"peer": name} if name else {})},
            ours=ours[1],
            peer=figures,
            targets=[target],
        )


if __name__ == "__main__":
    main()
