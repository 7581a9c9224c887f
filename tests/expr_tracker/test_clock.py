"""The wall time of a process never runs backwards."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.clock import Clock, SystemClock
from expr_tracker.testing import ManualClock


def test_the_clock_shows_the_machine_s_time() -> None:
    clock = SystemClock()
    before = time.time()
    shown = clock.wall()
    assert before - 0.1 <= shown <= time.time() + 0.1


def test_the_wall_is_the_offset_and_the_monotonic_clock() -> None:
    clock = SystemClock()
    low = clock.offset + clock.monotonic()
    shown = clock.wall()
    assert low <= shown <= clock.offset + clock.monotonic()


@pytest.mark.parametrize("back_seconds", [1.0, 7200.0, 1e9])
def test_a_wall_clock_that_is_set_back_does_not_turn_ours_back(
    monkeypatch: pytest.MonkeyPatch, back_seconds: float
) -> None:
    clock = SystemClock()
    before = clock.wall()
    real = time.time()
    monkeypatch.setattr(time, "time", lambda: real - back_seconds)
    clock.resync()
    assert clock.wall() >= before


def test_a_wall_clock_far_ahead_is_followed_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    real = time.time()
    monkeypatch.setattr(time, "time", lambda: real + 3600.0)
    assert clock.wall() < real + 10
    clock.resync()
    assert clock.wall() >= real + 3600.0


def test_a_drift_below_a_second_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    offset = clock.offset
    real = time.time()
    monkeypatch.setattr(time, "time", lambda: real + 0.5)
    clock.resync()
    assert clock.offset == offset


def test_a_file_s_newest_time_is_a_floor() -> None:
    clock = SystemClock()
    floor = clock.wall() + 60.0
    assert clock.hold(floor) == 0.0
    assert clock.wall() >= floor


@pytest.mark.parametrize("ahead_seconds", [-100.0, 4000.0, 1e12])
def test_a_floor_in_the_past_or_of_a_broken_clock_changes_nothing(ahead_seconds: float) -> None:
    clock = SystemClock()
    offset = clock.offset
    left = clock.hold(clock.wall() + ahead_seconds)
    assert clock.offset == offset
    assert left == pytest.approx(max(0.0, ahead_seconds), abs=1.0)


@given(st.floats(-1e9, 1e9), st.floats(0, 1e4))
def test_times_never_run_backwards_without_a_word(set_by: float, worked: float) -> None:
    """The law, for the clock of tests and so for every resume they show."""
    newest = 1_700_000_000.0
    clock = ManualClock(newest + set_by)
    left = clock.hold(newest)
    clock.advance(worked)
    assert (clock.wall() >= newest - left) if left else (clock.wall() >= newest)
    assert left == 0 or left > 3600
    assert left == 0 or clock.wall() == newest + set_by + worked


def test_the_machine_s_clock_is_a_clock() -> None:
    clock: Clock = SystemClock()
    assert clock.monotonic() <= clock.monotonic()
