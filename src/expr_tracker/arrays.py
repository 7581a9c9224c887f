"""Numbers by the hundred thousand: too many for a row, which keeps their statistics instead.

One rule for an array of any library and for plain lists, nested ones too. What is no rectangle of
real numbers has no statistics and is left to the limit of a line.
"""

from __future__ import annotations

import math
from itertools import chain, islice
from numbers import Real
from typing import Any, Final

__all__ = ["ELEMENTS_MAX", "array_statistics", "list_statistics", "too_many"]

#: More elements are stored as statistics: a million floats cost 60 ms on the caller and 20 MB a row.
ELEMENTS_MAX: Final = 100_000
#: Deeper lists are no arrays of numbers.
_DIMENSIONS_MAX: Final = 8


def too_many(kind: str, count: int) -> str:
    """Return what is said when statistics take the place of ``count`` elements."""
    return (
        f"{kind} of {count} elements is stored as statistics; the limit is {ELEMENTS_MAX}. "
        "Save it as an artifact to keep it whole."
    )


def array_statistics(array: Any) -> dict[str, Any] | None:
    """Return the statistics of an array beyond the limit; ``None`` for one within it, or none."""
    size = getattr(array, "size", None)
    if not isinstance(size, int) or size <= ELEMENTS_MAX or not hasattr(array, "mean"):
        return None
    return {
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "min": array.min(),
        "max": array.max(),
        "mean": array.mean(),
        "std": array.std(),
    }


def list_statistics(values: list[Any] | tuple[Any, ...]) -> dict[str, Any] | None:
    """Return the statistics of nested lists of numbers beyond the limit; ``None`` for others."""
    shape = _shape(values)
    if math.prod(shape) <= ELEMENTS_MAX:
        return None
    flat: Any = values
    for length in shape[1:]:
        if any(not isinstance(row, (list, tuple)) or len(row) != length for row in flat):
            return None
        # No more than they say: the iterator of a subclass may have no end.
        flat = list(chain.from_iterable(islice(row, length) for row in flat))
    if not all(issubclass(kind, Real) for kind in set(map(type, flat))):
        return None
    try:
        numbers = list(map(float, flat))
    except OverflowError:  # an int beyond the largest float
        return None
    return {"shape": shape, "dtype": "list", **_moments(numbers)}


def _shape(values: Any) -> list[int]:
    """Return the lengths along the first elements; none for a list that holds itself there."""
    around: list[Any] = []
    while isinstance(values, (list, tuple)) and len(around) < _DIMENSIONS_MAX:
        if any(values is one for one in around):
            return [0]
        around.append(values)
        if not values:
            break
        values = values[0]
    return list(map(len, around))


def _moments(numbers: list[float]) -> dict[str, float]:
    # As arrays have it: one number that is none makes all of them so, wherever it stands.
    if any(map(math.isnan, numbers)):
        return dict.fromkeys(("min", "max", "mean", "std"), math.nan)
    low, high = min(numbers), max(numbers)
    if math.isinf(low) or math.isinf(high):
        return {"min": low, "max": high, "mean": low + high, "std": math.nan}
    # Over the largest magnitude: neither the sum nor the squares overflow.
    scale = max(abs(low), abs(high)) or 1.0
    mean = math.fsum(number / scale for number in numbers) / len(numbers)
    variance = math.fsum((number / scale - mean) ** 2 for number in numbers) / len(numbers)
    return {"min": low, "max": high, "mean": mean * scale, "std": math.sqrt(variance) * scale}
