from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from expr_tracker.system import SystemMeter, SystemThread

if TYPE_CHECKING:
    import pytest


class FakeMeter(SystemMeter):
    """Counts its samples; some fail."""

    def __init__(self, *, fails: bool = False) -> None:
        self.taken = 0
        self.tries = threading.Semaphore(0)
        self.closed = threading.Event()
        self._fails = fails

    def sample(self) -> dict[str, float]:
        self.taken += 1
        self.tries.release()
        if self._fails:
            raise OSError("no such device")
        return {"cpu/percent": float(self.taken)}

    def close(self) -> None:
        self.closed.set()


class Log(list[dict[str, float]]):
    """Collects samples and tells when there are enough."""

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self.reached = threading.Event()

    def __call__(self, sample: dict[str, float]) -> None:
        self.append(sample)
        if len(self) >= self._enough:
            self.reached.set()


def test_the_first_sample_comes_at_once_and_stop_does_not_wait_for_the_interval() -> None:
    log, meter = Log(1), FakeMeter()
    thread = SystemThread(log, 3600.0, meter)
    thread.start()
    assert log.reached.wait(30)
    started = time.monotonic()
    assert thread.stop(30)
    assert time.monotonic() - started < 20
    assert log == [{"cpu/percent": 1.0}]
    assert meter.closed.is_set()


def test_samples_follow_at_the_interval() -> None:
    log = Log(5)
    thread = SystemThread(log, 0.001, FakeMeter())
    thread.start()
    assert log.reached.wait(30)
    assert thread.stop(30)
    assert thread.samples >= 5


def test_a_failing_sample_is_counted_and_warned_about_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    meter = FakeMeter(fails=True)
    thread = SystemThread(lambda _: None, 0.001, meter)
    with caplog.at_level(logging.WARNING, "expr_tracker"):
        thread.start()
        assert all(meter.tries.acquire(timeout=30) for _ in range(3))
        assert thread.stop(30)
    assert thread.failures >= 2
    assert thread.samples == 0
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "no such device" in caplog.text


def test_a_failing_log_is_counted_and_sampling_goes_on() -> None:
    tries = threading.Semaphore(0)

    def log(_sample: dict[str, float]) -> Any:
        tries.release()
        raise RuntimeError("finished")

    thread = SystemThread(log, 0.001, FakeMeter())
    thread.start()
    assert all(tries.acquire(timeout=30) for _ in range(3))
    assert thread.stop(30)
    assert thread.failures >= 3


def test_a_thread_that_is_stuck_is_reported_not_waited_for() -> None:
    release = threading.Event()
    entered = threading.Event()

    def log(_sample: dict[str, float]) -> None:
        entered.set()
        release.wait(60)

    thread = SystemThread(log, 0.001, FakeMeter())
    thread.start()
    assert entered.wait(30)
    assert thread.stop(0.01) is False
    release.set()
    assert thread.stop(30)


def test_stopping_what_never_started_is_fine() -> None:
    assert SystemThread(lambda _: None, 1.0, FakeMeter()).stop(1)
