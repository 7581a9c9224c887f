from __future__ import annotations

import logging
import os
import sys
import threading
import time
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from expr_tracker.system import Counters, ProcSource, PsutilSource, SystemMeter, SystemThread
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")

FILES = {
    "stat": "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 1 1 1 1 0 0 0 0 0\n",
    "meminfo": "MemTotal:       4096000 kB\nMemFree: 1 kB\nMemAvailable:   1024000 kB\n",
    "self/statm": "900 256 10 1 0 1 0\n",
    "diskstats": (
        "   7       0 loop0 1 0 999999 0 1 0 999999 0 0 0 0\n"
        " 259       0 nvme0n1 1 0 2048 0 1 0 4096 0 0 0 0\n"
        " 259       1 nvme0n1p1 1 0 2048 0 1 0 4096 0 0 0 0\n"
        "   8       0 sda 1 0 2048 0 1 0 0 0 0 0 0\n"
        "   8       1 sda1 1 0 2048 0 1 0 0 0 0 0 0\n"
        " 253       0 dm-0 1 0 999999 0 1 0 999999 0 0 0 0\n"
    ),
    "net/dev": (
        "Inter-|   Receive  |  Transmit\n face |bytes    packets|bytes packets\n"
        "    lo: 777 0 0 0 0 0 0 0 777 0 0 0 0 0 0 0\n"
        "  eth0: 1048576 0 0 0 0 0 0 0 2097152 0 0 0 0 0 0 0\n"
        "docker0:777 0 0 0 0 0 0 0 777 0 0 0 0 0 0 0\n"
    ),
}


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    root = tmp_path / "proc"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture(autouse=True)
def _no_gpu_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)


def test_proc_is_read_without_partitions_stacked_disks_or_bridges(proc: Path) -> None:
    assert ProcSource(proc).read() == Counters(
        cpu_busy=150.0,
        cpu_total=1000.0,
        memory_total_bytes=4_096_000 * 1024,
        memory_available_bytes=1_024_000 * 1024,
        process_bytes=256 * PAGE,
        disk_read_bytes=4096 * 512,
        disk_write_bytes=4096 * 512,
        network_received_bytes=2**20,
        network_sent_bytes=2**21,
    )


def test_what_proc_does_not_have_is_a_gap(tmp_path: Path) -> None:
    assert ProcSource(tmp_path / "none").read() == Counters()


def test_levels_come_with_the_first_sample_and_rates_with_the_second(
    proc: Path, tmp_path: Path
) -> None:
    clock = ManualClock()
    meter = SystemMeter(tmp_path, clock, source=ProcSource(proc))
    first = meter.sample()
    assert first["memory/used_mb"] == 3000.0
    assert first["memory/percent"] == 75.0
    assert first["memory/process_mb"] == 256 * PAGE / 2**20
    assert 0 <= first["disk/used_percent"] <= 100
    assert not [name for name in first if name.endswith("second") or name.startswith("cpu/")]

    (proc / "stat").write_text("cpu  130 0 60 840 60 10 0 0 0 0\n")
    (proc / "net/dev").write_text("eth0: 3145728 0 0 0 0 0 0 0 2097152 0 0 0 0 0 0 0\n")
    (proc / "diskstats").write_text("8 0 sda 1 0 8192 0 1 0 8192 0 0 0 0\n")
    clock.advance(2.0)
    second = meter.sample()
    assert second["cpu/percent"] == 50.0
    assert second["network/received_mb_per_second"] == 1.0
    assert second["network/sent_mb_per_second"] == 0.0
    assert second["disk/read_mb_per_second"] == 1.0
    assert second["disk/write_mb_per_second"] == 1.0
    assert second["cpu/process_percent"] >= 0.0


def test_a_counter_that_began_anew_gives_no_rate(proc: Path, tmp_path: Path) -> None:
    clock = ManualClock()
    meter = SystemMeter(tmp_path, clock, source=ProcSource(proc))
    meter.sample()
    (proc / "net/dev").write_text("eth0: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n")
    clock.advance(1.0)
    assert not [name for name in meter.sample() if name.startswith("network")]


def test_a_sample_right_after_another_leaves_the_rates_to_the_next(
    proc: Path, tmp_path: Path
) -> None:
    clock = ManualClock()
    meter = SystemMeter(tmp_path, clock, source=ProcSource(proc))
    meter.sample()
    clock.advance(0.01)
    assert "network/received_mb_per_second" not in meter.sample()
    (proc / "net/dev").write_text("eth0: 3145728 0 0 0 0 0 0 0 2097152 0 0 0 0 0 0 0\n")
    clock.advance(0.99)
    assert meter.sample()["network/received_mb_per_second"] == 2.0


def test_a_vanished_directory_costs_only_its_disk(proc: Path, tmp_path: Path) -> None:
    figures = SystemMeter(tmp_path / "gone", source=ProcSource(proc)).sample()
    assert "disk/used_percent" not in figures
    assert "memory/percent" in figures


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_proc_and_psutil_agree_about_this_machine() -> None:
    ours, theirs = ProcSource().read(), PsutilSource(psutil).read()
    assert ours.memory_total_bytes == theirs.memory_total_bytes
    assert ours.memory_available_bytes is not None
    assert theirs.memory_available_bytes is not None
    # The machine goes on between the two readings.
    assert abs(ours.memory_available_bytes - theirs.memory_available_bytes) < 2**30
    assert ours.cpu_total is not None
    assert theirs.cpu_total is not None
    ticks = os.sysconf("SC_CLK_TCK")
    assert ours.cpu_total / ticks == pytest.approx(theirs.cpu_total, rel=0.02)


def test_a_system_that_nobody_can_ask_still_tells_its_process_and_its_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathlib.Path.is_file", lambda _: False)
    monkeypatch.setitem(sys.modules, "psutil", None)
    clock = ManualClock()
    meter = SystemMeter(tmp_path, clock)
    meter.sample()
    clock.advance(1.0)
    assert set(meter.sample()) == {"cpu/process_percent", "disk/used_percent"}


def test_psutil_is_asked_where_there_is_no_proc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathlib.Path.is_file", lambda _: False)
    assert "memory/percent" in SystemMeter(tmp_path).sample()


class FakeNvml(ModuleType):
    """The driver's library with two GPUs, the second without a power meter."""

    NVML_TEMPERATURE_GPU = 0

    class NVMLError(Exception):
        pass

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802 - the library's names
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(gpu=50 + handle)

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(used=(handle + 1) * 2**30)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:  # noqa: N802
        if handle == 1:
            raise self.NVMLError("not supported")
        return 123_456

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:  # noqa: N802
        return 60 + handle + sensor


def test_gpus_are_read_one_figure_at_a_time_and_the_driver_is_let_go(
    proc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    meter = SystemMeter(tmp_path, source=ProcSource(proc))
    figures = {name: value for name, value in meter.sample().items() if name.startswith("gpu/")}
    assert figures == {
        "gpu/0/percent": 50.0, "gpu/0/memory_used_mb": 1024.0, "gpu/0/power_watts": 123.46,
        "gpu/0/temperature_celsius": 60.0,
        "gpu/1/percent": 51.0, "gpu/1/memory_used_mb": 2048.0, "gpu/1/temperature_celsius": 61.0,
    }  # fmt: skip
    assert nvml.open == 1
    meter.close()
    assert nvml.open == 0


# --- the thread ----------------------------------------------------------------------------------


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
