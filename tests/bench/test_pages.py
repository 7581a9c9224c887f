from __future__ import annotations

from typing import TYPE_CHECKING

from pages import RUNS, add_seconds, grown, live_seconds
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


def test_how_long_a_live_run_is_followed_may_be_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["pages.py"])
    assert arguments_of("", rows=1, rounds=1, add=add_seconds).seconds is None
    monkeypatch.setattr("sys.argv", ["pages.py", "--seconds=2.5", "--rows=7"])
    options = arguments_of("", rows=1, rounds=1, add=add_seconds)
    assert (options.seconds, options.rows) == (2.5, 7)


def test_a_live_run_is_followed_as_long_as_is_promised_or_as_was_said() -> None:
    assert [live_seconds(None, runs) for runs in (RUNS, 2 * RUNS, RUNS // 100)] == [600, 600, 6]
    assert live_seconds(2.5, RUNS) == 2.5
