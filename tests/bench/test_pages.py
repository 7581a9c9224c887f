from __future__ import annotations

from typing import TYPE_CHECKING

from pages import add_seconds, grown
from peer import arguments_of

if TYPE_CHECKING:
    import pytest


def test_what_a_page_holds_more_is_told_at_its_most_and_at_the_end() -> None:
    assert grown([20.0, 31.26, 24.0]) == {
        "held_mib": 20.0,
        "growth_mib": 11.3,
        "growth_at_end_mib": 4.0,
    }
    assert grown([20.0, 18.0])["growth_mib"] == 0


def test_a_live_run_is_followed_for_the_ten_minutes_of_the_promise_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["pages.py"])
    assert arguments_of("", rows=1, rounds=1, add=add_seconds).seconds == 600
    monkeypatch.setattr("sys.argv", ["pages.py", "--seconds=2.5", "--rows=7"])
    options = arguments_of("", rows=1, rounds=1, add=add_seconds)
    assert (options.seconds, options.rows) == (2.5, 7)
