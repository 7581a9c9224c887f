"""The GPUs of the machine, through NVIDIA's library (``pynvml``) where it is installed."""

from __future__ import annotations

import contextlib
from typing import Any, Final

from expr_tracker.interruption import is_from_signal

__all__ = ["MB", "Gpus"]

#: As the GPU tools count.
MB: Final = 1024 * 1024


class Gpus:
    """The GPUs that the driver's library lists; none where there is no library or no driver."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        try:
            import pynvml  # noqa: PLC0415 - optional

            pynvml.nvmlInit()
        except Exception as error:  # ImportError, or an error class of the library's own
            if is_from_signal(error):
                raise
            return
        self._nvml = pynvml
        with contextlib.suppress(pynvml.NVMLError):
            count = pynvml.nvmlDeviceGetCount()
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]

    def sample(self) -> dict[str, float]:
        """Return the figures of every GPU; one that a GPU does not have is left out."""
        nvml, figures = self._nvml, {}
        for index, handle in enumerate(self._handles):
            # One at a time: many GPUs have no power meter, parts of one have no busy share.
            with contextlib.suppress(nvml.NVMLError):
                figures[f"gpu/{index}/percent"] = float(
                    nvml.nvmlDeviceGetUtilizationRates(handle).gpu
                )
            with contextlib.suppress(nvml.NVMLError):
                used = nvml.nvmlDeviceGetMemoryInfo(handle).used
                figures[f"gpu/{index}/memory_used_mb"] = round(used / MB, 1)
            with contextlib.suppress(nvml.NVMLError):
                milliwatts = nvml.nvmlDeviceGetPowerUsage(handle)
                figures[f"gpu/{index}/power_watts"] = round(milliwatts / 1000, 2)
            with contextlib.suppress(nvml.NVMLError):
                degrees = nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
                figures[f"gpu/{index}/temperature_celsius"] = float(degrees)
        return figures

    def close(self) -> None:
        """Let go of the library."""
        if self._nvml is not None:
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()
