"""The open row: how values and finished spans of one step come together."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.record.open_row import OVERFLOW_PATH, SPAN_PATHS_MAX, Join, OpenRow


def metered(join: Join, *measured: tuple[Any, float]) -> Any:
    """Return what a plugin metric shows after ``(value, duration)`` pairs of one path."""
    row = OpenRow(0, 0.0)
    for value, duration_ms in measured:
        row.add_meter("m/p", value, duration_ms=duration_ms, join=join)
    return row.values["m/p"]


def test_step_and_time_come_first_and_values_in_the_order_they_came() -> None:
    row = OpenRow(7, 5.5)
    row.merge({"b": 1, "a": 2})
    row.merge({"c": 3, "b": 4})
    assert list(row.row().items()) == [("_step", 7), ("_time", 5.5), ("b", 4), ("a", 2), ("c", 3)]


def test_durations_of_a_path_add_up() -> None:
    row = OpenRow(0, 0.0)
    for duration_ms in (1.5, 2.0, 0.25):
        row.add_duration("a/b", duration_ms)
    row.add_duration("a", 9.0)
    assert row.values == {"time_ms/a/b": 3.75, "time_ms/a": 9.0}


@pytest.mark.parametrize(
    ("before", "after"), [(10.0, 12.5), (10, 12.5), ("text", 2.5), (None, 2.5), (True, 2.5)]
)
def test_a_logged_number_is_added_to_and_anything_else_replaced(
    before: object, after: float
) -> None:
    row = OpenRow(0, 0.0)
    row.merge({"time_ms/p": before})
    row.add_duration("p", 2.5)
    assert row.values["time_ms/p"] == after


def test_finished_spans_are_counted() -> None:
    row = OpenRow(0, 0.0)
    row.add_count("p")
    row.add_count("p")
    assert row.values == {"count/p": 2}


def test_peaks_keep_the_highest_and_a_new_nan_wins() -> None:
    assert metered("peak", (5.0, 1.0), (3.0, 1.0), (4.0, 1.0)) == 5.0
    assert metered("peak", (5, 1.0), (8, 0.0)) == 8
    assert math.isnan(metered("peak", (5.0, 1.0), (math.nan, 1.0)))


def test_averages_are_weighted_by_duration() -> None:
    assert metered("average", (100.0, 1.0), (0.0, 3.0)) == pytest.approx(25.0)
    assert metered("average", (100.0, 1.0), (0.0, 3.0), (50.0, 4.0)) == pytest.approx(37.5)


def test_a_zero_duration_does_not_count_beside_a_positive_one_and_alone_the_latest_stays() -> None:
    assert metered("average", (40.0, 2.0), (99.0, 0.0)) == 40.0
    assert metered("average", (40.0, 2.0), (math.inf, 0.0)) == 40.0
    assert metered("average", (99.0, 0.0), (40.0, 2.0)) == 40.0
    assert metered("average", (10.0, 0.0), (20.0, 0.0)) == 20.0
    assert metered("average", (10.0, 0.0), (20.0, 2.0), (40.0, 2.0)) == 30.0


def test_sums_add_up() -> None:
    assert metered("sum", (1.5, 1.0), (2.5, 9.0)) == 4.0
    assert metered("sum", (5, 1.0), (-7, 1.0)) == -2


@pytest.mark.parametrize("join", ["peak", "average", "sum"])
def test_what_is_no_number_replaces_and_begins_anew(join: Join) -> None:
    assert metered(join, (5.0, 1.0), ("broken", 1.0)) == "broken"
    assert metered(join, (5.0, 1.0), ("broken", 1.0), (3.0, 1.0)) == 3.0
    assert metered(join, (5.0, 1.0), (None, 1.0), (3.0, 1.0), (1.0, 1.0)) in (3.0, 2.0, 4.0)
    assert metered(join, (5.0, 1.0), (True, 1.0)) is True


@pytest.mark.parametrize("join", ["peak", "average", "sum"])
def test_a_plain_log_of_the_same_name_overwrites_and_begins_anew(join: Join) -> None:
    row = OpenRow(0, 0.0)
    row.add_meter("m/p", 80.0, duration_ms=1.0, join=join)
    row.merge({"m/p": 10.0})
    assert row.values["m/p"] == 10.0
    row.add_meter("m/p", 20.0, duration_ms=1.0, join=join)
    assert row.values["m/p"] == 20.0


def test_paths_beyond_the_limit_share_one_name() -> None:
    row = OpenRow(0, 0.0)
    for number in range(SPAN_PATHS_MAX + 50):
        row.add_duration(f"p{number}", 1.0)
    assert len(row.values) == SPAN_PATHS_MAX + 1
    assert row.values[f"time_ms/{OVERFLOW_PATH}"] == 50.0
    assert row.add_duration("p7", 1.0) == "p7", "known paths go on"
    assert row.values["time_ms/p7"] == 2.0
    assert row.add_duration("new", 1.0) == OVERFLOW_PATH


def test_names_that_are_no_paths_leave_room_for_those_that_are() -> None:
    row = OpenRow(0, 0.0)
    row.merge({f"m{number}": 0.0 for number in range(SPAN_PATHS_MAX)})
    kept = [row.add_duration(f"p{number}", 1.0) for number in range(SPAN_PATHS_MAX + 1)]
    assert kept[:-1] == [f"p{number}" for number in range(SPAN_PATHS_MAX)]
    assert kept[-1] == OVERFLOW_PATH


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.sampled_from([0.0, 0.5, 1.0, 3.0])),
        min_size=1,
        max_size=10,
    )
)
def test_the_weighted_mean_is_that_of_all_spans_with_a_duration(
    measured: list[tuple[float, float]],
) -> None:
    found = metered("average", *measured)
    weight = sum(duration for _, duration in measured)
    if weight == 0:
        assert found == measured[-1][0]
    else:
        mean = sum(value * duration for value, duration in measured) / weight
        assert found == pytest.approx(mean, abs=1e-9)
