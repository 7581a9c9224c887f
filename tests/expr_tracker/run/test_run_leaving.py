"""What becomes of a run whose directory, process or thread is taken away."""

from __future__ import annotations

import os
import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.capture import environment as environment_module
from expr_tracker.errors import (
    ForkedObjectError,
    StreamInUseError,
)
from expr_tracker.run import closing as closing_module
from expr_tracker.run import run as run_module
from expr_tracker.store.documents import read_document
from expr_tracker.store.journal import read_journal
from expr_tracker.store.lock import is_locked
from expr_tracker.store.reader import whole_rows
from expr_tracker.store.summary_document import read_summary

if TYPE_CHECKING:
    from tests.expr_tracker.run.conftest import Make

    from expr_tracker.run.run import Run


def rows(run: Run) -> list[dict[str, Any]]:
    return list(whole_rows(run.files.metrics))


def steps(run: Run) -> list[int]:
    return [row["_step"] for row in rows(run) if "_step" in row]


# -- the place of a run, signals, forks ---------------------------------------------------------------


def test_a_removed_run_directory_comes_back_with_identity_lock_and_rows(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make(config={"lr": 1})
    run.log({"a": 1})
    run.spans.append(b'{"n":1}\n')
    identity = read_document(run.files.identity)
    shutil.rmtree(run.dir)
    run.log({"a": 2})
    run._upkeep.keep_places()
    assert read_document(run.files.identity) == identity
    assert read_document(run.files.config) == {"lr": 1}
    assert steps(run) == [0, 1]
    assert list(whole_rows(run.files.spans)) == [{"n": 1}]
    assert is_locked(run.files.lock)
    with pytest.raises(StreamInUseError):
        make()


def test_a_removed_run_directory_comes_back_with_the_captured_environment(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured = {"python": {"version": "3"}, "errors": {}}
    monkeypatch.setattr(environment_module, "capture_environment", lambda *_, **__: captured)
    run = make(capture=True)
    thread = run._parts.companions._environment
    assert thread is not None
    thread.join(30)
    shutil.rmtree(run.dir)
    run.log({"a": 1})
    run._upkeep.keep_places()
    assert read_document(run.files.environment) == captured


def test_a_second_writer_that_came_over_a_removed_lock_is_reported_once(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    run.files.lock.unlink()
    second = make()
    for _ in range(3):
        run._upkeep.keep_places()
    run._stream.notices.emit()
    assert sum("another process now writes" in text for text in caplog.messages) == 1
    second.finish(quiet=True)


@pytest.mark.parametrize(
    ("between", "said"),
    [
        (b'{"pid": 7, "host": "b"}', "Meanwhile process 7 on b had it"),
        (None, "and no other process holds it now."),
    ],
)
def test_of_a_lock_that_the_program_closed_only_what_is_known_is_said(
    make: Make, caplog: pytest.LogCaptureFixture, between: bytes | None, said: str
) -> None:
    run = make()
    run._keeper.stop(30)
    lock = run._stream.stream_lock._fd
    assert lock is not None
    os.close(lock)
    if between is not None:
        run.files.lock.write_bytes(between)
    run._upkeep.keep_places()
    run._stream.notices.emit()
    assert said in caplog.text
    second = 0 if between is None else 1
    assert run.info()["loss"]["degraded"].get("streams with a second writer", 0) == second


def test_a_checkpoint_keeps_the_open_row_the_waiting_rows_and_the_summary(make: Make) -> None:
    run = make(durability="buffered", buffer_interval=None)
    run.log({"a": 1})
    run.log({"a": 2})
    run.log({"b": 3}, step=9)
    run._closing.checkpoint()
    assert steps(run) == [0, 1]
    first = read_journal(run.files.journal, run.files.metrics.stat().st_size)
    assert first is not None, "rows that waited are written before it, not behind it"
    assert first["b"] == 3
    assert read_summary(run.files.summary).values == {"a": 2}
    run.log({"c": 4}, step=9)
    run._closing.checkpoint()
    journal = read_journal(run.files.journal, run.files.metrics.stat().st_size)
    assert journal is not None
    assert (journal["_step"], journal["b"], journal["c"]) == (9, 3, 4)
    run.log({"d": 5})
    run.finish(quiet=True)
    assert steps(run) == [0, 1, 9]


@pytest.mark.parametrize("lock", ["_io", "_lock"])
def test_a_checkpoint_does_not_wait_for_a_thread_that_hangs_in_a_write(
    make: Make, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    monkeypatch.setattr(closing_module, "_SIGNAL_WAIT_SECONDS", 0.05)
    run = make(durability="buffered", buffer_interval=None)
    run.log({"a": 1})
    run.log({"a": 2})
    run.spans.append(b"{}\n")
    run._keeper.stop(30)
    writer = run._stream.writer if lock == "_io" else run.spans.writer
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with getattr(writer, lock):
            is_held.set()
            may_go.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(30)
    run._closing.checkpoint()
    assert not may_go.is_set()
    assert thread.is_alive()
    assert read_summary(run.files.summary).values == {"a": 2}
    may_go.set()
    thread.join()


def test_leaving_by_a_signal_writes_everything_first(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(closing_module, "end_by_signal", ended.append)
    run = make(durability="buffered", buffer_interval=None)
    run.log({"a": 1})
    run.log({"a": 2})
    run.log({"b": 3}, step=9)
    run._closing.leave_by_signal(15)
    assert ended == [15]
    assert steps(run) == [0, 1, 9]
    assert rows(run)[-1]["_status"] == "cancelled"
    assert read_summary(run.files.summary).values == {"a": 2, "b": 3}
    assert not is_locked(run.files.lock)


def test_a_signal_leaves_also_while_another_thread_keeps_the_lock(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(closing_module, "end_by_signal", ended.append)
    monkeypatch.setattr(closing_module, "_SIGNAL_WAIT_SECONDS", 0.05)
    run = make()
    run.log({"a": 1})
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with run._stream.lock:
            is_held.set()
            may_go.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(30)
    run._closing.leave_by_signal(15)
    assert ended == [15]
    may_go.set()
    thread.join()
    assert read_summary(run.files.summary).values == {"a": 1}


def test_a_signal_inside_log_is_carried_out_when_log_is_through(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(closing_module, "end_by_signal", ended.append)
    run = make()
    append = run._stream.writer.append_row

    def interrupted(row: dict[str, Any], step: int) -> bool:
        run._closing.leave_by_signal(15)
        assert ended == []
        return append(row, step)

    run._stream.recorder._append_row = interrupted
    run.log({"a": 1})
    assert ended == [15]
    assert steps(run) == [0]
    assert rows(run)[-1]["_status"] == "cancelled"


def test_the_parents_run_is_useless_in_a_forked_child_and_writes_nothing_there(make: Make) -> None:
    run = make(capture_console=True, durability="buffered", buffer_interval=None)
    summary, history, span_target = run.summary, run.history, run.spans
    run.log({"a": 1})
    run.log({"a": 2})
    span_target.append(b"{}\n")
    size = run.files.metrics.stat().st_size
    with run._stream.lock:  # whatever lock the parent held: none is touched
        run._closing.abandon_in_child()
        for use in (
            lambda: run.log({"a": 3}),
            lambda: run.step,
            lambda: run.summary,
            lambda: summary["a"],
            run.info,
            run.flush,
            lambda: run.rewind(0),
            run.finish,
            lambda: run.define_metric("a"),
            run._stream.snapshot,
            lambda: history.query(5),
            lambda: run.log_artifact("x"),
        ):
            with pytest.raises(ForkedObjectError):
                use()
        run_module.finish_at_exit(run)
    run_module.open_runs.discard(run)
    assert run.files.metrics.stat().st_size == size
    assert read_summary(run.files.summary).values == {}  # as it was before the fork
