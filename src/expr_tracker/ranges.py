"""Half-open ranges of steps and of times: what callers may pass, and the two limits it means.

History and timelines ask the same question of steps, so it is read here and nowhere else. A range
that is reversed or lies outside of what there is is no mistake: nothing is in it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias, TypeVar

from expr_tracker.errors import QuestionTypeError
from expr_tracker.row import STEP_MAX, STEP_MIN, index_of
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "STEP_MAX",
    "STEP_MIN",
    "StepRange",
    "Steps",
    "TimeRange",
    "Times",
    "index_of",
    "steps_from",
    "times_from",
]

_Bound = TypeVar("_Bound")

#: What a caller may pass for steps: an infinity is no limit, as ``None`` is none.
StepRange: TypeAlias = (
    "tuple[SupportsIndex | float | None, SupportsIndex | float | None] | range | None"
)
#: What a caller may pass for times, in Unix seconds.
TimeRange: TypeAlias = "tuple[float | None, float | None] | None"
#: The lowest step in the range, and the one before which it stops; ``None`` is no limit.
Steps: TypeAlias = "tuple[int | None, int | None]"
#: The first moment in the range, and the one before which it stops, in Unix seconds.
Times: TypeAlias = "tuple[float | None, float | None]"


def steps_from(step_range: object) -> Steps:
    """Return the two limits that a ``step_range`` means.

    Raises:
        QuestionTypeError: it is neither a pair of steps nor a `range` of every step between two.
    """
    if isinstance(step_range, range) and step_range.step == 1:
        return step_range.start, step_range.stop
    rule = "expected two steps (start, stop), stop left out; None on either side for no limit."
    low, high = _pair("step_range", step_range, _step, rule=rule, kind="no step; use an int")
    return low, high


def times_from(time_range: object) -> Times:
    """Return the two limits that a ``time_range`` means.

    Raises:
        QuestionTypeError: it is no pair of Unix seconds.
    """
    rule = "expected two times in Unix seconds (start, stop); None on either side for no limit."
    kind = "no finite number of seconds; use a float"
    low, high = _pair("time_range", time_range, _seconds, rule=rule, kind=kind)
    return low, high


def _pair(
    name: str,
    given: object,
    bound: Callable[[object], _Bound | None],
    *,
    rule: str,
    kind: str,
) -> Sequence[_Bound | None]:
    if given is None:
        return None, None
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise QuestionTypeError(f"{name}={shown(given)}: {rule}")
    bounds: list[_Bound | None] = []
    for value, no_limit in zip(given, (-math.inf, math.inf), strict=True):
        if value is None or (isinstance(value, float) and value == no_limit):
            bounds.append(None)
            continue
        found = bound(value)
        if found is None:
            raise QuestionTypeError(f"{name}={shown(given)}: {shown(value)} is {kind} or None.")
        bounds.append(found)
    return bounds


def _step(value: object) -> int | None:
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return None if isinstance(value, (bool, str)) else index_of(value)


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # An int as it is: one beyond the largest float is no reason to fail.
    return value if isinstance(value, int) or math.isfinite(value) else None
