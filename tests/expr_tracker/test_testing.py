"""The clock that programs' tests turn by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from expr_tracker.clock import Clock


def test_it_stands_still_until_it_is_turned() -> None:
    clock: Clock = ManualClock(100.0)
    assert (clock.wall(), clock.wall(), clock.monotonic()) == (100.0, 100.0, 0.0)


def test_turning_it_moves_both_readings() -> None:
    clock = ManualClock(100.0)
    clock.advance(2.5)
    assert (clock.wall(), clock.monotonic()) == (102.5, 2.5)
    assert clock.wall() == clock.offset + clock.monotonic()


def test_it_is_never_turned_back() -> None:
    clock = ManualClock()
    with pytest.raises(ValueError, match="seconds=-1"):
        clock.advance(-1)


def test_a_floor_moves_the_wall_only() -> None:
    clock = ManualClock(100.0)
    clock.hold(90.0)
    assert clock.wall() == 100.0
    clock.hold(150.0)
    assert (clock.wall(), clock.monotonic()) == (150.0, 0.0)
    clock.resync()
    assert clock.wall() == 150.0
