"""Times in lines and documents: Unix seconds, whatever stands in their place.

The only code that makes a time of what a file says. Any program may have written it, and JSON knows
whole numbers that no float holds, so a value that is no time is none and never an error.
"""

from __future__ import annotations

import math

from expr_tracker.interruption import is_from_signal

__all__ = ["seconds_in", "seconds_or_text_in"]


def seconds_in(value: object) -> float | None:
    """Return Unix seconds as a file has them; ``None``: the value is no number, or no finite one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        seconds = float(value)
    except OverflowError:  # beyond the largest float
        return None
    return seconds if math.isfinite(seconds) else None


def seconds_or_text_in(value: object) -> float | None:
    """Return what `seconds_in` does, and the Unix seconds of a text in ISO 8601, as older programs wrote."""
    if not isinstance(value, str):
        return seconds_in(value)
    # Loaded for older files alone: `import expr_tracker` is quick.
    from datetime import datetime  # noqa: PLC0415

    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        if is_from_signal(error):
            raise
        return None
