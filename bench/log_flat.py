"""`et.log` at the beginning and at the end of a long run.

Promise: the cost is flat from a thousand rows to a million. Compared are the medians of the first
and of the last thousand calls.
"""

from __future__ import annotations

from peer import Target, arguments_of, run_pair

PROGRAM = r"""
import array, json, time
import expr_tracker as et

rows, clock = settings["rows"], time.perf_counter_ns
et.init(project="bench", name="flat", dir=root, backends=[])
time.sleep(1)
took = array.array("q", bytes(8 * rows))
for index in range(rows):
    value = 1.0 / (index + 1)
    row = {"train/loss": value, "train/lr": 0.001, "a": value, "b": value, "c": value}
    start = clock()
    et.log(row)
    took[index] = clock() - start
et.finish()
first, last = microseconds(took[:1000], 0.5), microseconds(took[-1000:], 0.5)
print()
print(json.dumps({"first_p50_us": first, "last_p50_us": last, "growth": last / first}))
"""


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=1_000_000, rounds=1)
    run_pair(
        PROGRAM,
        "" if options.no_peer else PROGRAM,
        options.rounds,
        name="log_flat",
        settings={"rows": options.rows},
        # A fifth is what two medians of a thousand calls differ by on a shared machine.
        targets=[
            Target(
                "growth",
                "the last thousand of 1 M rows cost <= 1.2 x the first",
                at_most=1.2,
                at_rows=1_000_000,
            )
        ],
    )


if __name__ == "__main__":
    main()
