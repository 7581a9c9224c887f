from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from expr_tracker.system import Counters, ProcSource, PsutilSource

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
