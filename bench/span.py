"""A span whose duration becomes a metric and a line of the span file.

Promise: at most 5 us and at least 3 times faster than the peer. The committing `et.log` between the
spans is not counted.
"""

from __future__ import annotations

from peer import Target, arguments_of, run_pair

PROGRAM = r"""
import array, json, time
import expr_tracker as et

rows, clock = settings["rows"], time.perf_counter_ns
et.init(project="bench", name="span", dir=root, backends=[])
time.sleep(1)
took = array.array("q", bytes(8 * rows))
for index in range(rows):
    start = clock()
    with et.span("forward"):
        pass
    took[index] = clock() - start
    et.log({"loss": 0.5})
et.finish()
print()
print(json.dumps({"p50_us": microseconds(took, 0.5), "p99_us": microseconds(took, 0.99)}))
"""


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=50_000, rounds=3)
    run_pair(
        PROGRAM,
        "" if options.no_peer else PROGRAM,
        options.rounds,
        name="span",
        settings={"rows": options.rows},
        targets=[Target("p50_us", "<= 5 us and >= 3 x faster", at_most=5, ratio_at_least=3)],
    )


if __name__ == "__main__":
    main()
