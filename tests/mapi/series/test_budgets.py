from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.errors import InvalidError
from mapi.series.budgets import (
    UNLIMITED,
    Budgets,
    Drops,
    fit_count,
    fit_points,
    fit_sizes,
    merged_budgets,
    warning_code,
    warning_text,
)
from mapi.wire.enums import Budget, WarningCode

MIB = 1 << 20


def test_the_defaults_are_the_promised_ones() -> None:
    assert Budgets().to_json() == {
        "points_per_series": 10_000,
        "points": 500_000,
        "series": 1_000,
        "params": 5_000,
        "tags": 100,
        "log_lines": 10_000,
        "log_bytes": 2 * MIB,
        "spans": 200_000,
        "span_bytes": 64 * MIB,
        "media_items": 1_000,
        "media_bytes": 256 * MIB,
        "media_item_bytes": 8 * MIB,
    }


def test_every_budget_has_its_word() -> None:
    assert set(Budgets().to_json()) == {budget.value for budget in Budget}
    assert Budgets().limit(Budget.TAGS) == 100


def test_the_nearest_limit_counts() -> None:
    tenant = {"points": UNLIMITED, "series": 2_000, "tags": 5}
    project = {"series": 3_000, "tags": None}
    budgets = merged_budgets(tenant, project)
    assert budgets == Budgets(points=None, series=3_000, tags=5)
    assert merged_budgets(budgets.to_json()) == budgets
    assert merged_budgets({"points": UNLIMITED}, {"points": 7}).points == 7


@pytest.mark.parametrize("limit", [-1, 1.5, True, "many", "1", 2**63, []])
def test_what_is_no_limit_is_refused(limit: object) -> None:
    with pytest.raises(InvalidError, match=r"/points: .* is no limit: .*'unlimited'"):
        merged_budgets({"points": limit})


def test_what_is_no_budget_is_refused_with_the_list() -> None:
    with pytest.raises(
        InvalidError, match=r"/point: 'point' is no budget: one of series, "
    ) as error:
        merged_budgets({"point": 1})
    assert set(error.value.faults[0].expected) == {budget.value for budget in Budget}


def fit(
    budgets: Budgets, index: list[int], sizes: list[int], *, points: int = 0, series: int = 0
) -> tuple[list[bool], dict[Budget, int]]:
    found = fit_points(
        budgets,
        index=np.array(index, dtype=np.int64),
        series_sizes=np.array(sizes, dtype=np.int64),
        run_points=points,
        run_series=series,
    )
    assert len(found.rejected_by) == (~found.kept).sum()
    return found.kept.tolist(), dict(found.drops.counts)


def test_what_fits_of_each_series_is_kept_from_the_front() -> None:
    kept, counts = fit(Budgets(points_per_series=3), [0, 1, 0, 0, 1], [1, 3])
    assert kept == [True, False, True, False, False]
    assert counts == {Budget.POINTS_PER_SERIES: 3}


def test_what_fits_of_the_run_is_kept_from_the_front() -> None:
    kept, counts = fit(Budgets(points=10), [0, 0, 1, 1], [0, 0], points=7)
    assert kept == [True, True, True, False]
    assert counts == {Budget.POINTS: 1}


def test_a_new_series_without_a_place_is_dropped_whole_and_known_ones_go_on() -> None:
    # In the order of mention the new series are 3, 1, 2; two places are left.
    kept, counts = fit(Budgets(series=5), [3, 0, 1, 2, 3, 2], [9, -1, -1, -1], series=3)
    assert kept == [True, True, True, False, True, False]
    assert counts == {Budget.SERIES: 2}


def test_a_full_run_takes_nothing_and_an_unlimited_one_everything() -> None:
    full = Budgets(points=5, series=1)
    assert fit(full, [0, 1], [5, -1], points=9, series=4)[0] == [False, False]
    unlimited = Budgets(points=None, series=None, points_per_series=None)
    assert fit(unlimited, [0, 1], [10**9, -1], points=10**12, series=10**6)[0] == [True, True]


def test_an_empty_batch_fits() -> None:
    assert fit(Budgets(), [], []) == ([], {})


@given(
    st.lists(st.integers(0, 4), max_size=40),
    st.lists(st.integers(-1, 6), min_size=5, max_size=5),
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 30)),
    st.tuples(st.integers(0, 20), st.integers(0, 6)),
)
def test_points_are_admitted_as_one_by_one(
    index: list[int], sizes: list[int], limits: tuple[int, int, int], stored: tuple[int, int]
) -> None:
    budgets = Budgets(series=limits[0], points_per_series=limits[1], points=limits[2])
    held, (points, series) = list(sizes), stored
    turned_away: set[int] = set()
    expected = []
    for at in index:
        if held[at] < 0 and at not in turned_away:
            if series < limits[0]:
                series, held[at] = series + 1, 0
            else:
                turned_away.add(at)
        fits = at not in turned_away and held[at] < limits[1] and points < limits[2]
        if fits:
            held[at], points = held[at] + 1, points + 1
        expected.append(fits)
    assert fit(budgets, index, sizes, points=stored[0], series=stored[1])[0] == expected


def test_the_first_of_many_are_kept() -> None:
    assert fit_count(100, stored=98, given=5) == 2
    assert fit_count(100, stored=120, given=5) == 0
    assert fit_count(None, stored=120, given=5) == 5


def test_a_large_item_does_not_keep_a_smaller_one_out() -> None:
    kept, lacks = fit_sizes((10, 100), stored=(0, 50), sizes=[30, 30, 20, 1])
    assert kept == [True, False, True, False]
    assert lacks == [False, True, False, True]
    assert fit_sizes((3, None), stored=(2, 0), sizes=[1, 1]) == ([True, False], [False, False])


def test_drops_add_up_and_remember_what_came_first() -> None:
    total = (
        Drops()
        + Drops.of({Budget.POINTS: 3, Budget.SERIES: 0})
        + Drops.of({Budget.SERIES: 2, Budget.POINTS: 4, Budget.MEDIA_ITEMS: 1})
    )
    assert dict(total.counts) == {Budget.POINTS: 7, Budget.SERIES: 2, Budget.MEDIA_ITEMS: 1}
    assert total.first == {
        WarningCode.TRACKING_BUDGET: Budget.POINTS,
        WarningCode.MEDIA_BUDGET: Budget.MEDIA_ITEMS,
    }
    assert bool(total)
    assert not Drops()
    assert not Drops.of({Budget.POINTS: 0})


@given(st.dictionaries(st.sampled_from(Budget), st.integers(0, 9)))
def test_drops_survive_storage(counts: dict[Budget, int]) -> None:
    drops = Drops.of(counts)
    assert Drops.from_json(json.loads(json.dumps(drops.to_json()))) == drops
    assert Drops.from_json({}) == Drops()


def test_the_warning_names_the_first_budget_and_counts_every_drop() -> None:
    drops = Drops.of({Budget.POINTS_PER_SERIES: 5, Budget.POINTS: 7, Budget.MEDIA_BYTES: 2})
    text = warning_text(WarningCode.TRACKING_BUDGET, drops, Budgets())
    assert text.startswith("The run has spent its budget points_per_series (10000).")
    assert "Not kept: 5 by points_per_series, 7 by points." in text
    media = warning_text(WarningCode.MEDIA_BUDGET, drops, Budgets())
    assert "media_bytes (268435456)" in media
    assert "points" not in media


def test_each_budget_has_one_of_the_two_warnings() -> None:
    assert {budget for budget in Budget if warning_code(budget) is WarningCode.MEDIA_BUDGET} == {
        Budget.MEDIA_ITEMS,
        Budget.MEDIA_BYTES,
        Budget.MEDIA_ITEM_BYTES,
    }
