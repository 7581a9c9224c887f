"""Statistics of lists, against NumPy's."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker import arrays
from expr_tracker.arrays import list_statistics

numbers = (
    st.integers(-(10**6), 10**6) | st.floats(allow_nan=True, allow_infinity=True) | st.booleans()
)


@pytest.fixture(autouse=True)
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "ELEMENTS_MAX", 3)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(st.lists(numbers, min_size=4, max_size=20))
def test_a_list_has_the_statistics_of_its_array(values: list[float]) -> None:
    array = np.array(values, dtype=float)
    found = list_statistics(values)
    assert found is not None
    assert found["shape"] == [len(values)]
    for name, expected in (("min", array.min()), ("max", array.max())):
        assert found[name] == pytest.approx(float(expected), nan_ok=True)
    if np.isfinite(array).all():
        # Exact fractions: NumPy's own sums and squares overflow, or vanish, at the ends of the range.
        floats = array.tolist()
        close = 1e-9 * float(np.abs(array).max())
        mean = float(sum(map(Fraction, floats)) / len(floats))
        assert found["mean"] == pytest.approx(mean, abs=close)
        assert found["std"] == pytest.approx(statistics.pstdev(floats), abs=close)
    else:
        # Of the infinities alone: finite ones may overflow to the other before they meet it.
        mean = float(array[~np.isfinite(array)].sum())
        assert found["mean"] == pytest.approx(mean, nan_ok=True)
        assert math.isnan(found["std"])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_the_shape_is_that_of_the_array(shape: list[int]) -> None:
    values = np.zeros(shape).tolist()
    found = list_statistics(values)
    assert (found is None) == (math.prod(shape) <= 3)
    assert found is None or found["shape"] == shape


def test_a_list_that_holds_itself_has_no_statistics() -> None:
    cyclic: list[object] = []
    cyclic += [cyclic] * 1000
    assert list_statistics(cyclic) is None
