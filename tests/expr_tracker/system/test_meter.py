from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from expr_tracker.system import ProcSource, SystemMeter
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
