"""Runs with params and metrics through the client, beside MLflow's client and server.

Each run is made with 10 params and gets 20 metrics, from one client that waits for each answer.
Promise on 2 cores: 1 000 of them in at most 6 seconds. ``--rows`` is the number of runs.
"""

from __future__ import annotations

from peer import Target, arguments_of
from servers.turns import Pair, both, report_turns

_SHARED = """
import json, time
params = {f"param_{at}": at * 0.5 for at in range(10)}
def measured(make):
    make(-1)  # connects
    start = time.perf_counter()
    for number in range(settings["rows"]):
        make(number)
    print(json.dumps({
        "seconds_per_1000": (time.perf_counter() - start) * 1000 / settings["rows"],
        "units": settings["rows"] + 1,
    }))
"""

OURS = (
    _SHARED
    + """
import mapi
with mapi.Client(settings["url"], token=settings["token"]) as api:
    def make(number):
        run = api.runs.create(name=f"run {number}", params=params)
        metrics = {f"metric_{at}": number + at / 20 for at in range(20)}
        assert api.runs.log_metrics(run, metrics).accepted == 20
    measured(make)
"""
)

MLFLOW = (
    _SHARED
    + """
from mlflow import MlflowClient
from mlflow.entities import Metric, Param
api = MlflowClient(tracking_uri=settings["url"])
def make(number):
    run = api.create_run("0", run_name=f"run {number}").info.run_id
    now = time.time_ns() // 1_000_000
    api.log_batch(
        run,
        metrics=[Metric(f"metric_{at}", number + at / 20, now, 0) for at in range(20)],
        params=[Param(key, str(value)) for key, value in params.items()],
    )
measured(make)
"""
)


def main() -> None:
    """Run the bench, one line for each peer."""
    options = arguments_of(__doc__, rows=1_000, rounds=1)
    target = Target("seconds_per_1000", "<= 6 s", at_most=6, at_rows=1_000)
    with both(options) as sides:
        pair = Pair("ingest_runs", OURS, MLFLOW)
        report_turns(
            sides, pair, options.rounds, settings={"rows": options.rows}, targets=[target]
        )


if __name__ == "__main__":
    main()
