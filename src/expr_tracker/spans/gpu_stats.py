"""GPU load and memory during a span, sampled through NVIDIA's management library (NVML).

One thread per GPU and interval samples for all spans, and only while one is open.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from expr_tracker.errors import OptionError
from expr_tracker.extras import install_command
from expr_tracker.interruption import is_from_signal
from expr_tracker.spans import stack
from expr_tracker.spans.hooks import OwnedByProcess
from expr_tracker.spans.stack import warn_once
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.spans.span import Span

__all__ = ["GpuStats", "stop_samplers"]

_MIB: Final = 1024 * 1024
#: A sampler that hangs in the driver must not hold up a program that ends.
_STOP_SECONDS_MAX: Final = 2.0


class _Seen:
    """What the samples of one span amount to."""

    __slots__ = ("count", "memory_max", "percent_sum")

    def __init__(self) -> None:
        self.count = 0
        self.percent_sum = 0.0
        self.memory_max = 0.0

    def add(self, percent: float, memory_mb: float) -> None:
        self.count += 1
        self.percent_sum += percent
        self.memory_max = max(self.memory_max, memory_mb)


class Sampler:
    """Reads one GPU every ``interval`` seconds while a span is open.

    Args:
        nvml: the NVML binding (``pynvml``, or a double of it).
        index: the GPU.
        interval: seconds between two samples.
    """

    def __init__(self, nvml: Any, index: int, interval: float) -> None:
        self._nvml = nvml
        self._interval = interval
        self._handle = nvml.nvmlDeviceGetHandleByIndex(index)
        self._lock = threading.Lock()
        self._open: WeakKeyDictionary[Span, dict[object, _Seen]] = WeakKeyDictionary()
        self._has_open = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def read(self) -> tuple[float, float]:
        """Return the load in percent and the used memory in MiB, now."""
        percent = float(self._nvml.nvmlDeviceGetUtilizationRates(self._handle).gpu)
        return percent, self._nvml.nvmlDeviceGetMemoryInfo(self._handle).used / _MIB

    def sample(self) -> None:
        """Add one reading to every span that was open before it was taken, and still is."""
        with self._lock:
            before = self._seen()
        percent, memory_mb = self.read()
        with self._lock:
            for key, seen in self._seen().items():
                if before.get(key) is seen:
                    seen.add(percent, memory_mb)

    def _seen(self) -> dict[tuple[Span, object], _Seen]:
        return {
            (span, owner): seen
            for span, measured in self._open.items()
            for owner, seen in measured.items()
        }

    def join(self, span: Span, owner: object) -> None:
        """Sample for ``span`` from now on."""
        with self._lock:
            self._open.setdefault(span, {})[owner] = _Seen()
            self._has_open.set()
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="expr-tracker-gpu", daemon=True)
                thread.start()  # it may raise: the process may have no more threads
                self._thread = thread

    def leave(self, span: Span, owner: object) -> _Seen | None:
        """Stop sampling for ``span``; return what was seen."""
        with self._lock:
            seen = self._open.get(span, {}).pop(owner, None)
            if not self._open.get(span, True):
                del self._open[span]
            if not self._open:
                self._has_open.clear()
        return seen

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self._has_open.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOP_SECONDS_MAX)

    def _run(self) -> None:
        while self._has_open.wait() and not self._stopping.is_set():
            try:
                self.sample()
            except Exception as error:  # noqa: BLE001 - NVML's own exceptions
                warn_once("nvml sample", f"GpuStats cannot sample: {shown(error)}")
            self._stopping.wait(self._interval)


_lock = threading.Lock()
_samplers: dict[tuple[int, float], Sampler] = {}


class GpuStats(OwnedByProcess):
    """Measures ``gpu_percent`` (mean) and ``gpu_mem_used_mb`` (peak, MiB) of one GPU.

    A span shorter than the interval gets one reading, taken at its end.

    Args:
        index: the GPU, as NVML counts them.
        interval: seconds between two samples.

    Raises:
        OptionError: the index is negative, or the interval is not finite or not above 0.
    """

    def __init__(self, index: int = 0, interval: float = 0.1) -> None:
        super().__init__()
        given: Any = index
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise OptionError(f"GpuStats(index={shown(index)}): expected a whole number from 0.")
        given = interval
        if not isinstance(given, (int, float)) or not math.isfinite(given) or given <= 0:
            raise OptionError(f"GpuStats(interval={shown(interval)}): expected seconds above 0.")
        self._index, self._interval = index, float(interval)

    def start(self, span: Span) -> None:
        """Begin to sample for the span."""
        self.check_process()
        sampler = _sampler(self._index, self._interval)
        if sampler is not None:
            sampler.join(span, self)

    def end(self, span: Span) -> Row:
        """Return the mean load and the highest memory use of the span's samples."""
        self.check_process()
        with _lock:
            sampler = _samplers.get((self._index, self._interval))
        if sampler is None:
            return {}
        seen = sampler.leave(span, self)
        if seen is None:
            return {}
        if not seen.count:
            seen.add(*sampler.read())
        return {
            "gpu_percent": seen.percent_sum / seen.count,
            "gpu_mem_used_mb": seen.memory_max,
        }


def stop_samplers() -> None:
    """End all sampling threads; a later span starts what it needs anew."""
    with _lock:
        samplers = list(_samplers.values())
        _samplers.clear()
    for sampler in samplers:
        sampler.stop()


def _sampler(index: int, interval: float) -> Sampler | None:
    with _lock:
        sampler = _samplers.get((index, interval))
        if sampler is not None:
            return sampler
        try:
            import pynvml  # noqa: PLC0415 - optional, and slow to load

            pynvml.nvmlInit()
            sampler = Sampler(pynvml, index, interval)
        except ImportError:
            reason = f"the NVML binding is not installed ({install_command('gpu')})"
        except Exception as error:  # NVML's own exceptions
            if is_from_signal(error):
                raise
            reason = repr(error)
        else:
            _samplers[index, interval] = sampler
            return sampler
    warn_once(("nvml", index), f"GpuStats measures nothing on GPU {index}: {reason}.")
    return None


def _forget_samplers() -> None:
    global _lock  # noqa: PLW0603 - one per process, and a fork replaces it
    _lock = threading.Lock()
    _samplers.clear()


stack.after_fork_in_child(_forget_samplers)
