"""Batches of points, against a model in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mapi.tracking.batch import PointBatch, Series, summary_parts, without_repeats

POINTS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(-1, 4),
        st.integers(0, 3),
        st.sampled_from([0.0, -0.0, 1.5, -2.0, math.nan, math.inf, -math.inf]),
    ),
    max_size=30,
)
SERIES = [Series("a"), Series("b"), Series("a", (("x", "1"),))]
Point = tuple[int, int, int, float]


def batch_of(points: list[Point]) -> PointBatch:
    columns = list(zip(*points, strict=True)) if points else [(), (), (), ()]
    return PointBatch.of(
        SERIES,
        index=np.array(columns[0], dtype=np.int64),
        steps=np.array(columns[1], dtype=np.int64),
        times_us=np.array(columns[2], dtype=np.int64),
        values=np.array(columns[3], dtype=np.float64),
    )


def same(one: float, two: float) -> bool:
    return one == two or (math.isnan(one) and math.isnan(two))


def kept_by_rule(points: list[Point]) -> tuple[dict[tuple[int, int], Point], int]:
    """Keep the first of a step and the newest of a scalar; count other values of a step."""
    kept: dict[tuple[int, int], Point] = {}
    conflicts = 0
    for point in points:
        place = point[:2]
        before = kept.get(place)
        if before is None or (point[1] == -1 and point[2] >= before[2]):
            kept[place] = point
        elif point[1] != -1 and not same(point[3], before[3]):
            conflicts += 1
    return kept, conflicts


@given(POINTS)
def test_one_point_of_each_step_stays(points: list[Point]) -> None:
    result = without_repeats(batch_of(points))
    batch = result.kept
    kept, expected_conflicts = kept_by_rule(points)
    found = list(
        zip(
            batch.index.tolist(),
            batch.steps.tolist(),
            batch.times_us.tolist(),
            batch.values.tolist(),
            strict=True,
        )
    )
    assert [repr(point) for point in found] == [repr(kept[place]) for place in sorted(kept)]
    assert len(result.repeats) == len(points) - len(kept)
    for repeat, at in zip(result.repeats.steps.tolist(), result.kept_at.tolist(), strict=True):
        assert repeat == batch.steps[at]
    for point, place in zip(found, batch.places.tolist(), strict=True):
        assert repr(points[place]) == repr(point)
    assert result.conflicts(batch.values) == expected_conflicts


@given(POINTS, st.sets(st.integers(0, 29)))
def test_what_is_left_out_takes_its_repeats_along(points: list[Point], left_out: set[int]) -> None:
    result = without_repeats(batch_of(points))
    chosen = np.array([at not in left_out for at in range(len(result.kept))], dtype=np.bool_)
    left = {points[place][:2] for place in result.kept.places[chosen].tolist()}
    rest = [point for point in points if point[:2] in left]
    expected = without_repeats(batch_of(rest))
    found = result.only(chosen)
    assert repr(found.kept.values) == repr(expected.kept.values)
    assert found.kept_at.tolist() == expected.kept_at.tolist()
    assert found.conflicts(found.kept.values) == expected.conflicts(expected.kept.values)


def test_sums_that_pass_the_greatest_number_are_infinite() -> None:
    batch = batch_of([(0, step, 0, 1.7e308) for step in range(3)])
    assert summary_parts(batch).finite_sums.tolist() == [math.inf]


def part_by_rule(points: list[Point]) -> dict[str, Any]:
    finite = [point for point in points if math.isfinite(point[3])]
    low = min(finite, key=lambda point: (point[3], point[1]), default=None)
    high = max(finite, key=lambda point: (point[3], -point[1]), default=None)
    last = max(points, key=lambda point: point[1])
    return {
        "count": len(points),
        "nonfinite": len(points) - len(finite),
        "times": (min(point[2] for point in points), max(point[2] for point in points)),
        "last": (last[1], repr(last[3])),
        "min": None if low is None else (low[3], low[1]),
        "max": None if high is None else (high[3], high[1]),
        "sum": sum(point[3] for point in finite),
    }


@given(POINTS.filter(bool))
def test_the_part_of_a_series_says_what_its_points_are(points: list[Point]) -> None:
    batch = without_repeats(batch_of(points)).kept
    parts = summary_parts(batch)
    kept, _ = kept_by_rule(points)
    by_series: dict[int, list[Point]] = {}
    for point in kept.values():
        by_series.setdefault(point[0], []).append(point)
    assert parts.index.tolist() == sorted(by_series)
    for at, index in enumerate(parts.index.tolist()):
        low, high = parts.min_values[at], parts.max_values[at]
        assert {
            "count": parts.counts[at],
            "nonfinite": parts.nonfinite_counts[at],
            "times": (parts.first_times_us[at], parts.last_times_us[at]),
            "last": (parts.last_steps[at], repr(float(parts.last_values[at]))),
            "min": None if not math.isfinite(low) else (low, parts.min_steps[at]),
            "max": None if not math.isfinite(high) else (high, parts.max_steps[at]),
            "sum": parts.finite_sums[at],
        } == part_by_rule(by_series[index])
