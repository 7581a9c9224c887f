"""A run in a process that may start no more threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from expr_tracker.history import status_of
from expr_tracker.store.reader import whole_rows
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from tests.expr_tracker.run.conftest import Make

    from expr_tracker.run.run import Run


@pytest.fixture(autouse=True)
def _no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


def steps(run: Run) -> list[int]:
    return [row["_step"] for row in whole_rows(run.files.metrics) if "_step" in row]


@pytest.mark.parametrize("durability", [None, "process", "fsync", "buffered"])
def test_rows_spans_and_console_are_written_by_the_calls_that_make_them(
    make: Make, caplog: pytest.LogCaptureFixture, durability: str | None
) -> None:
    run = make(
        durability=durability,
        buffer_size=None,
        buffer_interval=None,
        capture=True,
        capture_console=True,
        system_metrics=True,
    )
    for step in range(3):
        with run.span("s"):
            run.log({"a": step})
        print("line", step)
        assert steps(run) == list(range(step + 1))
        assert len(list(whole_rows(run.files.spans))) == step + 1
        assert len(list(whole_rows(run.files.console))) == step + 1
    assert caplog.text.count("No thread can be started") == 1
    run.finish(quiet=True)
    assert status_of(run.files.directory) == "succeeded"
    run = make()
    assert run.attempt == 2
    run.finish(quiet=True)


def test_after_a_failure_a_call_tries_again_once_a_second(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    run = make(clock=clock)
    run.log({"a": 0})
    tries: list[int] = []

    def refuse(fd: int, data: bytes) -> int:
        tries.append(len(data))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run._stream.writer, "_write", refuse)
        for step in range(1, 10):
            run.log({"a": step})
        assert len(tries) == 1
        clock.advance(1.5)
        run.log({"a": 10})
        run.log({"a": 11})
        assert len(tries) == 2
    clock.advance(1.5)
    run.log({"a": 12})
    assert steps(run) == list(range(13))
    run.log({"a": 13})
    assert steps(run) == list(range(14))
    run.finish(quiet=True)
