"""A body of `POST …/metrics` into columns, checked: 10 000 points of one series.

Promise: at most 5 ms as columns, so that decoding is no part worth naming of 100 000 points a
second. Rows, and columns of 1 000 series of ten points each, are measured beside it.
"""

from __future__ import annotations

import json
import math
import statistics
import time

from mapi.series.identity import identify
from mapi.wire.metric_columns import decode_metrics

POINTS = 10_000
ROUNDS = 30
TARGET_MS = 5.0
NOW_US = 1_796_000_000_000_000


def columns(series: int) -> bytes:
    """Return the points as columns of so many series."""
    size = POINTS // series
    one = {
        "steps": list(range(size)),
        "times": [NOW_US - size + at for at in range(size)],
        "values": [math.sin(at + 1) for at in range(size)],
    }
    named = [{"key": f"loss_{at}", "labels": {"split": "val"}, **one} for at in range(series)]
    return json.dumps({"series": named}).encode()


def rows() -> bytes:
    """Return the points as rows of one series."""
    points = [
        {"key": "loss", "step": at, "time": NOW_US - POINTS + at, "value": math.sin(at + 1)}
        for at in range(POINTS)
    ]
    return json.dumps({"points": points}).encode()


def median_ms(body: bytes) -> float:
    """Return how long one body takes."""
    took = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        identify(decode_metrics(body, now_us=NOW_US))
        took.append(time.perf_counter() - start)
    return 1000 * statistics.median(took)


def main() -> None:
    """Run the bench."""
    columns_ms = median_ms(columns(1))
    figures = {
        "bench": "metrics_body",
        "points": POINTS,
        "columns_ms": round(columns_ms, 2),
        "columns_of_1000_series_ms": round(median_ms(columns(1000)), 2),
        "rows_ms": round(median_ms(rows()), 2),
        "target_ms": TARGET_MS,
        "is_met": columns_ms <= TARGET_MS,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
