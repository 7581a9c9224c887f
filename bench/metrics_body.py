"""A body of `POST …/metrics` into columns, checked: 10 000 points of one series.

Promise: at most 5 ms as columns, so that decoding is no part worth naming of 100 000 points a
second. Rows, and columns of ten points a series, are measured beside it.
"""

from __future__ import annotations

import json
import math
import statistics
import time

from peer import Target, arguments_of, report

from mapi.series.identity import identify
from mapi.wire.metric_columns import decode_metrics

NOW_US = 1_796_000_000_000_000


def columns(points: int, *, series: int) -> bytes:
    """Return the points as columns of so many series."""
    size = points // series
    one = {
        "steps": list(range(size)),
        "times": [NOW_US - size + at for at in range(size)],
        "values": [math.sin(at + 1) for at in range(size)],
    }
    named = [{"key": f"loss_{at}", "labels": {"split": "val"}, **one} for at in range(series)]
    return json.dumps({"series": named}).encode()


def rows(points: int) -> bytes:
    """Return the points as rows of one series."""
    listed = [
        {"key": "loss", "step": at, "time": NOW_US - points + at, "value": math.sin(at + 1)}
        for at in range(points)
    ]
    return json.dumps({"points": listed}).encode()


def median_ms(body: bytes, rounds: int) -> float:
    """Return how long one body takes."""
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        identify(decode_metrics(body, now_us=NOW_US))
        took.append(time.perf_counter() - start)
    return 1000 * statistics.median(took)


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=10_000, rounds=30)
    points, rounds = options.rows, options.rounds
    series = max(1, points // 10)
    figures = {
        "columns_ms": round(median_ms(columns(points, series=1), rounds), 3),
        "columns_of_many_series_ms": round(median_ms(columns(points, series=series), rounds), 3),
        "rows_ms": round(median_ms(rows(points), rounds), 3),
    }
    report(
        "metrics_body",
        rounds,
        settings={"rows": points, "many_series": series},
        ours=figures,
        peer={},
        targets=[Target("columns_ms", "<= 5 ms", at_most=5, at_rows=10_000)],
    )


if __name__ == "__main__":
    main()
