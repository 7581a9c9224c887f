"""`et.log` of five numbers.

Promise: p50 at most 2.5 us over one bare `os.write` and at least 12 times faster than the peer; p99
at most 25 us.

Each row is committed by its call, which for us also means that it survives `kill -9` of the process;
the peer buffers. Beside it the same bytes go to a file with one bare `os.write` a row: that is the
floor, and `over_floor_p50_us` what we add to it.
"""

from __future__ import annotations

from peer import Target, arguments_of, run_pair

PROGRAM = r"""
import array, json, os, statistics, time
import expr_tracker as et

rows, width = settings["rows"], settings["metrics"]
clock = time.perf_counter_ns
names = [f"train/metric_{index}" for index in range(width)]
data = [{name: 1.0 / (step + 2 + index) for index, name in enumerate(names)} for step in range(997)]

line = json.dumps({"_step": 123456, "_time": time.time(), **data[0]}).encode() + b"\n"
file = os.open(os.path.join(root, "floor"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
floor = array.array("q", bytes(8 * rows))
for index in range(rows):
    start = clock()
    os.write(file, line)
    floor[index] = clock() - start
os.close(file)

et.init(project="bench", name="log", dir=root, backends=[])
# What init does once (looking at the environment, say) is not what is measured here.
time.sleep(1)
took = array.array("q", bytes(8 * rows))
for index in range(rows):
    row = data[index % 997]
    start = clock()
    et.log(row)
    took[index] = clock() - start
et.finish()
p50, floor_p50 = microseconds(took, 0.5), microseconds(floor, 0.5)
print()
print(json.dumps({
    "p50_us": p50,
    "p99_us": microseconds(took, 0.99),
    "mean_us": statistics.fmean(took) / 1000,
    "floor_p50_us": floor_p50,
    "over_floor_p50_us": p50 - floor_p50,
}))
"""


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=50_000, rounds=3)
    run_pair(
        PROGRAM,
        "" if options.no_peer else PROGRAM,
        options.rounds,
        name="log_5",
        settings={"rows": options.rows, "metrics": 5},
        targets=[
            Target("over_floor_p50_us", "p50 <= 2.5 us over one bare os.write", at_most=2.5),
            Target("p50_us", "p50 >= 12 x faster than the peer", ratio_at_least=12),
            Target("p99_us", "p99 <= 25 us", at_most=25),
        ],
    )


if __name__ == "__main__":
    main()
