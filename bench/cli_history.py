"""`et history RUN` on a small run, from the start of the process to its end.

Promise: at most 120 ms. `python_ms` beside it is an interpreter that does nothing.
"""

from __future__ import annotations

from peer import Target, arguments_of, run_pair

PROGRAM = r"""
import json, os, pathlib, statistics, subprocess, sys, time
import expr_tracker as et

et.init(project="bench", name="small", dir=root, backends=[])
for index in range(settings["rows"]):
    et.log({"train/loss": 1.0 / (index + 1), "train/lr": 0.001})
et.finish()
program = str(pathlib.Path(sys.executable).with_name("et"))


def median_ms(command):
    took = []
    for _ in range(12):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took[1:])


history = median_ms([program, "history", os.path.join(root, "bench", "small")])
print()
print(json.dumps({"history_ms": history, "python_ms": median_ms([sys.executable, "-c", "pass"])}))
"""


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=200, rounds=3)
    run_pair(
        PROGRAM,
        "" if options.no_peer else PROGRAM,
        options.rounds,
        name="cli_history",
        settings={"rows": options.rows},
        targets=[Target("history_ms", "<= 120 ms", at_most=120)],
    )


if __name__ == "__main__":
    main()
