"""The clock that programs' tests turn by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import expr_tracker as et
from expr_tracker.store.reader import whole_rows
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

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


def test_the_spans_of_a_run_go_by_a_clock_that_is_handed_in(tmp_path: Path) -> None:
    early = et.span("early").begin()
    clock = ManualClock(1_700_000_000.0)
    run = et.init("p", "r", dir=tmp_path, capture=False, clock=clock)
    waiting = et.span("wait")
    for _ in range(2):
        with waiting:
            clock.advance(2)
    et.log({"loss": 0.5})
    early.end()
    et.finish(quiet=True)
    assert et.history(run=run.dir, metrics="time_ms/early/wait", include_meta=False)[0] == {
        "time_ms/early/wait": 4000.0
    }
    spans = [(row["name"], row["start"], row["dur_ms"]) for row in whole_rows(run.files.spans)]
    assert spans[:2] == [
        ("early/wait", 1_700_000_000.0, 2000.0),
        ("early/wait", 1_700_000_002.0, 2000.0),
    ]
    name, start, duration_ms = spans[2]
    assert name == "early"
    assert start + duration_ms / 1e3 == pytest.approx(1_700_000_004.0, abs=0.1)


def test_a_floor_moves_the_wall_only() -> None:
    clock = ManualClock(100.0)
    clock.hold(90.0)
    assert clock.wall() == 100.0
    clock.hold(150.0)
    assert (clock.wall(), clock.monotonic()) == (150.0, 0.0)
    clock.resync()
    assert clock.wall() == 150.0


def test_the_rows_of_a_run_have_the_times_of_a_clock_that_is_handed_in(tmp_path: Path) -> None:
    clock = ManualClock(1_700_000_000.0)
    et.init("p", "r", dir=tmp_path, capture=False, clock=clock)
    et.log({"loss": 1.0})
    clock.advance(5)
    et.log({"loss": 0.5})
    rows = et.history(-1)
    et.finish(quiet=True)
    assert [row["_time"] for row in rows] == [1_700_000_000.0, 1_700_000_005.0]
