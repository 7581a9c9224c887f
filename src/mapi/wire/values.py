"""How a value of a metric is written in JSON: a number, or one of three words for what is none."""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

__all__ = ["WireValue", "value_from_wire", "value_to_wire", "values_to_wire"]

#: JSON has no literal for them, and ``null`` would not say which one it was.
NonFinite: TypeAlias = Literal["NaN", "Infinity", "-Infinity"]
WireValue: TypeAlias = float | NonFinite


def value_from_wire(value: WireValue) -> float:
    """Return the number that a checked wire value stands for."""
    return float(value)


def value_to_wire(value: float) -> WireValue:
    """Return a number as JSON can hold it."""
    if math.isfinite(value):
        return value
    if value != value:  # noqa: PLR0124  (NaN alone differs from itself)
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def values_to_wire(values: Sequence[float]) -> list[WireValue]:
    """Return numbers as JSON can hold them."""
    # One test of the sum is several times cheaper than one of each value, and a curve is finite
    # but for the rare case.
    if math.isfinite(sum(values)):
        return list(values)
    return [value_to_wire(value) for value in values]
