from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from expr_tracker.system import ProcSource, SystemMeter

if TYPE_CHECKING:
    from pathlib import Path


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
