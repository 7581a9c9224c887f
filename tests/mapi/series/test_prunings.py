"""What retention deleted is told in words that fit the counts."""

from __future__ import annotations

import pytest

from mapi.series.prunings import pruned_text


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"points": 1}, "1 point was deleted"),
        ({"points": 2, "spans": 0}, "2 points were deleted"),
        ({"spans": 1, "points": 1}, "1 point and 1 span were deleted"),
        (
            {"media_items": 3, "points": 10, "log_lines": 1},
            "10 points, 1 log line and 3 media items were deleted",
        ),
        ({"points": 0, "spans": 0}, "nothing was deleted"),
    ],
)
def test_counts_are_told_in_one_order_without_what_is_none(
    counts: dict[str, int], text: str
) -> None:
    assert pruned_text(counts) == text
