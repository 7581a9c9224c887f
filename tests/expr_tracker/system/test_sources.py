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
