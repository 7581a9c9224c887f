"""`et.history(50)` in a live run of a million rows.

Promise: at most 150 us. One row is logged before each query, so that no answer can be kept.
"""

from __future__ import annotations

from peer import Target, arguments_of, run_pair

PROGRAM = r"""
import array, json, time
import expr_tracker as et

rows, queries, clock = settings["rows"], settings["queries"], time.perf_counter_ns
et.init(project="bench", name="history", dir=root, backends=[])
for index in range(rows):
    value = 1.0 / (index + 1)
    et.log({"train/loss": value, "train/lr": 0.001, "a": value, "b": value, "c": value})
took = array.array("q", bytes(8 * queries))
for index in range(queries):
    et.log({"train/loss": float(index), "train/lr": 0.001, "a": 1.5, "b": 2.5, "c": 3.5})
    start = clock()
    answer = et.history(50)
    took[index] = clock() - start
assert len(answer) == 50 and answer[-1]["train/loss"] == float(queries - 1), answer[-1]
et.finish()
print()
print(json.dumps({"p50_us": microseconds(took, 0.5), "p99_us": microseconds(took, 0.99)}))
"""


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=1_000_000, rounds=1)
    run_pair(
        PROGRAM,
        "" if options.no_peer else PROGRAM,
        options.rounds,
        name="history_50",
        settings={"rows": options.rows, "queries": 1000},
        targets=[Target("p50_us", "<= 150 us at 1 M rows", at_most=150, at_rows=1_000_000)],
    )


if __name__ == "__main__":
    main()
