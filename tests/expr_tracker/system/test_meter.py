from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from expr_tracker.system import ProcSource, SystemMeter
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


PAGE = os.sysconf("SC_PAGE_SIZE")


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
