"""Points through the client into a served platform, beside MLflow's client and server.

One client, one server, one machine; calls of 10 000, 1 000 and 100 points, each with a run of its
own. Promises on 2 cores: 100 000 points a second (10 us a point) in calls of 10 000, 25 000 (40 us)
in calls of 100, and at 1 000 a call twelve times as quick as MLflow's server, which takes no more than
1 000 in one call. The processor time of the server's processes stands beside the clock's: on a machine
that others use as well, it says more. (Of MLflow on PostgreSQL it leaves out the database's, which
runs below our server.) ``--rows`` is the number of points in calls of 10 000; the others follow it.
"""

from __future__ import annotations

from peer import Target, arguments_of
from servers.turns import Pair, both, report_turns

#: The peer refuses more in one call.
MLFLOW_CALL_MAX = 1_000

_SHARED = """
import json, math, time
points, calls, warm = settings["points"], settings["calls"], 2
names = [f"loss_{at}" for at in range(10)]
def measured(send):
    # Every call goes on with one series, in turns: what a loop with ten curves sends.
    for number in range(calls + warm):
        if number == warm:
            start, took = time.perf_counter(), []
        first = number // len(names) * points
        steps = list(range(first, first + points))
        values = [math.sin(step + number) for step in steps]
        begun = time.perf_counter()
        send(names[number % len(names)], steps, values)
        if number >= warm:
            took.append(time.perf_counter() - begun)
    print(json.dumps({
        "us_per_point": sum(took) * 1e6 / (points * calls),
        "call_ms": sorted(took)[len(took) // 2] * 1e3,
        "units": points * (calls + warm),
    }))
"""

OURS = (
    _SHARED
    + """
import mapi
with mapi.Client(settings["url"], token=settings["token"]) as api:
    run = api.runs.create()
    def send(key, steps, values):
        now = time.time_ns() // 1000
        answer = api.runs.log_series(run, key, values, steps=steps, times=[now] * len(steps))
        assert answer.accepted == len(steps), answer
    measured(send)
"""
)

MLFLOW = (
    _SHARED
    + f"""
from mlflow import MlflowClient
from mlflow.entities import Metric
api = MlflowClient(tracking_uri=settings["url"])
run = api.create_run("0").info.run_id
def send(key, steps, values):
    now = time.time_ns() // 1_000_000
    metrics = [Metric(key, value, now, step) for step, value in zip(steps, values)]
    for start in range(0, len(metrics), {MLFLOW_CALL_MAX}):
        api.log_batch(run, metrics=metrics[start:start + {MLFLOW_CALL_MAX}])
measured(send)
"""
)


def main() -> None:
    """Run the bench: a line for each size of a call and each peer."""
    options = arguments_of(__doc__, rows=200_000, rounds=3)
    rows: int = options.rows

    def per_point(limit_us: float) -> Target:
        text = f"<= {limit_us:g} us a point"
        return Target("us_per_point", text, at_most=limit_us, at_rows=100_000)

    twelve = Target("us_per_point", ">= 12 x", ratio_at_least=12, at_rows=100_000)
    with both(options) as sides:
        for points, calls, targets in (
            (10_000, rows // 10_000, [per_point(10)]),
            (1_000, rows // 5_000, [twelve]),
            (100, rows // 2_000, [per_point(40)]),
        ):
            report_turns(
                sides,
                Pair(f"ingest_calls_of_{points}", OURS, MLFLOW),
                options.rounds,
                settings={"rows": rows, "points": points, "calls": max(1, calls)},
                targets=targets,
            )


if __name__ == "__main__":
    main()
