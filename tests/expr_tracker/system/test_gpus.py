from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

from expr_tracker.system import ProcSource, SystemMeter

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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
