"""`import expr_tracker`, in a fresh interpreter each time.

Promise: at most 40 ms and at least 5 times faster than the peer; nothing is imported that the run
does not use: `heavy_modules` counts which of click, pandas, pydantic and the like came along.
"""

from __future__ import annotations

from peer import Target, arguments_of, run_pair

PROGRAM = r"""
import json, subprocess, sys

ONE = '''
import sys, time
start = time.perf_counter()
import expr_tracker
took = time.perf_counter() - start
heavy = {"click", "numpy", "pandas", "polars", "pyarrow", "pydantic", "loguru", "httpx", "asyncio"}
print(took * 1000, len(heavy & set(sys.modules)), len(sys.modules))
'''
rows = []
# The first one compiles bytecode and fills the page cache.
for index in range(settings["starts"] + 1):
    out = subprocess.run([sys.executable, "-c", ONE], capture_output=True, check=True, text=True)
    rows.append([float(word) for word in out.stdout.split()])
rows = sorted(rows[1:])
middle = rows[len(rows) // 2]
print(json.dumps({"import_ms": middle[0], "heavy_modules": middle[1], "modules": middle[2]}))
"""


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=None, rounds=3)
    run_pair(
        PROGRAM,
        "" if options.no_peer else PROGRAM,
        options.rounds,
        name="import_time",
        settings={"starts": 11},
        targets=[
            Target("import_ms", "<= 40 ms and >= 5 x faster", at_most=40, ratio_at_least=5),
            Target("heavy_modules", "nothing that the run does not use", at_most=0),
        ],
    )


if __name__ == "__main__":
    main()
