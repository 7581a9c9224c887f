"""A run that goes on: attempts, rewinds, summaries and the open row."""

from __future__ import annotations

import errno
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.errors import (
    RunFinishedError,
    StepError,
)
from expr_tracker.history import list_attempts, read_history, verify
from expr_tracker.history.status import overview_of
from expr_tracker.run import journal as journal_module
from expr_tracker.run import latest as latest_module
from expr_tracker.run import run as run_module
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import sidecar_of
from expr_tracker.store.journal import read_journal, write_journal
from expr_tracker.store.reader import whole_rows
from expr_tracker.testing import ManualClock
from expr_tracker.trace import build_trace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.run.conftest import Make

    from expr_tracker.run.run import Run


def rows(run: Run) -> list[dict[str, Any]]:
    return list(whole_rows(run.files.metrics))


def steps(run: Run) -> list[int]:
    return [row["_step"] for row in rows(run) if "_step" in row]


def kill(run: Run) -> None:
    """Leave files and locks as a killed process does: no end, no summary."""
    run._keeper.stop(30)
    run._closing._signals.restore()
    run._stream.writer.abandon_in_child()
    run._stream.stream_lock.release()
    run_module.open_runs.discard(run)


# -- resuming -----------------------------------------------------------------------------------------


def test_a_resumed_run_goes_on_behind_its_highest_step_in_a_new_attempt(make: Make) -> None:
    first = make()
    for step in (0, 7, 3):
        first.log({"a": step}, step=step, commit=True)
    first.finish(quiet=True)
    second = make()
    assert (first.attempt, second.attempt) == (1, 2)
    assert second.step == 8
    second.log({"a": 8})
    second.finish(quiet=True)
    third = make()
    assert third.attempt == 3
    assert third.step == 9
    markers = [row for row in rows(third) if "_attempt" in row]
    assert [(m["_attempt"], m["_from_step"], m["_pid"]) for m in markers] == [
        (2, None, os.getpid()),
        (3, None, os.getpid()),
    ]
    assert [row["_attempt_end"] for row in rows(third) if "_attempt_end" in row] == [1, 2]


def test_a_run_that_never_logged_a_row_has_an_end_and_a_second_attempt(make: Make) -> None:
    make().finish(quiet=True)
    second = make()
    assert (second.attempt, second.step) == (2, 0)


def test_resuming_at_a_step_supersedes_what_was_there_and_keeps_it_readable(make: Make) -> None:
    first = make()
    for step in range(16):
        first.log({"y": step}, step=step)
    first.finish(quiet=True)
    second = make(resume_step=10)
    assert second.step == 10
    for step in range(10, 30):
        second.log({"y": 100 + step}, step=step)
    second.finish(quiet=True)
    found = {row["_step"]: row["y"] for row in read_history(second.dir, -1)}
    assert sorted(found) == list(range(30))
    assert (found[9], found[10], found[15]) == (9, 110, 115)
    old = {row["_step"]: row["y"] for row in read_history(second.dir, -1, attempt=1)}
    assert old == {step: step for step in range(16)}
    assert second.attempt == 2


def test_resuming_at_a_step_begins_there_also_where_nothing_was_logged_yet(make: Make) -> None:
    run = make(resume_step=100)
    assert run.step == 100
    run.log({"a": 1})
    run.log({"a": 1})
    assert steps(run) == [100, 101]


def test_under_strict_a_resumed_attempt_may_log_its_steps_again(make: Make) -> None:
    first = make(step_policy="strict")
    for step in range(5):
        first.log({"y": step}, step=step)
    first.finish(quiet=True)
    second = make(step_policy="strict", resume_step=2)
    for step in range(2, 6):
        second.log({"y": -step}, step=step)
    second.finish(quiet=True)
    assert steps(second) == [0, 1, 2, 3, 4, 2, 3, 4, 5]


def test_rewinding_a_live_run_begins_an_attempt_at_the_step(make: Make) -> None:
    run = make()
    for step in range(6):
        run.log({"y": step})
    run.log({"y": 6}, step=6)
    run.rewind(3)
    assert (run.attempt, run.step) == (2, 3)
    run.log({"y": 30})
    run.rewind(0)
    assert (run.attempt, run.step) == (3, 0)
    run.log({"y": 300})
    run.finish(quiet=True)
    markers = [row for row in rows(run) if "_attempt" in row]
    assert [(m["_attempt"], m["_from_step"]) for m in markers] == [(2, 3), (3, 0)]
    ends = [(row["_attempt_end"], row["_status"]) for row in rows(run) if "_attempt_end" in row]
    assert ends == [(1, "rewound"), (2, "rewound"), (3, "succeeded")]
    assert all(row["_time"] > 0 for row in rows(run) if "_attempt_end" in row)
    assert {row["_step"]: row["y"] for row in read_history(run.dir, -1)} == {0: 300}
    for bad in ("3", 2.5, 2**63):
        with pytest.raises((StepError, RunFinishedError)):
            run.rewind(bad)  # type: ignore[arg-type]


def test_a_bad_step_does_not_rewind(make: Make) -> None:
    run = make()
    run.log({"a": 1})
    for bad in ("3", 2.5, 2**63, None):
        with pytest.raises(StepError):
            run.rewind(bad)  # type: ignore[arg-type]
    assert (run.attempt, run.step) == (1, 1)


def test_pins_and_last_values_survive_a_resume(make: Make) -> None:
    first = make()
    first.log({"acc": 0.5, "loss": 2.0})
    first.summary["acc"] = 0.99
    first.finish(quiet=True)
    second = make()
    second.log({"acc": 0.1})
    assert dict(second.summary) == {"acc": 0.99, "loss": 2.0}
    second.finish(quiet=True)
    assert make().info()["summary"] == {"acc": 0.99, "loss": 2.0}


def test_after_a_kill_the_summary_is_what_was_logged_last(make: Make, tmp_path: Path) -> None:
    first = make()
    first.log({"loss": 1.0, "acc": 0.5})
    first.summary["best"] = 7
    first.finish(quiet=True)
    second = make()
    second.log({"loss": 5.0, "_hidden": 1})
    kill(second)
    third = make()
    assert dict(third.summary) == {"loss": 5.0, "acc": 0.5, "best": 7}
    third.log({"acc": 0.6})
    third.finish(quiet=True)
    assert dict(make().summary) == {"loss": 5.0, "acc": 0.6, "best": 7}


def test_a_kill_counts_whatever_the_dates_of_copied_files_say(make: Make) -> None:
    first = make()
    first.log({"loss": 1.0})
    first.finish(quiet=True)
    second = make()
    second.log({"loss": 5.0})
    kill(second)
    date = second.files.metrics.stat().st_mtime + 100
    os.utime(second.files.summary, (date, date))
    assert dict(make().summary) == {"loss": 5.0}


def test_a_first_attempt_that_was_killed_has_a_summary_too(make: Make) -> None:
    first = make()
    first.log({"loss": 1.0, "bad": float("nan")})
    kill(first)
    summary = dict(make().summary)
    assert summary.pop("bad") != 0
    assert summary == {"loss": 1.0}


def test_a_summary_that_is_older_than_the_rows_is_made_again(make: Make) -> None:
    first = make()
    first.log({"loss": 1.0})
    first.finish(quiet=True)
    first.files.summary.write_text('{"loss": 9.0}')
    os.utime(first.files.summary, (1, 1))
    assert dict(make().summary) == {"loss": 1.0}


def test_a_summary_of_an_attempt_that_ended_is_taken_over_without_reading_rows(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make()
    first.log({"loss": 1.0})
    first.finish(quiet=True)

    def refuse(*arguments: object) -> dict[str, Any]:
        raise AssertionError("the rows were read")

    monkeypatch.setattr(latest_module, "last_values", refuse)
    second = make()
    assert dict(second.summary) == {"loss": 1.0}
    assert second.info()["loss"]["degraded"] == {}


def test_a_sidecar_that_was_removed_is_made_again_by_a_writer_and_by_no_reader(make: Make) -> None:
    first = make()
    first.log({"loss": 1.0})
    first.finish(quiet=True)
    sidecar_of(first.files.metrics).unlink()
    assert len(read_history(first.dir, 50)) == 1
    assert verify(first.dir).streams[0].sidecar == "missing"
    assert not sidecar_of(first.files.metrics).exists()
    make().finish(quiet=True)
    assert verify(first.dir).streams[0].sidecar == "consistent"


def test_what_a_rewind_supersedes_leaves_the_summary(make: Make) -> None:
    run = make()
    for step in range(6):
        run.log({"y": step, f"only/{step}": 1})
    run.summary["pin"] = 3
    run.log({"late": 1}, step=6)
    run.rewind(3)
    assert dict(run.summary) == {"y": 2, "only/0": 1, "only/1": 1, "only/2": 1, "pin": 3}
    run.log({"y": 30})
    run.rewind(4)
    assert run.summary["y"] == 30
    run.rewind(0)
    assert dict(run.summary) == {"pin": 3}
    run.log({"z": 1})
    run.finish(quiet=True)
    document = read_document(run.files.summary)
    assert document == {
        "z": 1,
        "pin": 3,
        "_pinned": ["pin"],
    }


def test_a_summary_that_the_end_of_an_attempt_did_not_replace_is_made_again(make: Make) -> None:
    first = make()
    first.log({"loss": 9.0})
    first.finish(quiet=True)
    before, written = first.files.summary.read_bytes(), first.files.summary.stat()
    second = make()
    second.log({"loss": 1.0})
    second.finish(quiet=True)
    # A disk that was full behind the end, or a kill.
    second.files.summary.write_bytes(before)
    os.utime(second.files.summary, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert overview_of(second.files.directory, "loss").values == {"loss": 1.0}
    assert dict(make().summary) == {"loss": 1.0}


def test_a_summary_without_what_could_not_be_read_is_not_taken_for_whole(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make()
    first.log({"loss": 1.0})
    kill(first)

    def fail(*arguments: object) -> dict[str, Any]:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(latest_module, "last_values", fail)
        second = make()
        second.log({"acc": 2.0})
        second.finish(quiet=True)
    assert read_document(second.files.summary) == {"acc": 2.0, "_whole": False}
    assert dict(make().summary) == {"loss": 1.0, "acc": 2.0}


def test_what_a_resume_step_supersedes_is_not_in_the_summary(make: Make) -> None:
    first = make()
    for step in range(6):
        first.log({"y": step})
    first.finish(quiet=True)
    second = make(resume_step=3, durability="buffered", buffer_interval=None)
    assert dict(second.summary) == {"y": 2}


@pytest.mark.parametrize("piece", [40, 1 << 18])
def test_last_values_are_those_of_the_default_reading(
    make: Make, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(latest_module, "_PIECE_BYTES", piece)
    run = make()
    for step in range(50):
        run.log({f"m{step % 7}": step, "text": "x" * step})
    run.rewind(20)
    assert dict(run.summary) == {"text": "x" * 19, **{f"m{step % 7}": step for step in range(20)}}


def test_a_summary_that_cannot_be_made_again_costs_nothing_else(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object) -> dict[str, Any]:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(latest_module, "last_values", fail)
    run = make()
    run.log({"y": 1})
    run.rewind(0)
    run.log({"z": 1})
    assert dict(run.summary) == {"z": 1}
    run.finish(quiet=True)
    assert "Input/output error" in caplog.text
    assert run.info()["loss"]["degraded"] == {"summaries that could not be made again": 1}


def test_the_time_of_rows_does_not_run_backwards_over_a_resume(make: Make) -> None:
    first = make(clock=ManualClock(1_000.0))
    first.log({"a": 1})
    first.finish(quiet=True)
    second = make(clock=ManualClock(400.0))
    second.log({"a": 2})
    times = [row["_time"] for row in rows(second)]
    assert times == sorted(times)


def test_spans_and_rows_stand_on_one_timeline_also_where_the_clock_was_held(make: Make) -> None:
    first = make(clock=ManualClock(time.time() + 1800))
    first.log({"a": 1})
    first.finish(quiet=True)
    second = make()
    with second.span("step"):
        pass
    second.log({"a": 2})
    second.finish(quiet=True)
    events = build_trace(second.dir, metrics="a")["traceEvents"]
    (span,) = [event["ts"] for event in events if event["ph"] == "X"]
    newest = max(event["ts"] for event in events if event["ph"] == "C")
    assert 0 <= newest - span < 60e6, "microseconds"


def test_an_open_row_in_the_journal_is_committed_by_the_next_run(make: Make) -> None:
    clock = ManualClock()
    first = make(clock=clock)
    first.log({"a": 1})
    first.log({"b": float("inf")}, step=5)
    first._parts.journal.keep_if_old()
    assert not first.files.journal.exists(), "a row younger than a second is not worth a file"
    clock.advance(1.5)
    first._parts.journal.keep_if_old()
    size = first.files.metrics.stat().st_size
    journal = read_journal(first.files.journal, size)
    assert journal == {"_step": 5, "_time": clock.offset, "b": float("inf")}
    saved = first.files.journal.read_bytes()
    first.finish(quiet=True)
    assert not first.files.journal.exists()
    # What a killed process leaves: its file as it was, and the journal.
    os.truncate(first.files.metrics, size)
    first.files.journal.write_bytes(saved)
    second = make()
    assert not second.files.journal.exists()
    assert steps(second) == [0, 5]
    assert rows(second)[1]["b"] == float("inf")
    assert second.step == 6
    assert second.attempt == 2


@pytest.mark.parametrize("durability", ["process", "buffered"])
@pytest.mark.parametrize("flush", ["run", "history"])
def test_a_flush_keeps_the_open_row_at_once_and_leaves_it_open(
    make: Make, flush: str, durability: str
) -> None:
    first = make(clock=ManualClock(), durability=durability)
    for step in range(16):
        first.log({"y": step}, step=step)
    (first if flush == "run" else first.history).flush()
    assert steps(first) == list(range(15)), "the last row is open still"
    kill(first)
    assert [row["y"] for row in read_history(first.dir, -1)] == list(range(16))
    assert steps(make()) == list(range(16))


def test_the_journal_never_goes_back_to_an_older_state_of_the_row(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make()
    run.log({"a": 1}, step=1)
    taken, may_write = threading.Event(), threading.Event()

    def hang_once(*arguments: Any, **keywords: Any) -> None:
        monkeypatch.setattr(journal_module, "write_journal", write_journal)
        taken.set()
        assert may_write.wait(30)
        write_journal(*arguments, **keywords)

    monkeypatch.setattr(journal_module, "write_journal", hang_once)
    older = threading.Thread(target=run._parts.journal.keep)
    older.start()
    assert taken.wait(30)
    run.log({"a": 2}, step=1)
    run._parts.journal.keep(0.0)
    assert not run.files.journal.exists(), "it does not wait for longer than it was told"
    newer = threading.Thread(target=run.flush)
    newer.start()
    may_write.set()
    older.join(30)
    newer.join(30)
    journal = read_journal(run.files.journal, run.files.metrics.stat().st_size)
    assert journal is not None
    assert journal["a"] == 2


def test_a_journal_of_another_size_is_not_used(make: Make) -> None:
    clock = ManualClock()
    first = make(clock=clock)
    first.log({"a": 1}, step=1)
    clock.advance(2)
    first._parts.journal.keep_if_old()
    saved = first.files.journal.read_bytes()
    first.finish(quiet=True)
    first.files.journal.write_bytes(saved)
    second = make()
    assert steps(second) == [1]


def test_a_run_with_parts_goes_on_where_rotation_was_switched_off(make: Make) -> None:
    first = make(max_file_bytes=300)
    for step in range(40):
        first.log({"a": step})
    first.finish()
    run = make()
    run.log({"a": 40})
    run._upkeep.keep_places()
    assert run.info()["loss"]["degraded"] == {}
    assert [row["a"] for row in run.history.query(-1)] == list(range(41))
    run.finish()
    assert run.info()["loss"]["degraded"] == {}


@pytest.mark.parametrize(("back", "held"), [(-100.0, True), (3000.0, True), (7200.0, False)])
def test_times_run_backwards_only_behind_a_marker_that_says_so(
    make: Make, back: float, held: bool
) -> None:
    newest = 1_700_000_000.0
    first = make(clock=ManualClock(newest))
    first.log({"a": 1})
    first.finish(quiet=True)
    second = make(clock=ManualClock(newest - back))
    second.log({"a": 2})
    second.finish(quiet=True)
    times = [row["_time"] for row in rows(second)]
    (marker,) = [row for row in rows(second) if "_attempt" in row]
    if held:
        assert times == sorted(times)
        assert "_clock_back" not in marker
    else:
        assert times == [newest, newest, newest - back, newest - back, newest - back]
        assert marker["_clock_back"] == back
    attempts = list_attempts(second.dir)
    assert [attempt.clock_back for attempt in attempts] == [None, None if held else back]
    assert [attempt.clock_back for attempt in verify(second.dir).streams[0].attempts] == [
        None,
        None if held else back,
    ]


def test_a_clock_that_was_set_back_is_said_when_the_run_goes_on(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    make(clock=ManualClock(2_000_000_000.0)).finish(quiet=True)
    with_rows = make(clock=ManualClock(2_000_000_000.0))
    with_rows.log({"a": 1})
    with_rows.finish(quiet=True)
    caplog.clear()
    make(clock=ManualClock(2_000_000_000.0 - 86_400)).finish(quiet=True)
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(said) == 1
    assert "86400 s behind" in said[0]
