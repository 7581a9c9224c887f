"""JSON after its way through the platform: whether it is the same still."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["is_same_json"]

#: Beyond this a number is no integer any more for who reads the platform's JSON.
_EXACT_INTEGERS: Final = 2**53


def is_same_json(mine: Any, theirs: Any) -> bool:
    """Say whether a value is the same, and its names in any order; to the platform 1e300 is an integer."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(
            is_same_json(value, theirs[name]) for name, value in mine.items()
        )
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(is_same_json, mine, theirs))
    if type(mine) is type(theirs) and mine == theirs:
        return True
    if _is_number(mine) and _is_number(theirs):
        return float(mine) == float(theirs) and (abs(mine) > _EXACT_INTEGERS or mine == theirs)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
