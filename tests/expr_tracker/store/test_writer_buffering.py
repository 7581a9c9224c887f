"""When rows are written together: by choice, by the rules, or because the disk is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.expr_tracker.store.conftest import Desk

LINE = len(encode_line({"_step": 0, "t": "x"}))


# -- buffering ----------------------------------------------------------------------------------------


def test_buffered_rows_are_written_together_at_the_buffer_size(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_size=5)
    desk.put(0)
    assert desk.steps() == [], "the first row waits as the others do"
    desk.put(1, 2, 3)
    assert desk.steps() == []
    assert len(desk.writer.pending_lines()) == 4
    desk.put(4)
    assert desk.steps() == [0, 1, 2, 3, 4]
    assert desk.disk.calls == 1
    assert desk.writer.durability == "buffered"


def test_a_row_after_a_gap_is_written_at_once(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_interval=1.0)
    desk.clock.advance(5.0)
    desk.put(0)
    assert desk.steps() == [], "the gap is one between two rows"
    desk.clock.advance(0.5)
    desk.put(1)
    assert desk.steps() == []
    desk.clock.advance(1.0)
    desk.put(2)
    assert desk.steps() == [0, 1, 2]


def test_without_size_and_interval_only_age_writes(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_size=None, buffer_interval=None)
    desk.put(0)
    desk.clock.advance(100.0)
    desk.put(*range(1, 60))
    assert desk.steps() == []
    desk.writer.flush_if_due()
    assert desk.steps() == list(range(60))
    desk.put(*range(60, 120))
    desk.clock.advance(4.9)
    desk.writer.flush_if_due()
    assert desk.steps() == list(range(60))
    desk.clock.advance(0.2)
    desk.writer.flush_if_due()
    assert desk.steps() == list(range(120))


def test_the_age_is_that_of_the_oldest_waiting_row(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_interval=None)
    desk.put(0)
    desk.clock.advance(4.0)
    desk.put(1)
    desk.writer.flush_if_due()
    assert desk.steps() == []
    desk.clock.advance(1.0)
    desk.writer.flush_if_due()
    assert desk.steps() == [0, 1]


def test_without_an_age_limit_rows_wait_until_a_flush(make: Callable[..., Desk]) -> None:
    desk = make(durability="buffered", buffer_interval=None, max_buffer_seconds=None)
    desk.put(0, 1)
    desk.clock.advance(1e6)
    desk.writer.flush_if_due()
    assert desk.steps() == []
    desk.writer.flush()
    assert desk.steps() == [0, 1]


@pytest.mark.parametrize("option", [{"max_pending_records": 2}, {"max_pending_bytes": 2 * LINE}])
def test_a_healthy_writer_at_its_limit_writes_on_the_caller_and_drops_nothing(
    make: Callable[..., Desk], option: dict[str, int]
) -> None:
    desk = make(durability="buffered", buffer_size=None, buffer_interval=None, **option)
    desk.put(*range(20))
    assert len(desk.writer.pending_lines()) <= 2
    assert desk.notices.counts("dropped") == {}
    desk.writer.close({})
    assert desk.steps() == list(range(20))


@pytest.mark.parametrize("durability", ["buffered", "process"])
def test_a_row_above_the_limit_of_what_may_wait_is_stored_and_waits_alone_if_it_must(
    make: Callable[..., Desk], durability: str
) -> None:
    desk = make(durability=durability, buffer_interval=None, max_pending_bytes=2 * LINE)
    desk.put(0)
    desk.put(1, text="y" * 10 * LINE)
    assert desk.steps() == [0, 1]
    assert desk.writer.pending_bytes == 0
    desk.disk.room = 0
    desk.put(2)
    desk.writer.flush()
    desk.put(3, text="z" * 10 * LINE)
    assert len(desk.writer.pending_lines()) == 1
    desk.disk.room = None
    desk.writer.close({})
    assert desk.steps() == [0, 1, 3]
    assert desk.notices.counts("dropped") == {"rows that waited for metrics.jsonl": 1}
    assert desk.notices.counts("refused") == {}


def test_a_slow_file_system_turns_buffering_on_by_itself_and_a_quick_one_off_again(
    make: Callable[..., Desk],
) -> None:
    desk = make()
    desk.disk.seconds = 0.002
    desk.put(*range(32))
    assert desk.writer.durability == "process"
    desk.put(32)
    assert desk.writer.durability == "buffered"
    assert desk.said().count("rows are now buffered") == 1
    calls = desk.disk.calls
    desk.put(*range(33, 200))
    assert desk.disk.calls == calls + 3, "the caller pays for one write in 50 rows"
    desk.writer.flush_if_due()
    assert desk.steps() == list(range(200))
    desk.disk.seconds = 0.0001
    step = 200
    while desk.writer.durability == "buffered":
        desk.put(step)
        step += 1
        desk.writer.flush_if_due()
        assert step < 300
    assert step - 200 == 33, "more than half of the last 64 flushes"
    assert desk.said().count("durable at once") == 1
    desk.put(step)
    assert desk.steps() == list(range(step + 1))


def test_on_a_slow_file_system_the_buffering_rules_hold(make: Callable[..., Desk]) -> None:
    desk = make(buffer_size=5, buffer_interval=1.0, max_buffer_seconds=None)
    desk.disk.seconds = 0.002
    desk.put(*range(33))
    assert desk.writer.durability == "buffered"
    assert "None" not in desk.said()
    desk.put(33, 34, 35, 36)
    assert desk.steps()[-1] == 32
    desk.put(37)
    assert desk.steps()[-1] == 37
    desk.put(38)
    desk.clock.advance(1.5)
    desk.put(39)
    assert desk.steps()[-1] == 39, "a row after a gap is written at once"


def test_on_a_slow_file_system_without_rules_the_caller_pays_nothing(
    make: Callable[..., Desk],
) -> None:
    desk = make(buffer_size=None, buffer_interval=None)
    desk.disk.seconds = 0.002
    desk.put(*range(33))
    calls = desk.disk.calls
    desk.put(*range(33, 500))
    assert desk.disk.calls == calls
    desk.writer.flush_if_due()
    assert desk.steps() == list(range(500))


def _seconds_until_durable(desk: Desk, first_step: int) -> float:
    """Log a row every half second, and flush as the keeper does, until rows are durable again."""
    began = desk.clock.monotonic()
    for step in range(first_step, first_step + 1_000):
        if desk.writer.durability == "process":
            break
        desk.clock.advance(0.5)
        desk.put(step)
        desk.writer.flush_if_due()
    return desk.clock.monotonic() - began


def test_a_short_trouble_costs_a_few_seconds_of_durability(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.disk.seconds = 0.003
    desk.put(*range(33))
    desk.disk.seconds = 0.0001
    assert _seconds_until_durable(desk, 33) < 3.0


def test_a_slow_flush_begins_the_calm_anew(make: Callable[..., Desk]) -> None:
    desk = make()
    desk.disk.seconds = 0.003
    desk.put(*range(33))
    for step in range(33, 73):
        desk.disk.seconds = 0.003 if step % 2 else 0.0001
        desk.clock.advance(0.5)
        desk.put(step)
        desk.writer.flush_if_due()
    assert desk.writer.durability == "buffered"


def test_trouble_that_comes_again_needs_a_longer_calm_each_time(make: Callable[..., Desk]) -> None:
    desk = make()
    waited = []
    step = 0
    for _ in range(8):
        desk.disk.seconds = 0.003
        desk.put(*range(step, step + 64))
        assert desk.writer.durability == "buffered"
        desk.disk.seconds = 0.0001
        step += 64
        waited.append(_seconds_until_durable(desk, step))
        step += 1_000
    assert waited == sorted(waited)
    assert waited[1] > 1.5 * waited[0]
    assert waited[-1] < 20.0, "33 quick flushes are enough at any time"
    desk.clock.advance(100.0)
    desk.disk.seconds = 0.003
    desk.put(*range(step, step + 64))
    desk.disk.seconds = 0.0001
    assert _seconds_until_durable(desk, step + 64) == pytest.approx(waited[0], abs=0.6)


def test_a_few_slow_writes_change_nothing(make: Callable[..., Desk]) -> None:
    desk = make()
    for step in range(300):
        desk.disk.seconds = 0.01 if step % 3 == 0 else 0.0
        desk.put(step)
    assert desk.writer.durability == "process"


@pytest.mark.parametrize("durability", ["process", "fsync"])
def test_a_durability_that_was_asked_for_is_kept_on_a_slow_file_system(
    make: Callable[..., Desk], durability: str
) -> None:
    desk = make(durability=durability)
    desk.disk.seconds = 0.05
    desk.put(*range(200))
    assert desk.writer.durability == durability
    assert desk.steps() == list(range(200))


def test_a_slow_writer_at_its_limit_writes_and_later_rows_are_direct_again(
    make: Callable[..., Desk],
) -> None:
    desk = make(max_pending_records=10)
    desk.disk.seconds = 0.002
    desk.put(*range(33))
    desk.disk.seconds = 0.0
    desk.put(*range(33, 33 + 64 * 11))
    assert desk.notices.counts("dropped") == {}
    assert desk.writer.durability == "process"
    calls = desk.disk.calls
    desk.put(5000)
    assert desk.disk.calls == calls + 1
    assert desk.steps()[-1] == 5000
